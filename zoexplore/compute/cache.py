"""The cache of answers that all sessions of a server share."""

import threading
from collections.abc import Callable
from typing import Any, TypeVar

from cachetools import LRUCache
from cachetools import cached as kept
from cachetools.keys import hashkey

F = TypeVar("F", bound=Callable[..., Any])
MOST = 2000  # the most answers that are kept; few of them take more than 50 kB


_answers: LRUCache[Any, Any] = LRUCache(MOST)
_lock = threading.RLock()


def cached(
    canonical: Callable[..., tuple[Any, ...]] = lambda *args: args, *, in_background: bool = False
) -> Callable[[F], F]:
    """Decorate a pure function of frozen arguments, so that sessions share its answers. Nobody may
    change an answer.

    Args:
        canonical: maps a call's arguments to those that stand for all calls with the same answer.
        in_background: whether no figure waits for the function's answers. The pool then computes
            them, so that no figure waits because of them either.
    """

    def decorate(function: F) -> Any:
        name = f"{function.__module__}.{function.__qualname__}"
        caching: Any = kept(
            _answers, key=lambda *args: hashkey(name, *canonical(*args)), lock=_lock
        )(function)
        caching.canonical, caching.in_background = canonical, in_background
        return caching

    return decorate


def lookup(function: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    """Return the cached answer of a call. Raise KeyError if there is none."""
    with _lock:
        return _answers[function.cache_key(*args)]  # type: ignore[attr-defined]


def store(function: Callable[..., Any], args: tuple[Any, ...], answer: Any) -> None:
    """Cache the answer of a call that was computed elsewhere."""
    with _lock:
        _answers[function.cache_key(*args)] = answer  # type: ignore[attr-defined]
