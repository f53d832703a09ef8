"""Computes checksums of tensors' bits, and a model's fingerprint, which shows whether other code
changed the model.

A checksum is the sum, modulo 2^64, of a tensor's words of at most 32 bits, each multiplied by the
32-bit multiplier of its position: a multilinear hash (Carter, Wegman 1979,
doi:10.1016/0022-0000(79)90044-8). With random multipliers a change would go unnoticed with
probability at most 2^-31. The multipliers are fixed and public, so that checksums can be saved and
compared. So checksums do not stop a deliberate forgery.
"""

import itertools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.utils._pytree import tree_leaves
from torch.utils.weak import WeakTensorKeyDictionary

from zoexplore.mechanism.parallel import digest

MULTIPLIERS = torch.from_numpy(
    np.random.Generator(np.random.PCG64(2**61 - 1)).integers(1, 2**32, 2**18)
)
# the odd factor that multiplies the sum so far whenever the multipliers start over
STRIDE = 0x1E3779B97F4A7C15
STRIDE_OF_COLUMNS = 0x2545F4914F6CDD1D  # the odd factor that does so at each further tensor
WORDS = {1: torch.uint8, 2: torch.int16}  # by bytes of a number; longer ones count as 32-bit words


def checksums(tensors: Iterable[Tensor]) -> list[int]:
    """Return a checksum of each tensor. Equal bits in equal order have equal checksums on every
    device.

    Raises:
        ValueError: a tensor is sparse, or on the meta device.
    """
    sums = [_of_one(tensor) for tensor in tensors]
    # wait for a GPU only once
    return torch.cat([x.to(sums[0].device) for x in sums]).tolist() if sums else []


def _of_one(tensor: Tensor) -> Tensor:
    """Compute a tensor's checksum from its plain parts, shape (1,)."""
    first, *others = (_of_rows(_words(part).view(1, -1)) for part in _parts(tensor))
    for each in others:
        first = first * STRIDE_OF_COLUMNS + each
    return first


def _parts(tensor: Tensor) -> list[Tensor]:
    """List a tensor's plain parts, such as the integers and scales of a quantised tensor."""
    if type(tensor) in (Tensor, nn.Parameter) or not hasattr(tensor, "__tensor_flatten__"):
        return [tensor]
    return [
        part for name in tensor.__tensor_flatten__()[0] for part in _parts(getattr(tensor, name))
    ]


def of_records(batch: Any, b: int) -> np.ndarray:
    """Compute a checksum of each record of a batch of tensors, shape (b,), int64."""
    total = torch.zeros(b, dtype=torch.int64)
    for tensor in tree_leaves(batch):
        if isinstance(tensor, Tensor) and tensor.numel():
            total = total * STRIDE_OF_COLUMNS + _of_rows(
                _words(tensor.cpu().contiguous()).view(b, -1)
            )
    return total.numpy()


def _words(tensor: Tensor) -> Tensor:
    """View a tensor's bits as words, row by row."""
    if tensor.layout != torch.strided or tensor.device.type == "meta":
        raise ValueError(
            f"a tensor of layout {tensor.layout} on {tensor.device} is not allowed: give plain tensors with numbers"
        )
    data = tensor.detach()
    data = torch.view_as_real(data.resolve_conj()) if data.is_complex() else data
    return data.contiguous().view(-1).view(WORDS.get(data.element_size(), torch.int32))


def _of_rows(words: Tensor) -> Tensor:
    """Compute the checksum of every row, shape (rows,), int64."""
    multipliers = MULTIPLIERS.to(words.device)
    sums = torch.zeros(len(words), dtype=torch.int64, device=words.device)
    for part in words.split(len(multipliers), 1):
        sums = sums * STRIDE + _sums(part, multipliers[: part.shape[1]])
    return sums


def _sums(words: Tensor, multipliers: Tensor) -> Tensor:
    """Sum words times multipliers in every row, modulo 2^64. On a CPU no products are stored."""
    if words.device.type != "cpu":
        return (words * multipliers).sum(1)
    return torch.from_numpy(np.einsum("ij,j->i", words.numpy(), multipliers.numpy()))


class Changed(RuntimeError):
    """Parameters or buffers differ from those after the run's last step."""


_owners = WeakTensorKeyDictionary()  # the run that has moved each tensor


