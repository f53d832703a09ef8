"""Before losses are trusted: one a record, of that record alone, that leave the module as it was, and precise enough."""

from typing import Any

from zoexplore.mechanism import independence, precision
from zoexplore.mechanism.batches import number_of
from zoexplore.mechanism.frames import Mover
from zoexplore.mechanism.run_record import Step
from zoexplore.mechanism.slopes import Losses

ENOUGH = 2  # records in a batch from which losses that mix them can be told
RARER = 4  # times as many steps as before lie between two looks


class Examination:
    """What losses were looked at so far. They are again where the module's parts, switches or hooks changed, or its buffers were
    written to, and where a run goes on from a saved state; and without any such reason at the 4th step, the 16th, the 64th and so
    on, and at the last, as a loss may have a memory that nobody sees.

    Attributes:
        quotient_error: of two points at the first step, relative (`precision.quotient_error`); None where not measured.
    """

    def __init__(self) -> None:
        self.quotient_error: float | None = None
        self._together, self._structure = 0, ()  # records, and the module as it was then
        self._steps, self._next = 0, RARER

    def is_due(self, records: int, structure: tuple, is_last: bool) -> bool:
        """At a step on so many records; every step asks once."""
        self._steps += records >= ENOUGH
        if self._together < min(records, ENOUGH) or (records > 0 and structure != self._structure):
            return True
        return records >= ENOUGH and (is_last or self._steps >= self._next)

    def was_passed_by(self, structure: tuple) -> bool:
        """Whether losses of such a module were taken for each record's own, at an earlier step."""
        return self._together >= ENOUGH and structure == self._structure

    def make(self, losses: Losses, mover: Mover, data: Any, step: Step, *, moved: bool) -> None:
        """At a point off the start, where symmetry might hide what depends on what, or where steps have moved the parameters to.

        Raises:
            ValueError, RuntimeError: a loss depends on other records or on chance, it changed the module, or rounding swamps the
                two-point quotients.
        """
        objective, parameters, kind = losses.objective, mover.parameters, losses.ambient.least(mover.parameters)
        before = {name: buffer.clone() for name, buffer in objective.buffers().items()}
        if not moved:
            mover.to(0, max(1.0, step.xi))
        independence.check(losses, data, kind, min(1.0, step.clip * max(1.0, step.xi)))
        mover.back()
        independence.check_buffers(before, objective.buffers())
        objective.check()
        parameters.check_unchanged()
        if step.xi > 0 and self.quotient_error is None:
            error = precision.quotient_error(losses, mover, data, step.xi)
            precision.check(error, step.xi, parameters.d, kind)
            self.quotient_error = error
        self._together, self._structure = number_of(data), objective.structure()
        while self._next <= self._steps:
            self._next *= RARER
