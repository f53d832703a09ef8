"""Whether a record's loss is its own: no clip bounds what a record says through the losses of others."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from zoexplore.mechanism.batches import number_of, part

LOOKED_AT = 16  # records, spread over the batch, that are looked at
OWN = "a loss must depend on its own record alone"
BY_CHANCE = (
    "and not on chance (dropout: call eval(); sums in no fixed order: torch.use_deterministic_algorithms(True))"
)
TOGETHER = (
    "(is the batch the first dimension everywhere? Where a kernel, a mask or routing looks at the whole batch, "
    "microbatch=1 takes every record by itself), and not on chance (dropout: call eval())"
)


class Mixed(ValueError):
    """A record's loss is not its own."""


Numbers = Callable[[Any], Tensor]  # of a batch of b records: what is computed of each, shape (b,)


def check(what: str, numbers_of: Numbers, batch: Any, kind: torch.dtype, scale: float) -> None:
    """Exchange records beside some that stay where they are: what is computed of those must not change, in
    any bit. Then compare them alone, in another order and among fewer, where kernels round differently, so
    that a tolerance is left.

    Costs two evaluations of all records and of some two hundred more, at the parameters as they stand. Take a
    point off the start, where symmetry (all parameters 0, say) may hide what depends on what.

    Args:
        what: what is compared, in words.
        numbers_of: what computes it.
        kind: the least precise that it is computed in.
        scale: a difference that matters, where the numbers themselves are smaller than that.

    Raises:
        Mixed: a record's loss depends on others, on their order, on their number or on chance.
    """
    b, look = number_of(batch), _Look(what, numbers_of, batch)
    chosen = torch.linspace(0, b - 1, min(b, LOOKED_AT), dtype=torch.float64).round().long()
    places, s = torch.arange(len(chosen)), len(chosen)
    whole = look.at(torch.arange(b))[chosen]
    if b > s:
        look.exchange(whole, torch.arange(b), torch.ones(b, dtype=torch.bool).index_fill(0, chosen, False))
    few = look.at(chosen)
    for bit in range((s - 1).bit_length()):  # of their numbers, of which any two differ in one
        for side in (0, 1):
            others = places >> bit & 1 != side
            look.exchange(few[~others], chosen, others)
    tolerance = torch.finfo(kind).eps ** 0.5 * (scale + whole.abs())
    look.compare(whole, few, chosen, "without the other records", tolerance)
    shuffled = torch.randperm(s, generator=torch.Generator().manual_seed(s))
    for how, order in {"in reverse": places.flip(0), "shuffled": shuffled}.items():
        look.compare(
            whole[order], look.at(chosen[order]), chosen[order], f"with the records {how}", tolerance[order]
        )
    for i in sorted({0, s // 2, s - 1}):
        row = slice(i, i + 1)
        look.compare(whole[row], look.at(chosen[row]), chosen[row], "alone", tolerance[row])


def check_buffers(before: dict[str, Tensor], after: dict[str, Tensor]) -> None:
    """Raises Mixed where computing losses changed a buffer: it would take what records say past clip and
    noise. One that was made anew in another shape, as a cache is, may.
    """
    for name, buffer in before.items():
        found = after.get(name, buffer)
        if (
            found.shape == buffer.shape
            and not ((found == buffer) | ((found != found) & (buffer != buffer))).all()
        ):
            raise Mixed(
                f"the buffer {name!r} was changed while losses were computed: it would remember records that no noise covers "
                "(statistics of a normalisation? call eval(), or switch them off)"
            )


@dataclass(frozen=True)
class _Look:
    """Comparisons of what is computed of the records of a batch."""

    what: str
    numbers_of: Numbers
    batch: Any

    def at(self, records: Tensor) -> Tensor:
        """Of some records together, in float64 on the CPU."""
        return self.numbers_of(part(self.batch, records)).double().cpu()

    def exchange(self, own: Tensor, records: Tensor, others: Tensor) -> None:
        """Put copies of the records that stay in the places of the others, and compare them, bit by bit.

        Args:
            own: what was computed of those that stay.
            records: all that are looked at together, by their number in the batch.
            others: which of them not to keep (bool).
        """
        kept, exchanged = records[~others], records.clone()
        exchanged[others] = kept[torch.arange(int(others.sum())) % len(kept)]
        if _same(own, found := self.at(exchanged)[~others]).all():
            return
        self.compare(
            own, self.at(records)[~others], kept, "computed once more of the same batch", hint=BY_CHANCE
        )
        self.compare(own, found, kept, "beside other records")

    def compare(
        self,
        own: Tensor,
        found: Tensor,
        records: Tensor,
        how: str,
        tolerance: Tensor | None = None,
        hint: str = "",
    ) -> None:
        """Raises Mixed where they are not the same."""
        same = _same(own, found, tolerance)
        if same.all():
            return
        i = int(same.long().argmin())
        digits = 6 if f"{own[i]:.6g}" != f"{found[i]:.6g}" else 17
        raise Mixed(
            f"the {self.what} of record {int(records[i])} of the batch is {own[i]:.{digits}g} in its batch and "
            f"{found[i]:.{digits}g} {how}: {OWN} {hint or TOGETHER}"
        )


def _same(own: Tensor, found: Tensor, tolerance: Tensor | None = None) -> Tensor:
    """Of each record. Numbers that are not finite count as none, whichever they are."""
    neither = own.isfinite().logical_not() & found.isfinite().logical_not()
    return ((own == found) if tolerance is None else (own - found).abs() <= tolerance) | neither
