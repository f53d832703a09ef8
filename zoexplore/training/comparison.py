"""Makes the comparison that the page opens with: every method tuned alike at fixed epsilon, by one command.

    python -m zoexplore.training.comparison

It tunes, trains and writes `comparison.json` beside this file: results, what was chosen, date, versions and seeds. With names of
tasks it does these anew and keeps the others. `zoexplore.training.finished.load` reads it.
"""

import argparse
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import asdict, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from time import perf_counter

from zoexplore.training.aims import Choice
from zoexplore.training.executors import Processes
from zoexplore.training.finished import FILE, Comparison, load, save
from zoexplore.training.methods import COMPARED
from zoexplore.training.results import Frontier
from zoexplore.training.sweeps import sweep
from zoexplore.training.tasks import TASKS, Task
from zoexplore.training.tuning import SEEDS as TUNING_SEEDS
from zoexplore.training.tuning import TRIALS, trials, tuned

EPSILONS = (0.5, 1.0, 2.0, 4.0, 8.0)
SEEDS = 5
KEPT = 5  # recorded steps of a point
HIDING = "hiding"  # the part on hidden iterates, among the names of tasks
HIDING_TASK, HIDING_EPSILONS, HIDING_SEEDS, HIDING_K = "mixture", (0.002, 0.005, 0.01, 0.02), 10, 52
LONG = 300  # steps of a run that goes on whatever it costs
PARTS = ("digits-cosines", HIDING)

Told = Callable[[str], None]


def compare(
    task: Task, methods: Sequence[str], epsilons: Sequence[float], executor: Executor, *, count: int = TRIALS,
    seeds: int = SEEDS, tell: Told = lambda _: None, hidden: bool = True, drawn: Callable[..., list[Choice]] = trials,
) -> tuple[Frontier, dict[str, dict]]:  # fmt: skip
    """One task: all methods tuned alike, then trained with other seeds on all but the test part, and measured on that.

    Returns:
        The frontier, with a few of its recorded steps; what was chosen, by "method at epsilon".
    """
    found = tuned(task, methods, epsilons, executor, count=count, tell=tell, hidden=hidden, drawn=drawn)
    *_, last = _told(
        sweep(
            task=task, methods=methods, epsilons=tuple(epsilons), choices=found.choices, seeds=seeds, executor=executor,
            hidden=hidden,
        ), task, tell,
    )  # fmt: skip
    chosen = {
        f"{method} at {target:g}": asdict(choice) | {"validation": round(found.accuracy[method, target], 4)}
        for (method, target), choice in found.choices.items()
    }
    return thinned(last.frontier), chosen


def _told(updates, task: Task, tell: Told):
    for update in updates:
        tell(f"{task.name}: {update.done / update.total:.0%} of the results")
        yield update


def hiding_grid(task: Task, method: str, count: int, steps: Sequence[int] = (10, 30, 100, LONG)) -> list[Choice]:
    """Steps, step sizes and shares with which hiding the iterates might pay: the clip idle, convexity from the ridge alone."""
    constants = task.constants
    return [
        Choice(HIDING_K, T, rate / constants.M, constants.lipschitz, beta=beta)
        for T in steps
        for rate in (0.25, 0.5, 1.0)
        for beta in (0.5, 0.9, 1.0)
    ]


def hiding(executor: Executor, tell: Told = lambda _: None) -> dict[str, Frontier]:
    """Noisy-ZOGD tuned over the same grid with the last iterate alone released, and with all of them: for runs of LONG steps, and
    for runs whose number of steps is tuned too.
    """
    return {
        f"{name}, {length}": compare(
            TASKS[HIDING_TASK], ("noisy-zogd",), HIDING_EPSILONS, executor, seeds=HIDING_SEEDS, tell=tell, hidden=hidden,
            drawn=drawn,
        )[0]
        for length, drawn in ((f"{LONG} steps", partial(hiding_grid, steps=(LONG,))), ("steps tuned", hiding_grid))
        for name, hidden in (("hidden", True), ("public", False))
    }  # fmt: skip


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
    parser.add_argument("parts", nargs="*", default=PARTS, help=f"tasks, and {HIDING!r}; {' '.join(PARTS)} where none is named")
    parser.add_argument("--trials", type=int, default=TRIALS)
    parser.add_argument("--out", type=Path, default=FILE)
    asked = parser.parse_args()
    made = load(asked.out) if asked.out.exists() else Comparison("", {}, tuple(TUNING_SEEDS), {}, {}, {})

    def tell(said: str) -> None:
        print(said, flush=True)

    with Processes() as executor:
        for part in asked.parts:
            began = perf_counter()
            if part == HIDING:
                made = replace(made, hiding=hiding(executor, tell))
            else:
                frontier, chosen = compare(TASKS[part], COMPARED, EPSILONS, executor, count=asked.trials, tell=tell)
                made.frontiers[part], made.chosen[part], made.trials[part] = frontier, chosen, asked.trials
            made.seconds[part] = round(perf_counter() - began)
            made = replace(made, date=datetime.now(UTC).isoformat(timespec="minutes"))
            save(made, asked.out)


if __name__ == "__main__":
    main()
