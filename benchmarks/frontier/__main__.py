"""Makes the comparison that the page opens with, and the studies beside it, by one command.

    python -m benchmarks.frontier

Every part keeps its results in a folder and continues from there, so it may be stopped at any time: searches after each
round, results after each setting. `zoexplore/training/comparison.json` is written from what there is, with
the number of trials that they had. `zoexplore.training.finished.load` reads it.
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

import numpy as np

from benchmarks.frontier import ablations, horizons
from benchmarks.frontier.law import Run, accuracy, ended, loss
from benchmarks.frontier.search import ENDS, GRIDS, Cell, Key, Search, choice, judged, multiplier, mutant
from zoexplore.run.saving import write
from zoexplore.run.setting import Accounting
from zoexplore.training.aims import Choice, aimed
from zoexplore.training.engine import one_thread
from zoexplore.training.finished import FILE, Comparison, Drawn, Series, of_json, save
from zoexplore.training.methods import COMPARED, METHODS
from zoexplore.training.plans import NOISE_SEED
from zoexplore.training.points import versions
from zoexplore.training.privacy import privacy
from zoexplore.training.results import Frontier, Point
from zoexplore.training.sweeps import frontier
from zoexplore.training.tasks import TASKS, Task

FOLDER = Path("build/comparison")
TARGETS = (0.5, 1.0, 2.0, 4.0, 8.0)
COMPARED_ON = {"digits-cosines": TARGETS, "mnist": TARGETS}
STUDIES: dict[str, tuple[Callable[[], list[Series]], ...]] = {
    "horizons": (horizons.epsilons, horizons.over_memory, horizons.over_steps),
    "ablations": (ablations.directions, ablations.shares, ablations.clips),
}
DRAWS = 2  # of the whole tuning
ROUNDS = 12  # of each
SEEDS = 4  # of a result in law
CONTROL = 50  # random settings of a method, held back
CONTROLLED = (2.0, 8.0)  # epsilons, at which the mechanism itself is run too
HELD_BACK = 999  # the split and the seed that they have


def keys(task: str) -> list[Key]:
    """Methods and epsilons that are compared on a task."""
    return [(method, target) for method in COMPARED for target in (COMPARED_ON[task] if METHODS[method].noisy else (inf,))]


@dataclass
class Part:
    """A part's file: what it has, when it was last worked on, and the processor time that it took."""

    path: Path
    made: dict[str, Any]

    @classmethod
    def open(cls, folder: Path, name: str) -> "Part":
        path = folder / f"{name}.json"
        return cls(path, json.loads(path.read_text()) if path.exists() else {"seconds": 0.0, "date": ""})

    @contextmanager
    def spending(self) -> Iterator[None]:
        """Around some work: what it made is kept."""
        began = process_time()
        with one_thread():
            yield
        self.made["seconds"] += process_time() - began
        self.made["date"] = datetime.now(UTC).isoformat(timespec="minutes")
        self.keep()

    def keep(self) -> None:
        """Write the file."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        write(self.path, json.dumps(self.made).encode())


def searched(part: Part, task: str, draw: int) -> Search:
    """A search as its file has it."""
    found = Search(TASKS[task], keys(task), draw, part.made.get("rounds", 0))
    for method, target, points in part.made.get("cells", ()):
        found.cells[method, target] = Cell({tuple(p): a for p, a, _ in points}, {tuple(p): b for p, _, b in points})
    return found


def search(part: Part, task: str, draw: int, rounds: int) -> None:
    """Continue to this number of rounds."""
    found = searched(part, task, draw)
    while found.rounds < rounds:
        with part.spending():
            found.go_on()
            if found.rounds == rounds:
                found.settle()
            cells = [[*key, [[p, a, cell.averaged[p]] for p, a in cell.trials.items()]] for key, cell in found.cells.items()]
            part.made |= {"rounds": found.rounds, "cells": cells}
        print(f"{task}, draw {draw}: round {found.rounds}, {part.made['seconds']:.0f} s", flush=True)


def results(part: Part, task: Task, searches: list[Search]) -> None:
    """What was chosen, on the test part: in law, several seeds each; of the best validation a run of the mechanism too."""
    known = part.made.setdefault("results", {})
    names: dict[Key, list[str]] = {}
    for key in ordered(searches[0].keys):
        for found in (one for one in searches if key in one.cells):
            names.setdefault(key, []).append(name := f"{key[0]} at {key[1]:g}, draw {found.draw}")
            chosen = _chosen(task, key, found.cells[key])
            if known.get(name, {}).get("choice") != chosen:
                with part.spending():
                    known[name] = {"choice": chosen, "drawn": asdict(_drawn(task, key, found))}
                print(f"{task.name}: {name}: {known[name]['drawn']['last']:.3f}", flush=True)
            cell = found.cells[key]
            known[name]["drawn"] |= {"trials": cell.tried, "validation": round(fmean(cell.trials[cell.chosen]), 4)}
    part.keep()
    for of in names.values():
        of.sort(key=lambda name: -known[name]["drawn"]["validation"])
    for key, (best, *_) in names.items():
        if key[1] in (*CONTROLLED, inf) and (drawn := known[best]["drawn"])["mechanism"] is None:
            with part.spending():
                drawn["mechanism"] = _by_mechanism(task, key, drawn["choice"])
            print(f"{task.name}: {best}: {drawn['mechanism']:.3f} by the mechanism", flush=True)


def ordered(found: Iterable[Key]) -> list[Key]:
    """Those first that matter most, should the work be cut off."""
    return sorted(found, key=lambda key: (key[1] not in CONTROLLED, key[1] != 1.0))


def _chosen(task: Task, key: Key, cell: Cell) -> dict[str, Any]:
    return asdict(choice(task, key[0], cell.chosen, len(task.data.X)))


def _drawn(task: Task, key: Key, found: Search) -> Drawn:
    cell, point = found.cells[key], found.cells[key].chosen
    chosen = _chosen(task, key, cell)
    at_an_end = (name for i, name in enumerate(GRIDS) if name in ENDS and point[i] in (0, len(GRIDS[name]) - 1))
    return Drawn(
        chosen, cell.tried, round(fmean(cell.trials[point]), 4), **tested(task, key[0], Choice(**chosen), key[1], found.draw),
        ends=tuple(at_an_end) if METHODS[key[0]].noisy else (),
    )  # fmt: skip


def _by_mechanism(task: Task, key: Key, chosen: dict[str, Any]) -> float:
    """The accuracy of one run with directions that are drawn and derivatives that are clipped."""
    aims = (key[1],) if METHODS[key[0]].noisy else (1.0,)
    (point,) = frontier(task=task, methods=(key[0],), epsilons=aims, choices={key: Choice(**chosen)}, seeds=(0,)).points
    return point.mean("accuracy")


def tested(task: Task, method: str, chosen: Choice, target: float, seed: int) -> dict[str, float]:
    """On the test part, in law, the mean of several runs: accuracy of last iterates and of tail averages, loss of the former."""
    n = len(task.data.X)
    run = Run(chosen, multiplier(n, chosen.batch, chosen.T, target, task.delta) if METHODS[method].noisy else 0.0)
    end = ended(task.data, [run] * SEEDS, seed, ridge=task.ridge, R=task.R)
    found = {
        "last": accuracy(task.data, end.last),
        "average": accuracy(task.data, end.average),
        "loss": loss(task.data, end.last),
    }
    return {name: round(fmean(values), 4) for name, values in found.items()}


def control(part: Part, task: Task) -> None:
    """The best of random settings that the search has not seen, on the test part in law."""
    known = part.made.setdefault("control", {})
    for key in ((method, target) for method in COMPARED if METHODS[method].noisy for target in CONTROLLED):
        if (name := f"{key[0]} at {key[1]:g}") in known:
            continue
        with part.spending():
            rng = np.random.default_rng([HELD_BACK, COMPARED.index(key[0]), int(key[1])])
            points = [mutant(key[0], (), (), rng) for _ in range(CONTROL)]
            right = [last for last, _ in judged(task, [(key, point) for point in points], HELD_BACK, HELD_BACK)]
            best = choice(task, key[0], points[int(np.argmax(right))], len(task.data.X))
            known[name] = tested(task, key[0], best, key[1], HELD_BACK)["last"]
        print(f"{task.name}: control, {name}: {known[name]:.3f}", flush=True)


def study(part: Part, made_by: Iterable[Callable[[], list[Series]]]) -> None:
    """The lines of a study, kept one after the other."""
    known = part.made.setdefault("series", {})
    for make in made_by:
        if make.__name__ not in known:
            with part.spending():
                known[make.__name__] = [asdict(series) for series in make()]
            print(f"{part.path.stem}: {make.__name__}, {part.made['seconds']:.0f} s", flush=True)


def point_of(task: Task, key: Key, draws: list[Drawn]) -> Point:
    """One point of all draws, as accurate as they are in law; its run is that of the draw with the best validation."""
    method, target = key
    chosen = Choice(**max(draws, key=lambda drawn: drawn.validation).choice)
    made = aimed(task, method, chosen, target if target < inf else 1.0, Accounting())
    assert made
    known = privacy(task, made, (chosen.T,), Accounting())
    s = made.setting
    run = {name: float(getattr(s, name)) for name in ("n", "d", "K", "beta", "T", "eta", "clip", "ridge", "R")}
    return Point(
        method, s.sigma if made.noisy else 0.0, s if made.described else None, tuple(range(len(draws))), (s.T,),
        tuple((drawn.last,) for drawn in draws), tuple((drawn.loss,) for drawn in draws), known.epsilon,
        {bound: "" if value < inf else known.reason[bound] for bound, value in known.epsilon.items()}, known.curve,
        task.supposed, target=target if target < inf else None, counted=known.counted, tested=len(task.data.X_test),
        run=run | {"batch": float(s.batch or 0)},
    )  # fmt: skip


def gathered(folder: Path) -> Comparison:
    """All parts that are in a folder."""
    made, points = Comparison(), dict[str, list[Point]]()
    for task in COMPARED_ON:
        part = Part.open(folder, task)
        results = part.made.get("results", {})
        for key in keys(task):
            names = [name for name in results if name.startswith(f"{key[0]} at {key[1]:g},")]
            if draws := [of_json(Drawn, results[name]["drawn"]) for name in sorted(names)]:
                made.tuning.setdefault(task, {})[f"{key[0]} at {key[1]:g}"] = draws
                points.setdefault(task, []).append(point_of(TASKS[task], key, draws))
        if task in points:
            delta = TASKS[task].delta
            made.frontiers[task] = Frontier(task, tuple(points[task]), Accounting(), delta, NOISE_SEED, versions())
            made.dates[task] = part.made["date"]
            made.seconds[task] = round(sum(Part.open(folder, name).made["seconds"] for name in (task, *_draws(task))))
        if part.made.get("control"):
            made.control[task] = part.made["control"]
    for name in STUDIES:
        part = Part.open(folder, name)
        if "series" in part.made:
            made.series.extend(of_json(Series, s) for lines in part.made["series"].values() for s in lines)
            made.dates[name], made.seconds[name] = part.made["date"], round(part.made["seconds"])
    return made


def _draws(task: str) -> Iterator[str]:
    return (f"{task}-{draw}" for draw in range(DRAWS))


def main() -> None:
    """Make the comparison, or go on with it."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("parts", nargs="*", help=f"of {' '.join((*COMPARED_ON, *STUDIES))}; all where none is named")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="of each search")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where parts are kept")
    parser.add_argument("--out", type=Path, default=FILE)
    asked = parser.parse_args()
    for name in asked.parts or (*COMPARED_ON, *STUDIES):
        part = Part.open(asked.folder, name)
        if name in STUDIES:
            study(part, STUDIES[name])
            continue
        draws = [Part.open(asked.folder, draw) for draw in _draws(name)]
        for draw, one in enumerate(draws):
            search(one, name, draw, asked.rounds)
        results(part, TASKS[name], [searched(one, name, draw) for draw, one in enumerate(draws)])
        control(part, TASKS[name])
        save(gathered(asked.folder), asked.out)
    save(gathered(asked.folder), asked.out)


if __name__ == "__main__":
    main()
