"""What was found lately is remembered, for all sessions of a server together. No Panel here."""

import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
from cachetools import LRUCache, cached
from cachetools.keys import hashkey

MOST = 100_000_000  # bytes of answers


def size(answer: Any) -> int:
    """About how many bytes an answer takes."""
    if answer is None or isinstance(answer, (str, int, float)):  # most of what there is
        return 100
    if isinstance(answer, np.ndarray):
        return answer.nbytes + 100
    if isinstance(answer, Mapping):
        return 100 + sum(map(size, answer.values()))
    if is_dataclass(answer):
        return 100 + sum(size(getattr(answer, field.name)) for field in fields(answer))
    if isinstance(answer, Iterable):
        return 100 + sum(map(size, answer))
    return 100


_answers: LRUCache = LRUCache(MOST, getsizeof=size)
_lock = threading.RLock()


def remembered(canonical: Callable[..., tuple] = lambda *args: args, *, beside: bool = False) -> Callable[[Callable], Callable]:
    """Decorate a pure function of frozen arguments whose answers nobody writes to, so that sessions share them.

    Args:
        canonical: from the arguments to those that all calls with the same answer share.
        beside: whether no figure waits for it, so that it must not keep one waiting.
    """

    def decorate(function: Callable) -> Callable:
        name = f"{function.__module__}.{function.__qualname__}"
        remembering = cached(_answers, key=lambda *args: hashkey(name, *canonical(*args)), lock=_lock)(function)
        remembering.canonical = canonical  # type: ignore[attr-defined]
        remembering.beside = beside  # type: ignore[attr-defined]
        return remembering

    return decorate


def recall(function: Callable, args: tuple) -> Any:
    """The remembered answer of a call.

    Raises:
        KeyError: there is none.
    """
    with _lock:
        return _answers[function.cache_key(*args)]  # type: ignore[attr-defined]


def remember(function: Callable, args: tuple, answer: Any) -> None:
    """Remember an answer that was computed elsewhere, unless it is larger than all may be together."""
    with _lock:
        if size(answer) < MOST:
            _answers[function.cache_key(*args)] = answer  # type: ignore[attr-defined]


def forget() -> None:
    """Remember nothing."""
    with _lock:
        _answers.clear()
