"""Runs a session's coroutines beside the other work of the event loop. They write to models under
the session's lock, and end with the session.
"""

import asyncio
import logging
import threading
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any
from weakref import WeakKeyDictionary, WeakSet

import panel as pn

from zoexplore.compute.pool import driven

_LOG = logging.getLogger("zoexplore")
# the tasks of each session's document
_tasks: WeakKeyDictionary[Any, WeakSet["SessionTask"]] = WeakKeyDictionary()


def served() -> Any:
    """Return the document of the calling session; None outside a served session."""
    document = pn.state.curdoc
    return document if document and document.session_context else None


def own_session() -> int | None:
    """Return a number that identifies the calling session; None outside a served session."""
    return id(document) if (document := served()) else None


def event_loop_is_running() -> bool:
    """Return whether an event loop is running, as on a page and in a notebook. Tasks can then run
    beside other code.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


class SessionTask:
    """Runs a coroutine for the session that creates the task.

    The coroutine runs at once until it has to wait, so that a figure follows the slider. When the
    awaited `Answer` or asyncio future is done, the event loop resumes the coroutine under the
    session's lock, so it may always write to models. The task ends with the session. If no event
    loop is running, the coroutine runs to its end at once.

    Args:
        function: a coroutine function without arguments; if None, there is nothing to do, and
            nothing to stop.
        failed: called with an error of the coroutine. If the coroutine has not waited yet, the
            error is then raised here; otherwise it is reported like the error of a callback.
    """

    def __init__(
        self,
        function: Callable[[], Coroutine[Any, Any, Any]] | None = None,
        failed: Callable[[Exception], None] = lambda _: None,
    ) -> None:
        self._failed = failed
        self._document = served()
        self._coroutine = function() if function else None
        self._steps = False  # whether the coroutine runs right now
        self._loop = asyncio.get_running_loop() if event_loop_is_running() else None
        if self._document and self.waits:
            if self._document not in _tasks:
                _tasks[self._document] = WeakSet()
                self._document.on_session_destroyed(partial(_stop_all, self._document))
            _tasks[self._document].add(self)
        self._step(first=True)

    @property
    def waits(self) -> bool:
        """Whether the task is unfinished and waits."""
        return self._coroutine is not None

    def stop(self) -> None:
        """Stop the task, and drop the call that it awaits; do nothing if the task is done."""
        coroutine, self._coroutine = self._coroutine, None
        if coroutine and not self._steps:
            coroutine.close()

    def _step(self, first: bool = False) -> None:
        while (coroutine := self._coroutine) is not None:
            token = driven.set(True)
            try:
                self._steps = True
                awaited = coroutine.send(None)
            except StopIteration:
                self._coroutine = None
                return
            except Exception as error:  # a task, like a callback, may raise anything
                self._coroutine = None
                self._failed(error)
                if first:
                    raise
                self._report(error)
                return
            finally:
                self._steps = False
                driven.reset(token)
            if self._coroutine is None:  # the task stopped itself
                coroutine.close()
            elif self._loop is None:
                done = threading.Event()  # `concurrent.futures.wait` misses cancelled futures
                awaited.add_done_callback(lambda _, done=done: done.set())
                done.wait()
            elif awaited is None:  # the coroutine only lets others go first
                self._woken(None)
                return
            else:
                awaited.add_done_callback(self._woken)
                return

    def _woken(self, _: Any) -> None:
        """Resume the coroutine on the event loop; any thread may call this."""
        assert self._loop
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._resume)

    def _resume(self) -> None:
        if self._document is None:
            self._step()
        elif self._document.session_context and not self._document.session_context.destroyed:
            self._document.add_next_tick_callback(self._step)

    def _report(self, error: Exception) -> None:
        if pn.config.exception_handler:
            pn.config.exception_handler(error)
        else:
            _LOG.error("work off the event loop failed", exc_info=error)


def _stop_all(document: Any, _: Any) -> None:
    for task in list(_tasks.pop(document, ())):
        task.stop()
