"""A training run under way in a process of its own: its progress, and how it ends."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from math import inf
from time import monotonic
from typing import TYPE_CHECKING

from zoexplore.compute.limits import RUN_SECONDS, RUN_STEPS
from zoexplore.compute.pool import LongWork
from zoexplore.compute.process import Died
from zoexplore.compute.session_task import SessionTask, served
from zoexplore.run.refusals import in_symbols
from zoexplore.training.privacy import Privacy
from zoexplore.views.training.jobs import Asked, took, trained

if TYPE_CHECKING:
    from zoexplore.training import Update

KILLED = "The training process ended unexpectedly: it was killed, or ran out of memory. What was done by then is kept."


def most_steps() -> float:
    """Return the most steps that a sweep may take: as many as a server allows, else any number."""
    return RUN_STEPS.value if served() else inf


class Running:
    """Trains one run at a time, and calls `came` at every change."""

    def __init__(self, came: Callable[[], object]) -> None:
        self._came, self._work = came, SessionTask()
        self.asked: Asked | None = None  # the run that is being trained, or was trained last
        self.update: Update | None = None  # the run's progress
        # whether a run is under way, and whether it is waiting for other runs to end
        self.busy = self.waits = False
        self.problem = ""  # why the run ended early

    def begin(self, asked: Asked, known: tuple[Privacy, ...] = ()) -> None:
        """Train the run `asked`, whose epsilons are `known`. A server ends it after its time limit."""
        self._work.stop()
        self.asked, self.update, self.busy, self.problem = asked, None, True, ""
        if served():
            asked = replace(asked, seconds=RUN_SECONDS.value)
        self._work = SessionTask(partial(self._run, asked, known))
        self._came()

    def stop(self) -> None:
        """End the run, if any, and keep what was trained."""
        self._work.stop()
        self.busy = self.waits = False
        self._came()

    async def _run(self, asked: Asked, known: tuple[Privacy, ...]) -> None:
        begun = monotonic()
        try:
            with LongWork(trained, asked, known) as updates:
                self.waits = updates.waits
                async for self.update in updates:
                    self.waits = False
                    self._came()
            took(asked, monotonic() - begun)
        except Died:
            self.problem = KILLED
        except Exception as error:  # show any exception of a run in place of its results
            self.problem = f"It did not run: {in_symbols(str(error))}"
        self.busy = self.waits = False
        self._came()
