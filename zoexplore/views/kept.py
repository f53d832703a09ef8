"""`Kept`, a pure function that keeps its answers, so that they can be computed in another process, too. No Panel here."""

from collections import OrderedDict
from collections.abc import Callable
from functools import update_wrapper
from threading import Lock
from typing import Any

from zoexplore.setting import Setting


def quick(setting: Setting) -> bool:
    """Whether the bounds of a run are computed while a slider moves: a curve takes some 30 ms, with batches up to a second."""
    return setting.batch is None or setting.batch >= setting.n


class Kept:
    """A function of a setting and other frozen arguments, with the latest of its answers. They are never written to, so that
    sessions can share them without sharing any state.
    """

    def __init__(self, call: Callable, most: int) -> None:
        update_wrapper(self, call)
        self.__qualname__ = call.__qualname__
        self._call, self._most = call, most
        self._answers: OrderedDict[tuple, Any] = OrderedDict()
        self._lock = Lock()

    def __call__(self, *args: Any) -> Any:
        with self._lock:
            if args in self._answers:
                self._answers.move_to_end(args)
                return self._answers[args]
        return self.keep(args, self._call(*args))

    def __reduce__(self) -> str:
        """Elsewhere it is the function of the same name."""
        return self.__qualname__

    def ready(self, *args: Any) -> bool:
        """Whether the answer costs no time worth speaking of."""
        return quick(args[0]) or args in self._answers

    def keep(self, args: tuple, answer: Any) -> Any:
        """Keep an answer that was computed elsewhere."""
        with self._lock:
            self._answers[args] = answer
            while len(self._answers) > self._most:
                self._answers.popitem(last=False)
        return answer


def kept(most: int) -> Callable[[Callable], Kept]:
    """Decorate a function so that so many of its answers are kept."""
    return lambda call: Kept(call, most)
