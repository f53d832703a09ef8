"""Makes the comparison that the page opens with: every method tuned alike at fixed epsilon, by one command.

    python -m zoexplore.training.comparison

It tunes, trains and writes `comparison.json` beside this file: results, what was chosen, date, versions, seeds and budget. With
names of tasks it does these anew and keeps the others. `zoexplore.training.finished.load` reads it.
"""

import argparse
import json
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from time import perf_counter

from zoexplore.training import hiding
from zoexplore.training.aims import Choice
from zoexplore.training.executors import Processes
from zoexplore.training.finished import FILE, Comparison, load, save
from zoexplore.training.hiding import nearness
from zoexplore.training.methods import COMPARED
from zoexplore.training.results import Frontier
from zoexplore.training.sweeps import sweep
from zoexplore.training.tasks import TASKS, Task
from zoexplore.training.tuning import RANGES, TRIALS, Ranges, trials, tuned
from zoexplore.training.tuning import SEEDS as TUNING_SEEDS

KEPT = 3  # recorded steps of a point


@dataclass(frozen=True)
class Budget:
    """What is spent on a task: the same for every method.

    Args:
        epsilons: targets.
        trials: of each method for each target.
        seeds: of each result.
        ranges: what trials are drawn from.
        methods: keys of `METHODS`.
    """

    epsilons: tuple[float, ...]
    trials: int = TRIALS
    seeds: int = 3
    ranges: Ranges = RANGES
    methods: tuple[str, ...] = COMPARED


FEWER = ("noisy-zogd", "aggzo", "noisy-gd", "dp-sgd", "non-private")
BUDGETS = {
    "digits-cosines": Budget((0.5, 1.0, 2.0, 4.0, 8.0)),
    "flights": Budget((0.002, 0.01, 0.05), trials=8, ranges=Ranges((10, 30, 100), (100,), (300, 1000))),
    "languages": Budget((1.0, 4.0), trials=8, ranges=Ranges((10, 30, 60), (60,), (200,), (16,)), methods=FEWER),
    "mnist": Budget((0.5, 2.0, 8.0), trials=8),
}
HIDING = "hiding"  # the part on hidden iterates, among the names of tasks
PARTS = ("digits-cosines", HIDING, "flights", "languages", "mnist")

Told = Callable[[str], None]


def compare(
    task: Task, budget: Budget, executor: Executor, *, tell: Told = lambda _: None,
    drawn: Callable[..., list[Choice]] = trials,
) -> tuple[Frontier, dict[str, float]]:  # fmt: skip
    """One task: all methods tuned alike, then trained with other seeds on all but the test part, and measured on that.

    Returns:
        The frontier, with a few of its recorded steps; by "method at epsilon" the accuracy of what was chosen on the validation
        part.
    """
    methods, epsilons = budget.methods, budget.epsilons
    found = tuned(task, methods, epsilons, executor, count=budget.trials, tell=tell, drawn=drawn)
    *_, last = _told(
        sweep(
            task=task, methods=methods, epsilons=epsilons, choices=found.choices, seeds=budget.seeds, executor=executor,
        ), task, tell,
    )  # fmt: skip
    validation = {f"{method} at {target:g}": round(value, 4) for (method, target), value in found.accuracy.items()}
    return thinned(last.frontier), validation


def _told(updates, task: Task, tell: Told):
    for update in updates:
        tell(f"{task.name}: {update.done / update.total:.0%} of the results")
        yield update


def thinned(frontier: Frontier) -> Frontier:
    """The same with a few of the recorded steps, the last among them, and rounded: what a figure needs."""
    points = []
    for p in frontier.points:
        last = len(p.steps) - 1
        kept = sorted({round(i * last / (KEPT - 1)) for i in range(KEPT)})

        def of(rows: Sequence[Sequence[float]], kept: list[int] = kept) -> tuple[tuple[float, ...], ...]:
            return tuple(tuple(round(row[i], 4) for i in kept) for row in rows)

        epsilons = {bound: tuple(values[i] for i in kept) for bound, values in p.epsilons.items()}
        steps = tuple(p.steps[i] for i in kept)
        points.append(replace(p, steps=steps, accuracy=of(p.accuracy), loss=of(p.loss), epsilons=epsilons))
    return replace(frontier, points=tuple(points))


def main() -> None:
    """Make the comparison, one part after the other; what is done is saved after each."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("parts", nargs="*", help=f"of {' '.join(PARTS)}; all, from nothing, where none is named")
    parser.add_argument("--trials", type=int, help="of each method for each epsilon, in place of each task's own number")
    parser.add_argument("--seeds", type=int, help="of each result, likewise")
    parser.add_argument("--workers", type=int, help="processes; as many as there are cores where not told")
    parser.add_argument("--out", type=Path, default=FILE)
    asked = parser.parse_args()
    made = load(asked.out) if asked.parts and asked.out.exists() else Comparison("", tuple(TUNING_SEEDS), {}, {}, {}, {})
    less = {name: getattr(asked, name) for name in ("trials", "seeds") if getattr(asked, name)}

    def tell(said: str) -> None:
        print(said, flush=True)

    with Processes(asked.workers) as executor:
        for part in asked.parts or PARTS:
            began = perf_counter()
            if part == HIDING:
                made = replace(made, hiding=nearness(hiding.TASK, hiding.EPSILONS, executor, tell=tell))
            else:
                budget = replace(BUDGETS[part], **less)
                made.frontiers[part], made.validation[part] = compare(
                    TASKS[part], budget, executor, tell=tell, drawn=partial(trials, ranges=budget.ranges)
                )
                made.budgets[part] = json.loads(json.dumps(asdict(budget)))  # as it is read again
            made.seconds[part] = round(perf_counter() - began)
            made = replace(made, date=datetime.now(UTC).isoformat(timespec="minutes"))
            save(made, asked.out)


if __name__ == "__main__":
    main()
