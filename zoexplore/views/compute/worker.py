"""A worker process: it computes what it is handed, call after call, and says what comes of it.

It imports what it is handed and nothing else, so that it is there soon and beginning costs the pages nothing: whatever is
handed over must be of a module that imports no Panel. Calls come in by the standard input, answers leave by the standard output,
pickled; what a call prints goes to the standard error. Nothing interrupts a call: a library that is interrupted while it loads or
compiles may answer wrongly from then on. Who wants no answer any more waits for it, or ends the process.
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
from typing import Any

from zoexplore.views.server.limits import bound_memory

ITEM, DONE, ERROR = "item", "done", "error"
_NICE = 10  # the process that serves the pages goes first


def main() -> None:
    """Answer calls until there are no more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # which a terminal and a notebook send to all their processes
    if hasattr(os, "nice"):
        os.nice(_NICE)
    bound_memory()
    threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    calls, answers, sys.stdout = sys.stdin.buffer, os.fdopen(os.dup(1), "wb"), sys.stderr
    os.dup2(2, 1)  # what compiled code prints as well
    while True:
        try:
            call, args = pickle.load(calls)
        except EOFError:
            return
        for answer in _answers(call, args):
            answers.write(pickle.dumps(answer))
            answers.flush()


def _answers(call: Callable, args: tuple) -> Iterator[tuple[str, Any]]:
    """What a generator yields, item by item, or what a function returns; or the error that it raised."""
    try:
        result = call(*args)
        if inspect.isgenerator(result):
            for item in result:
                yield ITEM, item
            result = None
        yield DONE, result
    except Exception as error:  # whatever the call raises is its answer, and the next call is none the worse
        yield ERROR, _portable(error)


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
