"""Points from the states of a sweep's jobs."""

from collections.abc import Sequence
from functools import cache
from math import inf
from typing import NamedTuple

from zoexplore.bounds.guarantee import as_printed
from zoexplore.questions.statement import versions
from zoexplore.training.configuration import Configuration, records
from zoexplore.training.engine import State
from zoexplore.training.privacy import Privacy
from zoexplore.training.results import Frontier, Point
from zoexplore.training.sweep_plans import SweepPlan

made_with = cache(versions)  # asked for with every part of a sweep


def gathered(plan: SweepPlan, states: list[State | None], privacies: Sequence[Privacy]) -> Frontier:
    """The frontier so far: every configuration of which all seeds have begun, at the steps that all
    of them have made. Such points are complete, as runs of fewer steps, and their means are of the
    same seeds until the end.

    A thread may just be recording a step, of which it writes the accuracy last.
    """
    points = []
    for configuration, known in zip(plan.configurations, privacies, strict=True):
        used = [
            _Run(seed, state, i * len(job.configurations) + job.configurations.index(configuration))
            for job, state in zip(plan.jobs, states, strict=True)
            if configuration in job.configurations and state is not None and state.accuracy
            for i, seed in enumerate(job.seeds)
        ]
        if len(used) == len(plan.seeds):
            points.append(_point(plan, configuration, used, known))
    start = plan.configurations[0].setting
    return Frontier(
        plan.task.name,
        tuple(points),
        plan.accounting,
        start.delta,
        made_with("torch", "scikit-learn"),
    )


class _Run(NamedTuple):
    """One seed of a configuration: a job's state, and the run's row in it."""

    seed: int
    state: State
    place: int


def _point(plan: SweepPlan, c: Configuration, used: list[_Run], known: Privacy) -> Point:
    steps = records(c.setting.T)[: min(len(run.state.accuracy) for run in used)]
    epsilons = {bound: charge.along[: len(steps)] for bound, charge in known.items()}
    reason = {bound: charge.reason for bound, charge in known.items()}
    clipped, projected = (
        sum(int(getattr(run.state, name)[run.place]) for run in used)
        for name in ("clipped", "projected")
    )
    for bound, values in epsilons.items():
        if values[-1] == inf:
            reason[bound] = reason[bound] or f"it does not apply after {steps[-1]} steps"
        else:
            reason[bound] = as_printed(bound, plan.accounting)
    updates = sum(run.state.t for run in used)
    quotients = (
        updates
        * (c.setting.batch or c.setting.n)
        * (1 if c.setting.clipping == "joint" else c.setting.K)
    )

    def along(name: str) -> tuple[tuple[float, ...], ...]:
        return tuple(
            tuple(row[run.place] for row in getattr(run.state, name)[: len(steps)]) for run in used
        )

    return Point(
        method=c.method,
        sigma=c.setting.sigma if c.noisy else 0.0,
        setting=c.setting.replace(T=steps[-1]),
        seeds=tuple(run.seed for run in used),
        steps=steps,
        accuracy=along("accuracy"),
        loss=along("loss"),
        reason=reason,
        epsilons=epsilons,
        supposed=plan.task.supposed if c.noisy else (),
        clipped=clipped / quotients,
        projected=projected / updates,
        target=c.target,
        counted={bound: charge.counted for bound, charge in known.items()},
        tested=len(plan.task.data.X_test),
    )
