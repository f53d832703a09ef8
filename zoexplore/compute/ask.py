"""The way to compute slow answers: `found = await ask(function, *args)`.

Answers are cached. A call that takes less than a redraw is computed at once, so that a figure
follows the slider. All others go to the pool of processes, and so do calls that no figure waits
for. The time that a kind of call takes is measured with each call.
"""

from collections.abc import Callable
from contextlib import suppress
from functools import cache
from math import inf
from typing import Any, NamedTuple

from zoexplore.compute.cache import lookup, store
from zoexplore.compute.computations import load, timed
from zoexplore.compute.pool import Pool, TooLong
from zoexplore.compute.session_task import event_loop_is_running, own_session
from zoexplore.run.setting import Setting

REDRAW = 0.05  # seconds that a call may take on the event loop
_FEW_DIGITS = 4  # digits of T up to which every figure took less than a redraw, as measured

# seconds of the latest two calls of each kind: one of them may have loaded compiled code
_latest: dict[tuple[Any, ...], tuple[float, float]] = {}


@cache
def pool() -> Pool:
    """Return the pool of processes of this server."""
    return Pool(first=load)


async def ask(function: Callable[..., Any], *args: Any) -> Any:
    """Return the answer of a module-level function whose module imports no Panel.

    Await it in a coroutine of a `SessionTask`, such as `View.refresh`. The code after it may then
    write to the session's models.

    Raises:
        Exception: what the function raised.
        Died: the function ended its process.
        TooLong: the function took longer than any call may.
    """
    kept = hasattr(function, "canonical")
    if kept:
        args = function.canonical(*args)  # type: ignore[attr-defined]
        with suppress(KeyError):
            return lookup(function, args)
    behind = not kept or (function.in_background and event_loop_is_running())  # type: ignore[attr-defined]
    if not behind and quick(function, *args):
        found, seconds = timed(function, *args)
    else:
        found, seconds = await _by_the_pool(function, args, urgent=not behind)
    if kept:
        store(function, args, found)
    if kind := _kind(function, args):
        _latest[kind] = seconds, _lately(kind)[0]
    return found


def known(function: Callable[..., Any], *args: Any) -> bool:
    """Return whether the answer of a `cached` function is kept."""
    with suppress(KeyError):
        lookup(function, function.canonical(*args))  # type: ignore[attr-defined]
        return True
    return False


def no_answer(error: Exception) -> str:
    """Return the message for a reader whose call has no answer."""
    return (
        str(error)
        if isinstance(error, TooLong)
        else "The computation ended before it had an answer. Ask again."
    )


def quick(function: Callable[..., Any], *args: Any) -> bool:
    """Return whether a call will take less than a redraw, as one of the latest two of its kind did.
    A call on batches is never quick; one with few steps is quick at first.

    A call without a `Setting` is never quick, since its time cannot be predicted. A `Miniature`
    therefore holds a `Setting`.
    """
    kind = _kind(function, args)
    return kind is not None and kind.full_batch and min(_lately(kind)) < REDRAW


class _Kind(NamedTuple):
    """What is common to calls that take about equally long: function, assumptions, accounting and
    the number of T's digits.
    """

    function: str
    regime: str
    full_batch: bool
    digits: int
    others: tuple[Any, ...]


def _kind(function: Callable[..., Any], args: tuple[Any, ...]) -> _Kind | None:
    """Return the kind of a call; None if it has no run."""
    run = next((arg for arg in args if isinstance(arg, Setting)), None)
    if run is None:
        return None
    others = tuple(arg for arg in args if arg is not run)
    return _Kind(function.__qualname__, run.regime, run.full_batch, len(str(run.T)), others)


def _lately(kind: _Kind) -> tuple[float, float]:
    return _latest.get(kind, (0.0, 0.0) if kind.digits <= _FEW_DIGITS else (inf, inf))


async def _by_the_pool(function: Callable[..., Any], args: tuple[Any, ...], urgent: bool) -> Any:
    """Return the pool's answer, and the seconds that it took."""
    call = pool().submit(timed, (function, *args), own_session(), urgent, share=True)
    try:
        return await call.answer
    finally:
        pool().drop(call)
