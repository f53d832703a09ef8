"""The other end of `worker`: a process that computes what it is handed, and says what comes of it.

It imports what it is handed and nothing else, so that it is there soon and beginning costs the pages nothing: whatever is
handed over must be of a module that imports no Panel. Calls come in by the standard input, answers leave by the standard output,
pickled; what a call prints goes to the standard error. An interrupt ends the call that is being computed, and nothing else.
"""

import inspect
import os
import pickle
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO

READY, ITEM, DONE, ERROR, DROPPED = "ready", "item", "done", "error", "dropped"
_NICE = 10  # the process that serves the pages goes first
_computing = False  # whether an interrupt has something to end


def main() -> None:
    """Answer calls until there are no more."""
    if hasattr(os, "nice"):
        os.nice(_NICE)
    threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    signal.signal(signal.SIGINT, _interrupt)  # between calls, and where a terminal sends it to all its processes, it is nothing
    calls, answers, sys.stdout = sys.stdin.buffer, os.fdopen(os.dup(1), "wb"), sys.stderr
    os.dup2(2, 1)  # what compiled code prints as well
    _tell(answers, (READY, None))  # to be interrupted without harm
    while True:
        try:
            call, args = pickle.load(calls)
        except EOFError:
            return
        for answer in _answers(call, args):
            _tell(answers, answer)


def _tell(answers: BinaryIO, answer: tuple[str, Any]) -> None:
    answers.write(pickle.dumps(answer))
    answers.flush()


def _answers(call: Callable, args: tuple) -> Iterator[tuple[str, Any]]:
    """What a generator yields, item by item, or what a function returns; or the error that it raised."""
    try:
        with _interruptible():
            result = call(*args)
        if inspect.isgenerator(result):
            for item in result:
                yield ITEM, item
            result = None
        yield DONE, result
    except KeyboardInterrupt:
        yield DROPPED, None
    except Exception as error:  # whatever the call raises is its answer, and the next call is none the worse
        yield ERROR, _portable(error)


@contextmanager
def _interruptible() -> Iterator[None]:
    """Where an interrupt raises. Never while an answer is written: half of one would garble all that follow."""
    global _computing
    try:
        _computing = True
        yield
    finally:
        _computing = False


def _interrupt(*_: Any) -> None:
    global _computing
    if _computing:
        _computing = False  # once is enough
        raise KeyboardInterrupt


def _portable(error: Exception) -> Exception:
    """The error with its traceback as a note, or one that says the same where it cannot be pickled."""
    error.add_note("".join(traceback.format_exception(error)))
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:  # an error is any class, and pickling calls its methods: they may raise anything
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error


def _end_with(parent: int) -> None:
    """End when the process that began this one does, however it ends."""
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(1)


if __name__ == "__main__":
    main()
