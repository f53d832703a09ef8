"""Batches as the accountant counts them: they are drawn by chance or in turn, handed out, and
checked when they return.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sized
from copy import deepcopy
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.utils._pytree import tree_leaves, tree_map_only
from torch.utils.data import DataLoader, Dataset, Sampler, default_collate

from zoexplore.mechanism.checksums import of_records
from zoexplore.mechanism.rng import Sources
from zoexplore.run.setting import Setting


class BatchDraws:
    """The records of every step of a run, drawn by `sources.data`."""

    def __init__(self, setting: Setting, sources: Sources) -> None:
        self.n, self.sampling, self.size = setting.n, setting.sampling, setting.b
        self.sources = sources
        # how many steps were made, and the batches drawn for the next steps
        self._made, self._ahead = 0, list[Tensor]()

    def of(self, t: int) -> Tensor:
        """Return the indices of step t's records, shape (b,), the same until the step is made."""
        if self.sampling == "cyclic" or self.size == self.n:
            return cyclic(self.n, self.size, t)
        while len(self._ahead) <= t - self._made:
            self._ahead.append(by_chance(self.n, self.size, self.sampling, self.sources.data))
        return self._ahead[t - self._made]

    def used(self) -> None:
        """Drop the batch of a finished step."""
        self._made, self._ahead = self._made + 1, self._ahead[1:]

    def state_dict(self) -> dict[str, Any]:
        """Return the unused batches, and how they were drawn. The next batch is always among them,
        so that loading the state cannot change that batch.
        """
        self.of(self._made)
        return {"sampling": self.sampling, "size": self.size, "ahead": [*self._ahead]}

    def load_state_dict(self, state: dict[str, Any], made: int) -> None:
        """Continue after `made` steps. If this run draws in another way, draw batches anew."""
        alike = (state["sampling"], state["size"]) == (self.sampling, self.size)
        self._made, self._ahead = made, [*state["ahead"]] if alike else []


def by_chance(n: int, size: int, sampling: str, generator: np.random.Generator) -> Tensor:
    """Draw indices below n. "poisson" takes each index with probability size/n, in ascending order.
    Otherwise draw `size` distinct indices in no particular order, every subset equally likely.
    """
    if sampling == "poisson":
        return torch.from_numpy(np.flatnonzero(generator.random(n) < size / n))
    return torch.from_numpy(generator.choice(n, size, replace=False, shuffle=False))


