"""Makes the comparison that the page opens with: every method tuned alike at fixed epsilon, by one command.

    python -m zoexplore.training.comparison

It tunes, trains and writes `comparison.json` beside this file, after every method: results, what was chosen, dates, versions,
seeds, budget and processor time. With names of tasks it does these anew and keeps the others; with `--methods` it does some
methods of them anew; with `--resume` it goes on where a run was cut off. `zoexplore.training.finished.load` reads it.
"""

import argparse
import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from zoexplore.training import hiding
from zoexplore.training.aims import Choice
from zoexplore.training.executors import Here, Processes
from zoexplore.training.finished import FILE, Comparison, load, save
from zoexplore.training.hiding import nearness
from zoexplore.training.methods import COMPARED
from zoexplore.training.results import Frontier
from zoexplore.training.sweeps import Update, sweep
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


TARGETS = (0.5, 1.0, 2.0, 4.0, 8.0)
FEWER = ("noisy-zogd", "aggzo", "noisy-gd", "dp-sgd", "non-private")
BUDGETS = {
    "digits-cosines": Budget(TARGETS),
    "flights": Budget((0.002, 0.01, 0.05, *TARGETS), ranges=Ranges((10, 30), (100, 300), (100, 300))),
    "languages": Budget(TARGETS, ranges=Ranges((10, 30, 60), (60,), (100, 200), (16,)), methods=FEWER),
    "mnist": Budget(TARGETS),
}
HIDING = "hiding"  # the part on hidden iterates, among the names of tasks
PARTS = (*BUDGETS, HIDING)

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


def _told(updates: Iterable[Update], task: Task, tell: Told) -> Iterator[Update]:
    said = -1
    for update in updates:
        tenths = 10 * update.done // update.total
        if tenths > said:
            tell(f"{task.name}: {tenths / 10:.0%} of the results")
        said = tenths
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


def joined(found: Frontier | None, more: Frontier, methods: Sequence[str]) -> Frontier:
    """The points of both, in the order of the methods."""
    points = (*(found.points if found else ()), *more.points)
    return replace(more, points=tuple(sorted(points, key=lambda p: methods.index(p.method))))


def main() -> None:
    """Make the comparison, one part after the other; what is done is saved after each method."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("parts", nargs="*", help=f"of {' '.join(PARTS)}; all, from nothing, where none is named")
    parser.add_argument("--trials", type=int, help="of each method for each epsilon, in place of each task's own number")
    parser.add_argument("--seeds", type=int, help="of each result, likewise")
    parser.add_argument("--workers", type=int, help="processes; as many as there are cores where not told")
    parser.add_argument("--resume", action="store_true", help="keep the methods that the file has by the same budget")
    parser.add_argument("--methods", nargs="+", choices=COMPARED, default=(), help="these anew, and otherwise as with --resume")
    parser.add_argument("--out", type=Path, default=FILE)
    asked = parser.parse_args()
    resume = asked.resume or bool(asked.methods)
    keep = (asked.parts or resume) and asked.out.exists()
    made = load(asked.out) if keep else Comparison({}, tuple(TUNING_SEEDS), {}, {}, {}, {})
    less = {name: getattr(asked, name) for name in ("trials", "seeds") if getattr(asked, name)}
    for part in asked.parts or PARTS:
        if part == HIDING:
            _remake_hiding(made, asked.workers, asked.out, resume)
        else:
            _without(made, part, asked.methods)
            _remake(made, part, replace(BUDGETS[part], **less), asked.workers, asked.out, resume)


def _without(made: Comparison, part: str, methods: Sequence[str]) -> None:
    """Forget these methods of a task."""
    if part in made.frontiers:
        found = made.frontiers[part]
        made.frontiers[part] = replace(found, points=tuple(p for p in found.points if p.method not in methods))


def _remake(made: Comparison, part: str, budget: Budget, workers: int | None, out: Path, resume: bool) -> None:
    """One task, method by method."""
    told = json.loads(json.dumps(asdict(budget)))  # as it is read again
    if not resume or made.budgets.get(part) != told:
        for kept in (made.frontiers, made.validation, made.seconds):
            kept.pop(part, None)
    made.budgets[part] = told
    for method in budget.methods:
        known = made.frontiers.get(part)
        if known and any(p.method == method for p in known.points):
            continue
        began = processor_seconds()
        with _executor(workers) as executor:
            found, validation = compare(
                TASKS[part], replace(budget, methods=(method,)), executor, tell=_tell, drawn=partial(trials, ranges=budget.ranges)
            )
        made.frontiers[part] = joined(known, found, budget.methods)
        made.validation[part] = made.validation.get(part, {}) | validation
        _keep(made, part, processor_seconds() - began, out)


def _remake_hiding(made: Comparison, workers: int | None, out: Path, resume: bool) -> None:
    """The part on hidden iterates."""
    if resume and made.hiding:
        return
    made.seconds.pop(HIDING, None)
    began = processor_seconds()
    with _executor(workers) as executor:
        made.hiding[:] = nearness(hiding.TASK, hiding.EPSILONS, executor, tell=_tell)
    _keep(made, HIDING, processor_seconds() - began, out)


def _executor(workers: int | None) -> Executor:
    return Here() if workers == 1 else Processes(workers)


def _tell(said: str) -> None:
    print(said, flush=True)


def _keep(made: Comparison, part: str, seconds: float, out: Path) -> None:
    made.seconds[part] = round(made.seconds.get(part, 0) + seconds, 1)
    made.dates[part] = datetime.now(UTC).isoformat(timespec="minutes")
    save(made, out)


def processor_seconds() -> float:
    """That this process has taken, and those of its children that have ended."""
    taken = os.times()
    return taken.user + taken.system + taken.children_user + taken.children_system


if __name__ == "__main__":
    main()
