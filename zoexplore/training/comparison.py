"""The comparison that the page opens with: every method tuned alike at fixed epsilon, made by one command.

    python -m zoexplore.training.comparison

It tunes, trains and writes `comparison.json` beside this file: results, what was chosen, date, versions and seeds. `load` reads
it.
"""

import argparse
import json
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from time import perf_counter

from zoexplore.training.files import of_dict, to_json
from zoexplore.training.results import Frontier
from zoexplore.writing import write

HERE = Path(__file__).with_name("comparison.json")
EPSILONS = (0.5, 1.0, 2.0, 4.0, 8.0)
TASKS_COMPARED = ("digits-cosines", "flights")
SEEDS = 5
KEPT = 5  # recorded steps of a point


@dataclass(frozen=True)
class Comparison:
    """A finished comparison.

    Args:
        date: when it was made, ISO 8601, UTC.
        trials: of each method and target.
        tuning_seeds: of the trials; no result uses them.
        seconds: that it took, task by task.
        frontiers: task by task.
        chosen: task by task, "method at epsilon" to what was tuned and its accuracy on the validation part.
    """

    date: str
    trials: int
    tuning_seeds: tuple[int, ...]
    seconds: dict[str, float]
    frontiers: dict[str, Frontier]
    chosen: dict[str, dict[str, dict]]


def compare(
    task: str, methods: Sequence[str], epsilons: Sequence[float], executor: Executor, *, count: int, seeds: int = SEEDS,
    tell: Callable[[str], None] = lambda _: None,
) -> tuple[Frontier, dict[str, dict]]:  # fmt: skip
    """One task: all methods tuned alike, then trained with other seeds on all but the test part, and measured on that."""
    from zoexplore.training.sweeps import sweep
    from zoexplore.training.tasks import TASKS
    from zoexplore.training.tuning import tuned

    found = tuned(TASKS[task], methods, epsilons, executor, count=count, tell=tell)
    update = None
    for update in sweep(
        task=task, methods=methods, epsilons=tuple(epsilons), choices=found.choices, seeds=seeds, executor=executor
    ):
        tell(f"{task}: {update.done / update.total:.0%} of the results")
    assert update is not None
    chosen = {
        f"{method} at {target:g}": asdict(choice) | {"validation": round(found.accuracy[method, target], 4)}
        for (method, target), choice in found.choices.items()
    }
    return thinned(update.frontier), chosen


def thinned(frontier: Frontier) -> Frontier:
    """The same with a few of the recorded steps, the last among them, and rounded losses: what a figure needs."""
    points = []
    for p in frontier.points:
        count = len(p.steps)
        kept = sorted({round(i * (count - 1) / (KEPT - 1)) for i in range(KEPT)}) if count >= KEPT else range(count)

        def of(rows, kept=kept):
            return tuple(tuple(round(row[i], 4) for i in kept) for row in rows)

        epsilons = {bound: tuple(values[i] for i in kept) for bound, values in p.epsilons.items()}
        points.append(
            replace(p, steps=tuple(p.steps[i] for i in kept), accuracy=of(p.accuracy), loss=of(p.loss), epsilons=epsilons)
        )
    return replace(frontier, points=tuple(points))


def save(found: Comparison, path: Path = HERE) -> None:
    """Write it as JSON."""
    about = asdict(replace(found, frontiers={}))
    about["frontiers"] = {name: json.loads(to_json(frontier)) for name, frontier in found.frontiers.items()}
    write(path, json.dumps(about, separators=(",", ":")).encode())


@cache
def load(path: Path = HERE) -> Comparison:
    """What was saved.

    Raises:
        OSError, ValueError: there is none.
    """
    about = json.loads(path.read_text())
    frontiers = {name: of_dict(found) for name, found in about.pop("frontiers").items()}
    return Comparison(**about | {"frontiers": frontiers, "tuning_seeds": tuple(about["tuning_seeds"])})


def main() -> None:
    """Make the comparison, one task after the other; what is done is saved after each."""
    from zoexplore.training.methods import COMPARED
    from zoexplore.training.tuning import SEEDS as TUNING_SEEDS
    from zoexplore.training.tuning import TRIALS
    from zoexplore.training.workers import Processes

    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--tasks", nargs="+", default=TASKS_COMPARED)
    parser.add_argument("--trials", type=int, default=TRIALS)
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--epsilons", type=float, nargs="+", default=EPSILONS)
    parser.add_argument("--out", type=Path, default=HERE)
    asked = parser.parse_args()
    made = Comparison(datetime.now(UTC).isoformat(timespec="minutes"), asked.trials, tuple(TUNING_SEEDS), {}, {}, {})
    with Processes() as executor:
        for task in asked.tasks:
            began = perf_counter()
            frontier, chosen = compare(
                task, COMPARED, asked.epsilons, executor, count=asked.trials, seeds=asked.seeds,
                tell=lambda said: print(said, flush=True),
            )  # fmt: skip
            made.frontiers[task], made.chosen[task] = frontier, chosen
            made.seconds[task] = round(perf_counter() - began)
            save(made, asked.out)


if __name__ == "__main__":
    main()