class Fingerprint:
    """The checksums of a whole model after a run's last step, which show whether other code changed
    the model.

    Args:
        objective: holds the `trained` tensors, the `rest` of the model, and the names that are
            `saved`. Unsaved buffers, such as caches, may be made anew in another shape.

    Raises:
        ValueError: a part of the model is not a plain tensor.
    """

    def __init__(self, objective: Any) -> None:
        self.trained: dict[str, Tensor] = objective.trained
        self.rest: Callable[[], dict[str, Tensor]] = objective.rest
        self.saved: Callable[[], set[str]] = objective.saved
        self.run = object()  # identifies the run that moves the tensors
        self.start()

    def start(self) -> None:
        """Take the current tensors as the run's start."""
        rest = self.rest()
        self._marks, self._frozen = _marks(rest), bits(rest)
        self.renew()

    def renew(self) -> None:
        """Renew the checksums of trained tensors after a step. The others stay as they are."""
        self.last, self.seen = bits(self.trained), self.versions()

    def goes_back(self, kept: Sequence[int]) -> bool:
        """Return whether the trained tensors have one of the digests `kept`, which belong to saved
        states. If so, the run goes on from the tensors as they are now.
        """
        is_back = digest(bits(self.trained)) in kept
        if is_back:
            self.renew()
        return is_back

    def changes(self, *, by_versions: bool = False) -> str:
        """Say what other code changed since the last step; return "" if it changed nothing.

        Args:
            by_versions: whether to hash the frozen tensors only if torch's count of writes or their
                place in memory has changed. This misses a write that torch does not count, such as
                one through `data`.
        """
        if names := differing(self.last, bits(self.trained)):
            return f"{_listed(names)} changed since the last step, and not by this run"
        rest, saved = self.rest(), self.saved()
        known, self._marks = self._marks, _marks(rest)
        if by_versions and self._marks == known:
            return ""
        now = bits(rest)
        before, after = kinds(self._frozen), kinds(now)
        # unsaved buffers, such as caches, may be made anew in another shape
        if names := [
            name
            for name in differing(self._frozen, now)
            if name in saved or before.get(name) == after.get(name)
        ]:
            self._marks = {}  # so that the next call finds the change again
            return f"{_listed(names)}, which this run does not train, changed since it began"
        self._frozen = now
        return ""

    def check(self, *, by_versions: bool = False) -> None:
        """Raise Changed if `changes` finds a change."""
        if changes := self.changes(by_versions=by_versions):
            raise Changed(changes)

    def versions(self) -> list[int]:
        """Return torch's count of writes to each trained tensor; -1 for inference tensors, which
        have no count.
        """
        return [-1 if t.is_inference() else t._version for t in self.trained.values()]

    def bits(self) -> tuple[Any, ...]:
        """Return the checksums of the whole model after the last step."""
        return self.last, self.frozen()

    def bits_of(self, tensors: Iterable[Tensor]) -> dict[str, str]:
        """Return the checksums of `tensors`, under the names of the trained tensors."""
        return bits(dict(zip(self.trained, tensors, strict=True)))

    def frozen(self) -> dict[str, str]:
        """Return the checksums of the saved, frozen tensors, as text that other processes can
        compare.
        """
        saved = self.saved()
        return {name: bits for name, bits in self._frozen.items() if name in saved}

    def claim(self, *, whole: bool = False) -> None:
        """Claim the trained tensors for this run; if `whole`, claim the whole model."""
        claim((self.trained | self.rest() if whole else self.trained).values(), self.run)

    def check_unclaimed(self) -> None:
        """Raise RuntimeError if another run, or an unknown run, has moved part of the model."""
        tensors = self.trained | self.rest()
        if not (name := claimed(tensors, self.run)):
            return
        if _owners[_parts(tensors[name])[0]] is UNKNOWN:
            raise RuntimeError(
                f"{name!r} was loaded, and it is not known what the steps that led there cost: load the state_dict that was "
                "saved with it, or make the model anew"
            )
        raise RuntimeError(
            f"another NoisyZOGD has moved {name!r}: neither report would count what both have learnt. Give this one the "
            "other's state_dict to go on from it; or train a copy of the model (copy.deepcopy), and add both reports up "
            "with zoexplore.compose"
        )


UNKNOWN = object()  # stands for a run of which nothing is known


def mark_moved(module: nn.Module) -> None:
    """Mark a module whose weights were loaded, for example from a checkpoint of a private run. A
    `NoisyZOGD` refuses to move the module until the state saved with the weights is loaded too,
    since its report would otherwise miss the steps that led to the weights.
    """
    claim(itertools.chain(module.parameters(), module.buffers()), UNKNOWN)


def claim(tensors: Iterable[Tensor], run: object) -> None:
    """Note the run that moves these tensors."""
    for part in itertools.chain.from_iterable(map(_parts, tensors)):
        _owners[part] = run


def claimed(tensors: dict[str, Tensor], run: object = None) -> str:
    """Return the name of the first tensor that another run has moved; empty if there is none."""
    owned = (
        (name, _owners.get(part, run))
        for name, tensor in tensors.items()
        for part in _parts(tensor)
    )
    return next((name for name, owner in owned if owner is not run), "")


def bits(tensors: dict[str, Tensor]) -> dict[str, str]:
    """Write each tensor's dtype, shape and checksum as text."""
    sums = checksums(tensors.values())
    return {
        name: f"{t.dtype} {tuple(t.shape)} {x}"
        for (name, t), x in zip(tensors.items(), sums, strict=True)
    }


def _marks(tensors: dict[str, Tensor]) -> dict[str, object]:
    """Return a mark of each tensor, made of its place in memory and torch's count of writes to it.
    A tensor without a count has a new mark at each call.
    """

    def mark(t: Tensor) -> object:
        return (
            object() if t.is_inference() else (id(t), t.data_ptr(), t.shape, t.stride(), t._version)
        )

    return {name: (id(t), *map(mark, _parts(t))) for name, t in tensors.items()}


def kinds(bits: dict[str, str]) -> dict[str, str]:
    """Return the dtypes and shapes in `bits`."""
    return {name: text.rpartition(" ")[0] for name, text in bits.items()}


def differing(before: dict[str, str], now: dict[str, str]) -> list[str]:
    """Return the sorted names whose bits differ, or that only one of the two has."""
    return sorted(name for name in before | now if before.get(name) != now.get(name))


def _listed(names: Iterable[str]) -> str:
    return ", ".join(map(repr, [*names][:3]))
