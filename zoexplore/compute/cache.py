"""The cache of answers, for all sessions of a server together: which functions' it keeps, and how much of them."""

import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
from cachetools import LRUCache
from cachetools import cached as kept
from cachetools.keys import hashkey

MOST_BYTES = 100_000_000  # of answers, together


def size(answer: Any) -> int:
    """About how many bytes an answer takes."""
    if answer is None or isinstance(answer, (str, int, float)):  # most of what there is
        return 100
    if isinstance(answer, bytes):
        return len(answer) + 100
    if isinstance(answer, np.ndarray):
        return answer.nbytes + 100
    if isinstance(answer, Mapping):
        answer = answer.values()
    elif is_dataclass(answer):
        answer = [getattr(answer, field.name) for field in fields(answer)]
    return 100 + (sum(map(size, answer)) if isinstance(answer, Iterable) else 0)


_answers: LRUCache[Any, Any] = LRUCache(MOST_BYTES, getsizeof=size)
_lock = threading.RLock()


def cached(
    canonical: Callable[..., tuple[Any, ...]] = lambda *args: args, *, in_background: bool = False
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorate a pure function of frozen arguments whose values are never changed, so that sessions share them.

    Args:
        canonical: from the arguments to those that all calls with the same answer share.
        in_background: whether no figure waits for it, so that it must not keep one waiting.
    """

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        name = f"{function.__module__}.{function.__qualname__}"
        caching = kept(_answers, key=lambda *args: hashkey(name, *canonical(*args)), lock=_lock)(function)
        caching.canonical, caching.in_background = canonical, in_background  # type: ignore[attr-defined]
        return caching

    return decorate


def lookup(function: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    """The cached answer of a call. Raises KeyError where there is none."""
    with _lock:
        return _answers[function.cache_key(*args)]  # type: ignore[attr-defined]


def store(function: Callable[..., Any], args: tuple[Any, ...], answer: Any) -> None:
    """Keep an answer that was computed elsewhere, unless it is larger than all may be together."""
    with _lock:
        if size(answer) < MOST_BYTES:
            _answers[function.cache_key(*args)] = answer  # type: ignore[attr-defined]
