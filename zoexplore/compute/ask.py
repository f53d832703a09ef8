"""The way to compute slow answers: `found = await ask(function, *args)`.

Answers are cached. A call that should take less time than a redraw is computed at once, so that a
figure follows the slider. All other calls go to the pool of processes, and so does a call that no
figure waits for. Each call is timed, to predict the time of the next call of its kind.
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
_FEW_DIGITS = 4  # figures for a T of at most this many digits took less than a redraw

# the seconds of each kind's latest two calls; two, because one may have loaded compiled code
_latest: dict[tuple[Any, ...], tuple[float, float]] = {}


@cache
def pool() -> Pool:
    """Return the pool of processes of this server."""
    return Pool(first=load)


async def ask(function: Callable[..., Any], *args: Any) -> Any:
    """Return the answer of a module-level function whose module does not import Panel.

    Await the answer in a coroutine of a `SessionTask`, such as `View.refresh`. The code after the
    await may then write to the session's models.

    Raises:
        Exception: what the function raised.
        Died: the function ended its process.
        TooLong: the function took longer than the pool allows.
    """
    kept = hasattr(function, "canonical")
    if kept:
        args = function.canonical(*args)  # type: ignore[attr-defined]
        with suppress(KeyError):
            return lookup(function, args)
    behind = not kept or (function.in_background and event_loop_is_running())  # type: ignore[attr-defined]
    if not behind and quick(function, *args):
        answer, seconds = timed(function, *args)
    else:
        answer, seconds = await _by_the_pool(function, args, urgent=not behind)
    if kept:
        store(function, args, answer)
    if kind := _kind(function, args):
        _latest[kind] = seconds, _lately(kind)[0]
    return answer


def known(function: Callable[..., Any], *args: Any) -> bool:
    """Return whether the cache holds the answer of this call of a `cached` function."""
    with suppress(KeyError):
        lookup(function, function.canonical(*args))  # type: ignore[attr-defined]
        return True
    return False


def no_answer(error: Exception) -> str:
    """Return the message for a reader whose call failed with this error."""
    return (
        str(error)
        if isinstance(error, TooLong)
        else "The computation ended before it had an answer. Ask again."
    )


def quick(function: Callable[..., Any], *args: Any) -> bool:
    """Predict whether a call takes less time than a redraw, as at least one of the latest two calls
    of its kind did. The first calls of a kind count as quick if T is small.

    A call for a run on batches never counts as quick, nor does a call without a `Setting`, whose
    time cannot be predicted.
    """
    kind = _kind(function, args)
    return kind is not None and kind.full_batch and min(_lately(kind)) < REDRAW


class _Kind(NamedTuple):
    """What calls that take about equally long have in common: the function, the regime, whether
    each step uses all records, the number of digits of T, and all arguments but the run.
    """

    function: str
    regime: str
    full_batch: bool
    digits: int
    others: tuple[Any, ...]


def _kind(function: Callable[..., Any], args: tuple[Any, ...]) -> _Kind | None:
    """Return the kind of a call; None if no argument is a `Setting`."""
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
