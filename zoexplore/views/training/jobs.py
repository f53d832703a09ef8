"""What the Train tab trains, and the jobs that it gives to other processes. This module does not
import Panel, and imports torch only to train.
"""

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from importlib.util import find_spec
from math import inf
from time import monotonic
from typing import TYPE_CHECKING, Any

from zoexplore.compute.cache import cached
from zoexplore.run.fields import FIELDS, OPTIONS
from zoexplore.run.formatting import format_count
from zoexplore.run.setting import Accounting, Setting
from zoexplore.training import METHODS, TASKS, Task
from zoexplore.training.data import Mixture
from zoexplore.training.methods import Configuration, records
from zoexplore.training.privacy import Privacy, privacy
from zoexplore.training.tasks import DRAWN, OTHERS

if TYPE_CHECKING:
    from zoexplore.training import Update

TASK = TASKS["overlap"]
# each class centre's distance from 0, times sqrt(d): the classes then overlap equally at every d
APART = 0.06 * 520**0.5
METHOD, SEEDS = "noisy-zogd", 5
SCALES = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0)  # multiples of the reader's noise scale
PAUSE = 0.25  # seconds between progress reports
MOST_NUMBERS = 30_000_000  # the most numbers in the data, and in a step's directions
COUNTED = "ε is counted all the same."
INSTALL = "pip install 'zoexplore[train]'"


@dataclass(frozen=True)
class Asked:
    """A run to train at several noise scales around its own.

    Args:
        setting: the page's run. For training, the proved facts of the task's loss replace what the
            run supposes of its loss.
        accounting: how epsilon is counted, with one share of the noise throughout.
        seconds: the time limit.
    """

    setting: Setting
    accounting: Accounting
    seconds: float = inf

    @property
    def task(self) -> Task:
        """The task, with as many records and parameters as the run."""
        return replace(
            TASK, source=Mixture(self.setting.n, self.setting.d, APART / self.setting.d**0.5)
        )

    @property
    def sigmas(self) -> tuple[float, ...]:
        """The noise scales, ascending."""
        return tuple(self.setting.sigma * scale for scale in SCALES)

    @property
    def others(self) -> dict[str, Any]:
        """The fields of the run that the task does not set, without sigma."""
        own = self.setting.as_dict()
        return {name: own[name] for name in ("K", "beta", "T", *OTHERS)}

    @property
    def fields(self) -> tuple[Any, ...]:
        """Everything but the noise scale that distinguishes one run's models from another's."""
        return self.setting.n, self.setting.d, *self.others.values(), self.accounting

    @property
    def runs(self) -> tuple[Setting, ...]:
        """The trained runs, one for each noise scale.

        Raises:
            ValueError: the task does not allow one of the run's values.
        """
        return tuple(
            METHODS[METHOD].setting(self.task, sigma, **self.others) for sigma in self.sigmas
        )


@dataclass(frozen=True)
class Cannot:
    """Why a run cannot be trained: the field in the way, the nearest value that can be trained, and
    the reason.
    """

    field: str
    value: Any
    why: str

    @property
    def offer(self) -> str:
        """The nearest run that can be trained, in words."""
        if self.field in FIELDS:
            return f"Train with {FIELDS[self.field].symbol} = {format_count(self.value)}"
        return f"Train with batches {OPTIONS[self.field][self.value]}"


def obstacle(setting: Setting, most_steps: float = inf) -> Cannot | None:
    """Return why a run cannot be trained; None if the run can be trained.

    Args:
        setting: the run.
        most_steps: the most steps that a sweep may take, all models together.
    """
    here, d = "train here", max(MOST_NUMBERS // setting.d, 1)
    most = {
        "d": MOST_NUMBERS // 2,
        "n": d,
        "K": d,
        "T": int(min(most_steps, 2**53)) // (len(SCALES) * SEEDS),
    }
    for field, value in most.items():
        if getattr(setting, field) > value:
            of = f"with d = {format_count(setting.d)} " if value == d else ""
            return Cannot(
                field, value, f"Too many to {here}: {of}at most {format_count(value)}. {COUNTED}"
            )
    if not setting.full_batch and setting.sampling not in DRAWN:
        return Cannot("sampling", DRAWN[0], f"Models that {here} draw every batch anew. {COUNTED}")
    return None


@cached()
def prices(asked: Asked) -> tuple[Privacy, ...]:
    """Compute epsilon by each bound along the steps of each run of a sweep. This needs no training."""
    at = records(asked.setting.T)
    return tuple(
        privacy(asked.task, Configuration(METHOD, run), at, asked.accounting) for run in asked.runs
    )


_pace = [3e-11]  # the seconds per operation in the last sweep


def _operations(asked: Asked) -> float:
    """Estimate the number of operations in a sweep: for the scores of every model, and for the
    directions of every seed.
    """
    s = asked.setting
    return 4.0 * SEEDS * s.T * s.d * (len(SCALES) * s.b + s.K * s.K)


def expected_seconds(asked: Asked) -> float:
    """Estimate how long a sweep will take, in seconds, from the pace of this process's last sweep."""
    return _pace[0] * _operations(asked)


def took(asked: Asked, seconds: float) -> None:
    """Remember the machine's pace from the seconds that a sweep took."""
    _pace[0] = seconds / _operations(asked)


def missing() -> tuple[str, ...]:
    """Return the names of the libraries that training needs and that are not installed."""
    return tuple(
        name
        for name, module in (("PyTorch", "torch"), ("scikit-learn", "sklearn"))
        if find_spec(module) is None
    )


def trained(asked: Asked, known: tuple[Privacy, ...] = ()) -> Iterator["Update"]:
    """Train, and yield the progress from time to time and at the end; `known` is what `prices`
    returns.

    Models train in threads of this process, which spend their time in torch. Separate processes
    would each have to load torch and the data.

    Raises:
        ValueError: an error of `zoexplore.training.sweep`, a missing library, or the end of the
            allowed time.
    """
    until, reported = monotonic() + asked.seconds, 0.0
    run: dict[str, Any] = {
        "task": asked.task,
        "methods": (METHOD, "non-private"),
        "sigmas": asked.sigmas,
        "seeds": SEEDS,
    }
    with ThreadPoolExecutor(min(os.cpu_count() or 1, SEEDS)) as executor:
        drawing = executor.submit(getattr, asked.task, "data")
        try:
            # the import takes a second, and so does drawing the data meanwhile
            from zoexplore.training import sweep
        except ImportError as error:
            raise ValueError(
                f"{error.name} is not installed, and this needs it: {INSTALL}"
            ) from error
        drawing.result()
        for update in sweep(
            executor=executor, known=known, accounting=asked.accounting, **run | asked.others
        ):
            if update.finished or monotonic() - reported > PAUSE:
                reported = monotonic()
                yield update
            if monotonic() > until and not update.finished:
                raise ValueError(
                    f"it was ended after {asked.seconds:g} s, as long as a run may take here; what was done is kept"
                )
