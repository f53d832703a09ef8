"""Checks that each loss depends on its own record alone, and that the module remembers none.

These checks are needed because a clip does not limit what a record does to other records' losses.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from zoexplore.mechanism.batches import is_rare, number_of, part
from zoexplore.mechanism.checksums import bits, differing
from zoexplore.mechanism.losses import Losses
from zoexplore.mechanism.perturbation import Perturbed
from zoexplore.mechanism.record import Step
from zoexplore.mechanism.slopes import check_precision, made_of

ENOUGH = 2  # the fewest records in a batch that can be checked for mixing
LOOKED_AT = 16  # the most records compared, spread over the batch
OWN = "a loss must depend on its own record alone"
BY_CHANCE = "and not on chance (dropout: call eval(); sums in no fixed order: torch.use_deterministic_algorithms(True))"
TOGETHER = (
    "(batch normalisation: call eval(), or use LayerNorm or GroupNorm; is the batch the first dimension everywhere? Where a "
    "kernel, a mask or routing looks at the whole batch, microbatch=1 takes every record by itself), and not on chance (dropout: "
    "call eval())"
)


class LossChecks:
    """Checks losses when a check is due. A check is due after a change of the module's parts,
    switches, hooks or buffers, and when a run is resumed. Since a loss may have a hidden memory,
    the 4th, 16th, 64th step and so on, and the last step, are checked too.
    """

    def __init__(self) -> None:
        # the number of records and the module's structure at the last check, and the steps counted
        self._together, self._structure, self._steps = 0, (), 0

    def is_due(self, data: Any, structure: tuple[Any, ...], *, is_last: bool) -> bool:
        """Return whether to check the current step. Count the step if it has enough records."""
        records = number_of(data)
        enough = records >= ENOUGH
        self._steps += enough
        if self._together < min(records, ENOUGH) or (records > 0 and structure != self._structure):
            return True
        return enough and (is_last or is_rare(self._steps))

    def saw_change(self, structure: tuple[Any, ...]) -> bool:
        """Return whether the module or the loss has visibly changed since the last check. If so,
        that check vouches for the steps since then.
        """
        return self._together >= ENOUGH and structure != self._structure

    def make(
        self, losses: Losses, perturbed: Perturbed, data: Any, step: Step, *, moved: bool
    ) -> None:
        """Check the losses at the current parameters. If no step has moved these yet, check the
        losses away from the start, whose symmetry might hide dependences.

        Raises:
            ValueError, RuntimeError: a loss depends on other records or on chance, it changed the
                module, or rounding swamps the two-point quotients.
        """
        objective, parameters = losses.objective, perturbed.parameters
        kind = max((t.dtype for t in parameters.tensors), key=lambda kind: torch.finfo(kind).eps)
        if not moved:
            perturbed.to(0, max(1.0, step.xi))
        at = losses.fingerprint.last
        losses.fingerprint.renew()
        for what, numbers_of in made_of(losses, perturbed, step.xi).items():
            check_independence(
                what, numbers_of, data, kind, min(1.0, step.clip * max(1.0, step.xi))
            )
        if objective.buffers():
            check_kept(losses, data)
        losses.fingerprint.check()
        perturbed.back()
        losses.fingerprint.last = at
        objective.check()
        parameters.check_in_place()
        if step.xi > 0 and step.kind == "step" and not moved:
            check_precision(losses, perturbed, data, step.xi, kind)
        self._together, self._structure = number_of(data), objective.structure()


class Mixed(ValueError):
    """A record's loss depends on other records."""


class Kept(Mixed):
    """The module remembers something about the records that it has seen."""


Numbers = Callable[[Any], Tensor]  # computes a number of each record of a batch, shape (b,)


def check_independence(
    what: str, numbers_of: Numbers, batch: Any, kind: torch.dtype, scale: float
) -> None:
    """Check that each record's number depends on that record alone. If other records are exchanged,
    the numbers of the records that stay must not change in any bit. If a record is evaluated alone,
    in another order or among fewer records, its number may change up to a tolerance, since kernels
    round differently there.

    The check evaluates all records twice, and some two hundred records more, at the current
    parameters. These should be away from the start, where symmetry (all parameters 0, for example)
    may hide dependences.

    Args:
        what: the compared quantity, in words.
        numbers_of: computes the quantity of each record.
        kind: the least precise dtype of the computation.
        scale: the least size that differences are compared with.

    Raises:
        Mixed: a record's loss depends on other records, on their order or number, or on chance.
    """
    b, look = number_of(batch), _Look(what, numbers_of, batch)
    chosen = torch.linspace(0, b - 1, min(b, LOOKED_AT), dtype=torch.float64).round().long()
    places, s = torch.arange(len(chosen)), len(chosen)
    whole = look.at(torch.arange(b))[chosen]
    if b > s:
        look.exchange(
            whole, torch.arange(b), torch.ones(b, dtype=torch.bool).index_fill(0, chosen, False)
        )
    few = look.at(chosen)
    for bit in range((s - 1).bit_length()):  # the places of any two records differ in some bit
        for side in (0, 1):
            others = places >> bit & 1 != side
            look.exchange(few[~others], chosen, others)
    tolerance = torch.finfo(kind).eps ** 0.5 * (scale + whole.abs())
    ways = [
        ("without the other records", places),
        ("with the records in reverse", places.flip(0)),
        (
            "with the records shuffled",
            torch.randperm(s, generator=torch.Generator().manual_seed(s)),
        ),
        *(("alone", places[i : i + 1]) for i in sorted({0, s // 2, s - 1})),
    ]
    for how, order in ways:
        records = chosen[order]
        look.compare(whole[order], look.at(records), records, how, tolerance[order])


def check_kept(losses: Losses, batch: Any) -> None:
    """Evaluate a batch, and then a batch of the same shape in which the first half of the records
    replaces the second. Raise Kept if a buffer is not the same after both, since the buffer would
    remember records that no noise covers.
    """
    losses.here(batch)
    before, b = bits(losses.objective.buffers()), number_of(batch)
    losses.here(part(batch, torch.arange(b) % max(1, b // 2)))
    if changed := differing(before, bits(losses.objective.buffers())):
        raise Kept(
            f"the buffer {changed[0]!r} was changed while losses were computed: it would remember records that no noise covers "
            "(statistics of a normalisation? call eval(), or switch them off)"
        )


@dataclass(frozen=True)
class _Look:
    """Compares the numbers of a batch's records."""

    what: str
    numbers_of: Numbers
    batch: Any

    def at(self, records: Tensor) -> Tensor:
        """Compute the numbers of `records` together, in float64 on the CPU."""
        return self.numbers_of(part(self.batch, records)).double().cpu()

    def exchange(self, own: Tensor, records: Tensor, others: Tensor) -> None:
        """Replace the records `others` (bool) by copies of those that stay. The numbers of those
        that stay must then be `own`, bit for bit.
        """
        kept, exchanged = records[~others], records.clone()
        exchanged[others] = kept[torch.arange(int(others.sum())) % len(kept)]
        if _same(own, found := self.at(exchanged)[~others]).all():
            return
        self.compare(
            own,
            self.at(records)[~others],
            kept,
            "computed once more of the same batch",
            hint=BY_CHANCE,
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
        """Raise Mixed if `own` and `found` differ by more than the tolerance."""
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
    """Return for each record whether its two numbers are equal, up to a tolerance if one is given.
    All numbers that are not finite count as equal.
    """
    neither = own.isfinite().logical_not() & found.isfinite().logical_not()
    return ((own == found) if tolerance is None else (own - found).abs() <= tolerance) | neither
