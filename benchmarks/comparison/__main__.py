"""Makes the comparison that the page opens with, and the studies beside it, by one command.

    python -m benchmarks.comparison

Every part keeps its results in a folder after each setting, and continues from there, so it may be
stopped at any time. `zoexplore/training/comparison.json` and `studies.json` beside this file are
written anew after each draw of the tuning, and figures and tables at the end. Results of parts that
the folder does not have stay as they are.
"""

import argparse
import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from math import inf
from pathlib import Path
from statistics import fmean
from time import process_time
from typing import Any

import torch

from benchmarks.comparison import ablations, horizons
from benchmarks.comparison.choices import Choice
from benchmarks.comparison.kept import Drawn, Series, Studies, load, of_json, save
from benchmarks.comparison.law import Run, accuracy, ended, loss
from benchmarks.comparison.search import (
    ENDS,
    GRIDS,
    Found,
    Key,
    choice,
    control,
    multiplier,
    search,
)
from tools import comparison as figures
from zoexplore.questions.statement import versions
from zoexplore.run.atomic_write import write
from zoexplore.run.setting import Accounting
from zoexplore.training.comparison import Finished
from zoexplore.training.methods import METHODS
from zoexplore.training.privacy import privacy
from zoexplore.training.results import Frontier, Point
from zoexplore.training.sweep_plans import SweepPlan
from zoexplore.training.sweeps import frontier
from zoexplore.training.tasks import TASKS, Task

COMPARED = ("noisy-zogd", "aggzo", "dp-sgd", "dpzero", "non-private")
FOLDER = Path("build/comparison")
TARGETS = (0.5, 1.0, 2.0, 4.0, 8.0)
COMPARED_ON = {"digits-cosines": TARGETS, "mnist": TARGETS}
STUDIES: dict[str, tuple[Callable[[], list[Series]], ...]] = {
    "horizons": (
        horizons.epsilons,
        horizons.over_memory,
        horizons.over_steps,
        horizons.over_batches,
    ),
    "ablations": (ablations.directions, ablations.shares, ablations.clips),
}
DRAWS = 2  # how often the whole tuning is repeated
SEEDS = 16  # the simulated runs of a result
CONTROL = 50  # random settings of a method that the search has not seen
CONTROLLED = (2.0, 8.0)  # their epsilons, at which the mechanism itself is run too
HELD_BACK = 999  # their split and seed


def keys(task: str) -> list[Key]:
    """List the pairs of method and epsilon that are compared on a task."""
    return [
        (method, target)
        for method in COMPARED
        for target in (COMPARED_ON[task] if METHODS[method].noisy else (inf,))
    ]


