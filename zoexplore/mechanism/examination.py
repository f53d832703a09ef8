"""Before losses are trusted: one a record, of that record alone, that leave the module as it was, and precise
enough.
"""

from typing import Any

from zoexplore.mechanism import independence, precision, slopes
from zoexplore.mechanism.batches import number_of
from zoexplore.mechanism.frames import Mover
from zoexplore.mechanism.run_record import Step

ENOUGH = 2  # records in a batch from which losses that mix them can be told
RARER = 4  # times as many steps as before lie between two looks


class Examination:
    """What losses were looked at so far. They are again where the module's parts, switches or hooks changed,
    or its buffers were written to, and where a run goes on from a saved state; and without any such reason at
    the 4th step, the 16th, the 64th and so on, and at the last, as a loss may have a memory that nobody sees.

    Attributes:
        quotient_error: of two points at the first step, relative (`precision.quotient_error`); None where not
            measured.
    """

    def __init__(self) -> None:
        self.quotient_error: float | None = None
        self._together, self._structure = 0, ()  # records, and the module as it was then
        self._steps, self._next = 0, RARER

    @classmethod
    def of(cls, quotient_error: float | None) -> "Examination":
        """Of a run that goes on, with losses that may be others."""
        found = cls()
        found.quotient_error = quotient_error
        return found

    def begin_step(self, records: int) -> None:
        """Count a step on so many records."""
        self._steps += records >= ENOUGH

    def is_due(self, records: int, structure: tuple, is_last: bool) -> bool:
        """Whether to look, at the step that has begun, on so many records."""
        if self._together < min(records, ENOUGH) or (records > 0 and structure != self._structure):
            return True
        return records >= ENOUGH and (is_last or self._steps >= self._next)

    def saw_change(self, structure: tuple) -> bool:
        """Whether the module or the loss changed visibly since they were looked at, so that steps before were
        as they were then.
        """
        return self._together >= ENOUGH and structure != self._structure

    def make(self, losses: slopes.Losses, mover: Mover, data: Any, step: Step, *, moved: bool) -> None:
        """At a point off the start, where symmetry might hide what depends on what, or where steps have moved
        the parameters to.

        Raises:
            ValueError, RuntimeError: a loss depends on other records or on chance, it changed the module, or
                rounding swamps the two-point quotients.
        """
        objective, parameters, kind = (
            losses.objective,
            mover.parameters,
            losses.ambient.least(mover.parameters),
        )
        before = {name: buffer.clone() for name, buffer in objective.buffers().items()}
        if not moved:
            mover.to(0, max(1.0, step.xi))
        losses.watch.settle()
        for what, numbers_of in slopes.made_of(losses, parameters, mover.frame, step.xi).items():
            independence.check(what, numbers_of, data, kind, min(1.0, step.clip * max(1.0, step.xi)))
        independence.check_buffers(before, objective.buffers())
        losses.watch.check()
        mover.back()
        objective.check()
        parameters.check_in_place()
        if step.xi > 0 and self.quotient_error is None:
            error = precision.quotient_error(losses, mover, data, step.xi)
            precision.check(error, step.xi, parameters.d, kind)
            self.quotient_error = error
        self._together, self._structure = number_of(data), objective.structure()
        while self._next <= self._steps:
            self._next *= RARER