def cyclic(n: int, size: int, t: int) -> Tensor:
    """Return the indices of step t in a cycle over n records: `size`, or fewer at its end."""
    start = t % -(-n // size) * size
    return torch.arange(start, min(start + size, n))


@dataclass(frozen=True, eq=False)
class Batch:
    """The records of one step.

    Args:
        records: distinct indices in the data set, shape (b,); under Poisson sampling b varies, and
            may be 0.
        data: the loss's input: tensors, or lists, tuples and dicts of them. Their first dimension
            runs over the b records, and each row is made from its record alone.
        flaw: a message if some row was found to be made from other records too; no step is made
            then.
    """

    records: Tensor
    data: Any
    flaw: str = ""

    def __iter__(self) -> Iterator[Any]:
        return iter(self.data)

    def pin_memory(self) -> "Batch":
        """Copy the tensors to pinned memory. A `DataLoader` with `pin_memory` calls this."""
        return replace(self, data=tree_map_only(Tensor, Tensor.pin_memory, self.data))


class PrivateSampler(Sampler[Any]):
    """Draws the batches of a run's remaining steps for a `DataLoader`, ready for `NoisyZOGD.step`.

        loader = PrivateSampler(optimiser, dataset).loader(num_workers=2)
        for batch in loader:
            optimiser.step(batch)

    Args:
        optimiser: a `NoisyZOGD`.
        dataset: the n records, by index.
        epoch: the number of steps in one pass over the loader; if None, all that remain. Steps of
            the pass that were made already have no records, since a resumed loop skips them.
    """

    def __init__(self, optimiser: Any, dataset: Any, epoch: int | None = None) -> None:
        check_size(dataset, optimiser.setting.n)
        self.optimiser, self.dataset, self.epoch = optimiser, Numbered(dataset), epoch

    def __len__(self) -> int:
        return int(self.epoch or self.optimiser.setting.T - self.optimiser.steps)

    def __iter__(self) -> Iterator[list[int]]:
        made, T = self.optimiser.steps, self.optimiser.setting.T
        first = made // self.epoch * self.epoch if self.epoch else made
        for t in range(first, min(first + len(self), T)):
            yield drawn(self.optimiser, t) if t >= made else []

    def loader(
        self, collate_fn: Callable[[list[Any]], Any] = default_collate, **options: Any
    ) -> DataLoader[Any]:
        """Make a loader of the remaining steps' batches. `options` are those of `DataLoader`,
        except the options that choose records. `collate_fn` must make each record's part of the
        batch from that record alone.
        """
        return DataLoader(
            self.dataset, batch_sampler=self, collate_fn=Collate(collate_fn), **options
        )


class Last(list[Any]):
    """The records of a run's last batch, or their indices."""


def drawn(optimiser: Any, t: int) -> list[int]:
    """Return the indices of the records in an optimiser's step t."""
    records = optimiser.drawn(t).tolist()
    return Last(records) if t + 1 == optimiser.setting.T else records


def is_rare(count: int) -> bool:
    """Return whether a check that becomes ever rarer is due: at 1, 4, 16, 64 and so on."""
    return count.bit_count() == 1 and count.bit_length() % 2 == 1


class Numbered(Dataset[Any]):
    """A data set that returns records with their indices."""

    def __init__(self, dataset: Any) -> None:
        self.dataset = dataset

    def __len__(self) -> int:
        return len(self.dataset)

    def __getitem__(self, i: int) -> tuple[int, Any]:
        return i, self.dataset[i]

    def __getitems__(self, records: list[int]) -> list[tuple[int, Any]]:
        """Read a batch's records one by one, since a data set may mix records read together."""
        kind: type[list[Any]] = type(records)
        return kind(map(self.__getitem__, records))


@dataclass
class Collate:
    """Collates numbered records into a `Batch`. At the 1st, 4th, 16th batch and so on, and at the
    run's last, it checks that each record's part is made of that record alone.
    """

    collate_fn: Callable[[list[Any]], Any]
    calls: int = 0

    def __call__(self, records: list[tuple[int, Any]]) -> Batch:
        if not records:
            return Batch(torch.arange(0), ())
        self.calls += 1
        is_due, parts = (
            is_rare(self.calls) or isinstance(records, Last),
            [record for _, record in records],
        )
        flaw = TOGETHER if is_due and not are_apart(self.collate_fn, parts) else ""
        return Batch(torch.tensor([i for i, _ in records]), plain(self.collate_fn(parts)), flaw)


TOGETHER = (
    "a collator makes a record's part of the batch of other records too, as of their mean, and no clip bounds what a record says "
    "there: prepare every record by itself, with public constants"
)
HALVED = 16  # two records fewer places apart than this are in different halves at least once


def are_apart(collate_fn: Callable[[list[Any]], Any], records: list[Any]) -> bool:
    """Return whether a collator treats records separately. Several times, half of the records are
    replaced by copies of the other half; what the collator makes of the other half must not change.
    Tensors whose shape changes, or which also change by chance, tell nothing.
    """
    b = len(records)

    def collated(chosen: Iterable[int]) -> list[Tensor]:
        leaves = tree_leaves(plain(collate_fn([deepcopy(records[i]) for i in chosen])))
        return [x for x in leaves if isinstance(x, Tensor)]

    def same(found: list[Tensor], kept: list[int]) -> bool:
        return all(
            x.shape != y.shape or torch.equal(x[kept].nan_to_num(), y[kept].nan_to_num())
            for x, y in zip(whole, found, strict=False)
        )

    with torch.random.fork_rng(devices=[]):
        whole = collated(range(b))
        for bit, side in product(range(min(b - 1, HALVED - 1).bit_length()), (0, 1)):
            kept = [i for i in range(b) if i >> bit & 1 == side]
            beside = [i if i >> bit & 1 == side else kept[i % len(kept)] for i in range(b)]
            if not same(collated(beside), kept) and same(collated(range(b)), kept):
                return False
    return True


NOBODY = np.zeros(0, np.int64)


class SeenRecords:
    """Keeps checksums of the records as steps last took them, and of the public records that told
    the scale.
    """

    def __init__(self, n: int, public: np.ndarray = NOBODY) -> None:
        self._sums, self._known = np.zeros(n, np.int64), np.zeros(n, bool)
        # the public records that told the scale, and those of them that steps have taken
        self.public, self._met = public, NOBODY

    def state_dict(self) -> dict[str, Tensor]:
        """Return the checksums, which are as secret as the records."""
        return {"sums": torch.from_numpy(self._sums), "known": torch.from_numpy(self._known)}

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        """Go on from saved checksums."""
        self._sums[:], self._known[:] = state["sums"].numpy(), state["known"].numpy()

    @property
    def told_scale(self) -> bool:
        """Whether steps have taken most of the public records that told the scale."""
        return 2 * len(self._met) > len(self.public)

    def note(self, records: Tensor, data: Any) -> str:
        """Note a batch. Return a message if a record came with data that another record had before,
        as after a change of order; otherwise return "".
        """
        at, sums = records.numpy(), of_records(data, len(records))
        self._met = np.union1d(self._met, np.intersect1d(self.public, sums))
        is_other = self._known[at] & (self._sums[at] != sums)
        swapped = at[is_other & np.isin(sums, self._sums[self._known])]
        self._sums[at], self._known[at] = sums, True
        return f"record {swapped[0]} came as another one had come before" if len(swapped) else ""


def taken(optimiser: Any, dataset: Any, collate_fn: Callable[[list[Any]], Any] | None) -> Batch:
    """Take the records of an optimiser's next step: from tensors by their first dimension, from
    other data by index, collated by `collate_fn` or torch's default.

    Raises:
        ValueError: the data set does not have n records, or holds nothing to collate.
    """
    n, made = optimiser.setting.n, optimiser.steps
    check_size(dataset, n)
    if not _is_columns(dataset):
        collate = Collate(collate_fn or default_collate, made)
        return collate(Numbered(dataset).__getitems__(drawn(optimiser, made)))
    if collate_fn is not None:
        raise ValueError(
            "collate_fn is not allowed for tensors, which are cut: give records that are taken by index"
        )
    data, records = plain(dataset), optimiser.drawn(made)
    # if the batch has all n records, they are in order, and no copy is needed
    return Batch(records, data if len(records) == n else part(data, records))


def check_size(dataset: Any, n: int) -> None:
    """Raise ValueError unless a data set has n records."""
    if _is_columns(dataset):
        sizes = {tuple(x.shape[:1]) for x in _tensors(plain(dataset))}
    else:
        sizes = {(len(dataset),) if isinstance(dataset, Sized) else ()}
    if wrong := sizes - {(n,)}:
        found = " or ".join(str(*size) or "no" for size in wrong)
        raise ValueError(
            f"a data set of {found} records is not allowed: give one of n = {n} records, in the first dimension of tensors"
        )


def checked(batch: Any, drawn: Tensor, device: torch.device) -> Any:
    """Check that a batch is the one drawn, and return its data on the device.

    Raises:
        TypeError: the batch does not come from the optimiser or its sampler.
        ValueError: the batch does not have the records that were drawn, or one of its tensors has
            another number of records.
    """
    if not isinstance(batch, Batch):
        raise TypeError(
            f"a batch of the type {type(batch).__name__} is not allowed, nor is a closure: take optimiser.batch(dataset), or a "
            "loader of PrivateSampler(optimiser, dataset), so that a step has the records that were drawn for it, each once"
        )
    if not torch.equal(batch.records, drawn):
        raise ValueError(
            "the batch is not the one that was drawn for this step: every step has a batch of its own, taken once"
        )
    for x in _tensors(batch.data) if len(drawn) else ():
        if x.dim() == 0 or len(x) != len(drawn):
            raise ValueError(
                f"a batch tensor of shape {tuple(x.shape)} is not allowed: give {len(drawn)} records in the first dimension; the "
                "noise and the sensitivity are those of a step on so many"
            )
    return tree_map_only(Tensor, lambda x: x.to(device, non_blocking=True), batch.data)


def part(batch: Any, records: Tensor | slice) -> Any:
    """Select records of a batch of tensors."""
    if isinstance(records, slice):
        return tree_map_only(Tensor, lambda x: x[records], batch)
    return tree_map_only(Tensor, lambda x: x[records.to(x.device)], batch)


def number_of(batch: Any) -> int:
    """Count the records in a batch of tensors."""
    return next((len(x) for x in tree_leaves(batch) if isinstance(x, Tensor)), 0)


def plain(batch: Any) -> Any:
    """Turn a batch's mappings, such as a tokeniser's, into dicts, and its arrays into tensors."""
    if isinstance(batch, Mapping):
        return {name: plain(x) for name, x in batch.items()}
    if isinstance(batch, tuple | list) and not hasattr(batch, "_fields"):
        return type(batch)(map(plain, batch))
    return torch.as_tensor(batch) if isinstance(batch, np.ndarray) else batch


def _tensors(batch: Any) -> list[Tensor]:
    """List the tensors of a batch.

    Raises:
        ValueError: the batch has no tensors, or something that belongs to no single record.
    """
    leaves = [x for x in tree_leaves(batch) if x is not None]
    others = {type(x).__name__ for x in leaves if not isinstance(x, Tensor)}
    if others or not leaves:
        raise ValueError(
            f"a batch of {', '.join(sorted(others)) or 'nothing'} is not allowed: give tensors, with the records in their first "
            "dimension; what is the same for all of them belongs into the loss"
        )
    return leaves


def _is_columns(dataset: Any) -> bool:
    """Return whether a data set consists of tensors or arrays that hold all records."""
    return isinstance(dataset, Tensor | np.ndarray | tuple | Mapping)