@dataclass
class Part:
    """The file of a part: its results, when they were last worked on, and the processor time."""

    path: Path
    made: dict[str, Any]

    @classmethod
    def open(cls, folder: Path, name: str) -> "Part":
        path = folder / f"{name}.json"
        return cls(
            path, json.loads(path.read_bytes()) if path.exists() else {"seconds": 0.0, "date": ""}
        )

    @contextmanager
    def spending(self) -> Iterator[None]:
        """Time the work in this block, and keep its results."""
        began = process_time()
        torch.set_num_threads(1)
        yield
        self.made["seconds"] += process_time() - began
        self.made["date"] = datetime.now(UTC).isoformat(timespec="minutes")
        self.keep()

    def keep(self) -> None:
        """Write the file."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        write(self.path, json.dumps(self.made).encode())


def searched(part: Part, task: str, draw: int) -> dict[Key, Found]:
    """Make one draw of the tuning, for one method and epsilon after another. Each search begins
    with what was found at the epsilon below.
    """
    made, found = part.made.setdefault("cells", {}), dict[Key, Found]()
    below: Found | None = None
    for key in keys(task):
        if (name := f"{key[0]} at {key[1]:g}") not in made:
            with part.spending():
                made[name] = search(TASKS[task], key, draw, below.finalists if below else ())
            print(f"{task}, draw {draw}: {name}, {part.made['seconds']:.0f} s", flush=True)
        finalists, *numbers = made[name]
        found[key] = Found([tuple(point) for point in finalists], *numbers)
        below = found[key] if (key[0], max(COMPARED_ON[task])) != key else None
    return found


def results(part: Part, task: Task, key: Key, found: Found, draw: int) -> None:
    """Test the chosen setting on the test records by simulated runs."""
    known = part.made.setdefault("results", {})
    if (name := f"{key[0]} at {key[1]:g}, draw {draw}") not in known:
        with part.spending():
            known[name] = asdict(_drawn(task, key, found, draw))
        print(f"{task.name}: {name}: {known[name]['last']:.3f}", flush=True)


def mechanism(part: Part, task: Task, key: Key) -> None:
    """Make a run of the mechanism itself, with the choice that had the best validation."""
    known = [
        drawn
        for name, drawn in part.made["results"].items()
        if name.startswith(f"{key[0]} at {key[1]:g},")
    ]
    best = max(known, key=lambda drawn: drawn["validation"])
    if best["mechanism"] is None:
        with part.spending():
            best["mechanism"] = _by_mechanism(task, key, best["choice"])
        print(
            f"{task.name}: {key[0]} at {key[1]:g}: {best['mechanism']:.3f} by the mechanism",
            flush=True,
        )


def _drawn(task: Task, key: Key, found: Found, draw: int) -> Drawn:
    point = found.finalists[0]
    chosen = choice(task, key[0], point, len(task.data.X))
    at_an_end = (
        name
        for i, name in enumerate(GRIDS)
        if name in ENDS and point[i] in (0, len(GRIDS[name]) - 1)
    )
    return Drawn(
        asdict(chosen),
        found.trials,
        round(found.validation, 4),
        **tested(task, key[0], chosen, key[1], draw),
        ends=tuple(at_an_end) if METHODS[key[0]].noisy else (),
    )


def _by_mechanism(task: Task, key: Key, chosen: dict[str, Any]) -> float:
    """Return the accuracy of one run that draws directions and clips derivatives."""
    made = Choice(**chosen).made(task, *key)
    assert made
    (point,) = frontier(plan=SweepPlan(task, (made,), (0,), Accounting())).points
    return point.mean("accuracy")


def tested(task: Task, method: str, chosen: Choice, target: float, seed: int) -> dict[str, float]:
    """Simulate several runs, and return means on the test records: the accuracy of last iterates,
    that of tail averages, and the loss of last iterates.
    """
    n = len(task.data.X)
    run = Run(
        chosen,
        multiplier(n, chosen.batch, chosen.T, target, task.delta) if METHODS[method].noisy else 0.0,
    )
    end = ended(task.data, [run] * SEEDS, seed, ridge=task.ridge, R=task.R)
    found = {
        "last": accuracy(task.data, end.last),
        "average": accuracy(task.data, end.average),
        "loss": loss(task.data, end.last),
    }
    return {name: round(fmean(values), 4) for name, values in found.items()}


def held_back(part: Part, task: Task) -> None:
    """Find the best of random settings that the search has not seen, and test it on the test
    records by simulated runs.
    """
    known = part.made.setdefault("control", {})
    for key in (
        (method, target) for method in COMPARED if METHODS[method].noisy for target in CONTROLLED
    ):
        if (name := f"{key[0]} at {key[1]:g}") in known:
            continue
        with part.spending():
            best = control(task, key, CONTROL, HELD_BACK).finalists[0]
            known[name] = tested(
                task, key[0], choice(task, key[0], best, len(task.data.X)), key[1], HELD_BACK
            )["last"]
        print(f"{task.name}: control, {name}: {known[name]:.3f}", flush=True)


def study(part: Part, made_by: Iterable[Callable[[], list[Series]]]) -> None:
    """Make the lines of a study, and keep each once it is made."""
    known = part.made.setdefault("series", {})
    for make in made_by:
        if make.__name__ not in known:
            with part.spending():
                known[make.__name__] = [asdict(series) for series in make()]
            print(f"{part.path.stem}: {make.__name__}, {part.made['seconds']:.0f} s", flush=True)


def point_of(task: Task, key: Key, draws: list[Drawn]) -> Point:
    """Return the point that has the simulated accuracies of all draws, and the run of the draw with
    the best validation.
    """
    method, target = key
    chosen = Choice(**max(draws, key=lambda drawn: drawn.validation).choice)
    made = chosen.made(task, method, target)
    assert made
    known = privacy(task, made, (chosen.T,), Accounting())
    s = made.setting
    return Point(
        method,
        s.sigma if made.noisy else 0.0,
        s,
        tuple(range(len(draws))),
        (s.T,),
        tuple((drawn.last,) for drawn in draws),
        tuple((drawn.loss,) for drawn in draws),
        {bound: charge.reason for bound, charge in known.items()},
        {bound: charge.along for bound, charge in known.items()},
        target=target if target < inf else None,
        counted={bound: charge.counted for bound, charge in known.items()},
        tested=len(task.data.X_test),
    )


def gathered(folder: Path, out: Path | None = None) -> Studies:
    """Return all results, with those of the parts in a folder in place of earlier ones."""
    try:
        found = load(out)
    except OSError:
        found = Studies()
    for task in COMPARED_ON:
        part, points, tuning = Part.open(folder, task), list[Point](), dict[str, list[Drawn]]()
        results = part.made.get("results", {})
        for key in keys(task):
            names = [name for name in results if name.startswith(f"{key[0]} at {key[1]:g},")]
            if draws := [of_json(Drawn, results[name]) for name in sorted(names)]:
                tuning[f"{key[0]} at {key[1]:g}"] = draws
                points.append(point_of(TASKS[task], key, draws))
        if points:
            made = Frontier(
                task,
                tuple(points),
                Accounting(),
                TASKS[task].delta,
                versions("torch", "scikit-learn"),
            )
            trials = [draw.trials for draws in tuning.values() for draw in draws]
            seconds = round(
                sum(Part.open(folder, name).made["seconds"] for name in (task, *_draws(task)))
            )
            found.finished[task] = Finished(
                made, part.made["date"], seconds, (min(trials), max(trials))
            )
            found.tuning[task] = tuning
        if part.made.get("control"):
            found.control[task] = part.made["control"]
    for name in STUDIES:
        lines = [
            of_json(Series, s)
            for of in Part.open(folder, name).made.get("series", {}).values()
            for s in of
        ]
        known = {series.study for series in lines}
        found.series[:] = [series for series in found.series if series.study not in known] + lines
    return found


def _draws(task: str) -> Iterator[str]:
    return (f"{task}-{draw}" for draw in range(DRAWS))


def main() -> None:
    """Make the comparison, or go on with it."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument(
        "parts", nargs="*", help=f"of {' '.join((*COMPARED_ON, *STUDIES))}; all where none is named"
    )
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where parts are kept")
    parser.add_argument(
        "--out", type=Path, help="a folder for both files; each has its place where none is named"
    )
    asked = parser.parse_args()
    for name in asked.parts or (*COMPARED_ON, *STUDIES):
        part = Part.open(asked.folder, name)
        if name in STUDIES:
            study(part, STUDIES[name])
            continue
        for draw, of in enumerate(_draws(name)):
            for key, found in searched(Part.open(asked.folder, of), name, draw).items():
                results(part, TASKS[name], key, found, draw)
            save(gathered(asked.folder, asked.out), asked.out)
        held_back(part, TASKS[name])
        for key in keys(name):
            if key[1] in (*CONTROLLED, inf):
                mechanism(part, TASKS[name], key)
    save(gathered(asked.folder, asked.out), asked.out)
    if asked.out is None:
        figures.main()


if __name__ == "__main__":
    main()
