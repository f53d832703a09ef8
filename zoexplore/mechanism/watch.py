"""Whether anybody else changes a model while a run trains it: a report is of the steps that were counted, and
of no others.
"""

import weakref
from collections.abc import Callable, Iterable
from functools import partial

from torch import Tensor

from zoexplore.mechanism.checksums import checksums

_owners: dict[int, tuple[weakref.ref, object]] = {}  # whose steps moved a tensor, by its id; gone when the tensor is


class Changed(RuntimeError):
    """Parameters or buffers are not as the run's last step left them."""


class Watch:
    """The bits of all that makes up a model, as the run's last step left them.

    Args:
        trained: the tensors that the run moves, by name.
        rest: what else the model has, by name: parameters that are not trained, and buffers.
        saved: names of what a `state_dict` of the model holds. Other buffers, such as caches, may be made
            anew in another shape.

    Raises:
        ValueError: something of it is no plain tensor.
    """

    def __init__(self, trained: dict[str, Tensor], rest: Callable[[], dict[str, Tensor]], saved: Callable[[], set[str]]) -> None:
        self.trained, self.rest, self.saved = trained, rest, saved
        self.run = object()  # who moves them
        self.begin()

    def begin(self) -> None:
        """The run starts from what is there now."""
        self._frozen, self.last = _bits(self.rest()), _bits(self.trained)

    def settle(self) -> None:
        """The run itself has moved what it trains. What it does not train stays what it was when the run
        began.
        """
        self.last = _bits(self.trained)

    def change(self) -> str:
        """What was changed since then; empty where nothing was."""
        if names := _differing(self.last, _bits(self.trained)):
            return f"{_listed(names)} changed since the last step, and not by this run"
        now = _bits(self.rest())
        names = _differing(self._frozen, now)
        if replaced := [name for name in names if self._may_be_new(name, now)]:
            self._frozen = {name: x for name, x in self._frozen.items() if name not in replaced}
            self._frozen |= {name: now[name] for name in replaced if name in now}
        if names := [name for name in names if name not in replaced]:
            return f"{_listed(names)}, which this run does not train, changed since it began"
        return ""

    def check(self) -> None:
        """Raises Changed where something was."""
        if found := self.change():
            raise Changed(found)

    def versions(self) -> list[int]:
        """How often torch counted a change of what is trained; it does not where tensors are for inference
        alone.
        """
        return [-1 if t.is_inference() else t._version for t in self.trained.values()]

    def bits(self) -> tuple:
        """Of all of it, as the last step left it."""
        return tuple(self.last.items()), tuple(self.frozen().items())

    def bits_of(self, tensors: Iterable[Tensor]) -> dict[str, str]:
        """Of others in place of what is trained."""
        return _bits(dict(zip(self.trained, tensors, strict=True)))

    def frozen(self) -> dict[str, str]:
        """The bits of what is saved with the model and not trained, in words, to be compared in another
        process.
        """
        saved = self.saved()
        return {name: bits for name, bits in self._frozen.items() if name in saved}

    def claim(self) -> None:
        """From here on these tensors are this run's."""
        for tensor in self.trained.values():
            _owners[id(tensor)] = weakref.ref(tensor, partial(_forget, id(tensor))), self.run

    def check_unclaimed(self) -> None:
        """Raises RuntimeError where another run has moved any part of the model."""
        for name, tensor in (self.trained | self.rest()).items():
            _, run = _owners.get(id(tensor), (None, self.run))
            if run is not self.run:
                raise RuntimeError(
                    f"another NoisyZOGD has moved {name!r}: neither report would count what both have learnt. Give this one the "
                    "other's state_dict to go on from it; or train a copy of the model (copy.deepcopy), and add both reports up "
                    "with zoexplore.mechanism.together"
                )

    def _may_be_new(self, name: str, now: dict[str, str]) -> bool:
        """A cache that was made, or made anew in another shape."""
        before, after = (bits.get(name, "none").rsplit(maxsplit=1)[0] for bits in (self._frozen, now))
        return before != after and name not in self.saved()


def _forget(key: int, _: object) -> None:
    _owners.pop(key, None)


def _bits(tensors: dict[str, Tensor]) -> dict[str, str]:
    """Kind, shape and checksum, in words."""
    sums = checksums(tensors.values())
    return {name: f"{t.dtype} {tuple(t.shape)} {x}" for (name, t), x in zip(tensors.items(), sums, strict=True)}


def _differing(before: dict[str, str], now: dict[str, str]) -> list[str]:
    return sorted(name for name in before | now if before.get(name) != now.get(name))


def _listed(names: Iterable[str]) -> str:
    *some, last = [repr(name) for name in names][:3]
    return f"{', '.join(some)} and {last}" if some else last
