"""Tasks: what goes on beside the event loop's other work, in the session that began it, and no longer than that."""

import asyncio
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from typing import Any
from weakref import WeakKeyDictionary

import panel as pn
import param

_LOG = logging.getLogger("zoexplore")
_session: ContextVar[Any] = ContextVar("session", default=None)  # the session that a task was begun in, if it is a served one
_going_on: WeakKeyDictionary[Any, set["Task"]] = WeakKeyDictionary()  # the tasks of each session's document


class Task:
    """What `start` has begun."""

    def __init__(self) -> None:
        self._task: asyncio.Task | None = None  # from when it runs
        self._cancelled = False

    def cancel(self) -> None:
        """Go no further, and show nothing more; nothing happens where it is done."""
        self._cancelled = True
        if self._task:
            self._task.cancel()

    async def _run(self, task: Callable) -> None:
        if not self._cancelled:
            self._task = asyncio.ensure_future(task())
            await self._task


def start(task: Callable, failed: Callable[[], None] = lambda: None) -> Task:
    """Begin a coroutine function in this session, with whose end it ends; without a running event loop, run it to its end.

    Where it raises, the error is told and logged as one of a callback is, and `failed` is called.
    """
    document, begun = pn.state.curdoc, Task()
    session = document.session_context if document else None

    async def guarded() -> None:
        _session.set(session)
        try:
            with _ending_with(document if session else None, begun):
                await begun._run(task)
        except asyncio.CancelledError:  # nobody is there any more, or nobody wants it
            pass
        except Exception as error:  # as a callback's: what may go wrong is up to the task, and is told whatever it is
            change(partial(_fail, error, failed))

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        asyncio.run(guarded())
    else:
        param.parameterized.async_executor(guarded)
    return begun


@contextmanager
def _ending_with(document: Any, task: Task) -> Iterator[None]:
    """Cancel a task when its session closes."""
    if document is None:
        yield
        return
    if document not in _going_on:
        going_on: set[Task] = set()
        _going_on[document] = going_on
        document.on_session_destroyed(lambda _: _cancel(going_on))
    _going_on[document].add(task)
    try:
        yield
    finally:
        _going_on[document].discard(task)


def _cancel(tasks: set[Task]) -> None:
    for task in tasks:
        task.cancel()


def _fail(error: Exception, failed: Callable[[], None]) -> None:
    failed()
    if pn.config.exception_handler:
        pn.config.exception_handler(error)
    else:
        _LOG.error("work off the event loop failed", exc_info=error)


def change(write: Callable[[], None]) -> None:
    """Write to a session's models from a task, which does not hold the session's lock: at its next turn, if there is one."""
    if _session.get() is None:
        write()
    elif not closed():
        pn.state.curdoc.add_next_tick_callback(write)


def closed() -> bool:
    """Whether the session of the task that asks is closed."""
    session = _session.get()
    return session is not None and session.destroyed
