"""Before losses are trusted: one a record, of that record alone, that leave the module as it was, and precise enough."""

from typing import Any

from zoexplore.mechanism import independence, precision
from zoexplore.mechanism.batches import number_of
from zoexplore.mechanism.frames import Mover
from zoexplore.mechanism.run_record import Step
from zoexplore.mechanism.slopes import Losses

ENOUGH = 2  # records in a batch from which losses that mix them can be told


class Examination:
    """What losses were looked at so far. They are again where the module's parts, modes or hooks changed, or its buffers were
    written to, and where a run goes on from a saved state.

    Attributes:
        quotient_error: of two points at the first step, relative (`precision.quotient_error`); None where not measured.
    """

    def __init__(self) -> None:
        self.quotient_error: float | None = None
        self._together, self._structure = 0, ()  # records, and the module as it was then

    def is_due(self, records: int, structure: tuple) -> bool:
        return self._together < min(records, ENOUGH) or (records > 0 and structure != self._structure)

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
