"""Draws the finished comparison: `python -m tools.comparison` writes its figures into docs/, one
table into docs/training.md and all tables into build/comparison.md.

The site has all tables on a page of their own.
"""

import re
from collections.abc import Iterable, Sequence
from math import isnan, sqrt
from pathlib import Path
from statistics import fmean, stdev

import matplotlib

from benchmarks.comparison.kept import Series, Studies, load
from tools.comparison_figures import STUDIES, comparison, study
from zoexplore.bounds import BOUNDS
from zoexplore.methods import look_of, ranked
from zoexplore.run.formatting import format_count, format_number, format_short
from zoexplore.training import METHODS, TASKS, Frontier, Point
from zoexplore.training.comparison import Finished
from zoexplore.views.training.compared import PUBLISHED

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PRINTED = "mnist"  # the task whose table stands in docs/training.md
HEAD = (
    "Methods at a fixed ε; [training](training.md#methods-at-a-fixed-ε) says how they are compared. Every method is charged for "
    "one record's gradient, by the best of its sound accounts:"
)
ACCOUNTS = (
    (
        "the joint clip",
        "always",
        "a record's K derivatives are shortened together to length C, so it moves a step by at most (η/K) C/n; on all records "
        "of a loss whose smoothness is proved, [the sharper bound](joint.md) counts it too",
    ),
    (
        "Poisson batches",
        "with a batch",
        "the same at C/b, for every record with chance b/n: the [exact privacy-loss distribution](batches.md#exact-conversion), "
        "the larger of its two orders",
    ),
    (
        "the Lipschitz constant",
        "C is at least the proved one, on all records",
        "the clip never acts; random directions see about √(K/d) of a gradient ([bounds](bounds.md#1-the-mechanism)), and the "
        "hidden-state bounds apply",
    ),
)

CHOSEN: dict[str, str] = {  # fields of a run, and the words for None
    "K": "",
    "T": "",
    "batch": "all",
    "clip": "",
    "rate": "",
    "beta": "",
    "ridge": "the task's",
    "R": "the task's",
}


def how(found: Finished) -> str:
    """Say how a task's results were made."""
    frontier, (least, most) = found.frontier, found.trials
    libraries = [f"{name} {frontier.versions[name]}" for name in ("zoexplore", "torch", "numpy")]
    draws = max(len(p.seeds) for p in frontier.points)
    times = {1: "once", 2: "twice"}.get(draws, f"{draws} times")
    return (
        f"Made {found.date[:10]} by python -m benchmarks.comparison in {found.seconds / 60:.0f} minutes of processor time "
        f"({', '.join(libraries)}). Each method was tuned {times} for each ε, on the same grids, with {least} to "
        f"{most} trials each, judged on parts of the training records. ε does not cover the price of tuning. "
        f"Accuracy is the mean of several simulated runs (benchmarks/comparison/law.py); bars are one standard error, the test "
        f"records' included. ε is for one record more or less. Data: {TASKS[frontier.task].licence}. "
        f"{PUBLISHED.get(frontier.task, '')}"
    )


def describe_frontier(frontier: Frontier) -> str:
    """Say in a sentence how accurate every method is at the middle epsilon."""
    targets = sorted({p.target for p in frontier.points if p.target is not None})
    middle = targets[len(targets) // 2]
    points = [p for found in ranked(frontier).values() for p in found if p.target in (middle, None)]
    said = (f"{look_of(p.method).short} {p.mean('accuracy'):.3f}" for p in points)
    return f"Accuracy at ε = {format_short(middle)}: {', '.join(said)}."


def passes(point: Point) -> float:
    """Count the forward passes of single records in all steps: two for a direction, or three for a
    gradient, whose backward pass counts as two.
    """
    run = point.setting
    each = 3 if METHODS[point.method].every_direction else 2 * run.K
    return each * run.T * (run.batch or run.n)


def kept(point: Point) -> float:
    """Count the numbers that a clipped step keeps of a record, without activations: the d numbers
    of a gradient, or K quotients.
    """
    return point.setting.K


def main() -> None:
    """Write the figures and the tables."""
    found, page = load(), ROOT / "build" / "comparison.md"
    page.parent.mkdir(exist_ok=True)
    page.write_text(written(found), encoding="utf-8")
    by_name: dict[str, list[Series]] = {}
    for series in found.series:
        by_name.setdefault(series.study, []).append(series)
    with matplotlib.rc_context({"svg.fonttype": "none"}):  # text, searchable and small
        for task, one in found.finished.items():
            comparison(one.frontier).savefig(DOCS / f"comparison-{task}.svg")
        for name, of in by_name.items():
            study(of).savefig(DOCS / f"study-{name}.svg")
    _put(accuracies(found.finished[PRINTED].frontier), f"comparison-{PRINTED}.svg")


def _put(table: str, figure: str) -> None:
    """Put a table into docs/training.md, in place of the first table after a figure."""
    page = DOCS / "training.md"
    before, name, after = page.read_text(encoding="utf-8").partition(figure)
    page.write_text(
        before + name + re.sub(r"(^\|.*\n)+", lambda _: table + "\n", after, count=1, flags=re.M),
        encoding="utf-8",
    )


def written(found: Studies) -> str:
    """Return the page with every comparison, study, task and method."""
    parts = ["# The comparison in full", HEAD, _table(("account", "when", "what it is"), ACCOUNTS)]
    for task, one in found.finished.items():
        frontier = one.frontier
        parts += [
            f"## {TASKS[task].title}",
            f"![Accuracy against ε on {task}](comparison-{task}.svg)",
            describe_frontier(frontier),
            accuracies(frontier),
            costs(frontier),
            how(one),
            chosen(found, task),
            *([held_back(found, task)] if task in found.control else []),
        ]
    parts += ["## Studies", *studies(found)] if found.series else []
    parts += ["## Tasks", _table(("key", "data", "model", "ridge"), tasks())]
    parts += [
        "## Methods",
        _table(
            ("key", "what it does"), [(method.name, method.summary) for method in METHODS.values()]
        ),
    ]
    return "\n\n".join(parts) + "\n"


def tasks() -> list[tuple[str, ...]]:
    """Return a row for each task of the package."""
    return [(t.name, t.summary, t.model, format_number(t.ridge)) for t in TASKS.values()]


def spread(point: Point) -> str:
    """Write the mean accuracy, with its standard error if known."""
    mean, error = point.mean("accuracy"), point.error("accuracy")
    return f"{mean:.3f}" + ("" if isnan(error) else f" ± {error:.3f}")


def accuracies(frontier: Frontier) -> str:
    """Return the table of accuracies: a row for each method, a column for each epsilon."""
    targets = sorted({p.target for p in frontier.points if p.target is not None})
    rows = []
    for method in dict.fromkeys(p.method for p in frontier.points):
        points = {p.target: p for p in frontier.points if p.method == method}
        cells = (
            [spread(points[t]) if t in points else "" for t in targets]
            if None not in points
            else [""] * len(targets)
        )
        last = spread(points[None]) if None in points else ""
        rows.append((METHODS[method].title, *cells, last))
    return _table(("accuracy", *(f"ε = {format_number(t)}" for t in targets), "ε = ∞"), rows)


def costs(frontier: Frontier) -> str:
    """Return the table of each method's choices and costs at the middle epsilon."""
    targets = sorted({p.target for p in frontier.points if p.target is not None})
    detail, rows = targets[len(targets) // 2], []
    for p in frontier.points:
        if p.target in (None, detail):
            run = p.setting
            batch = format_count(run.batch) if run.batch else "all"
            by = f"{BOUNDS[p.by].title}: {p.counted[p.by]}" if p.by else "–"
            rows.append(
                (
                    METHODS[p.method].title,
                    by,
                    format_count(run.K),
                    format_count(run.T),
                    batch,
                    f"{passes(p):.2g}",
                    format_count(int(kept(p))),
                )
            )
    head = (
        f"chosen at ε = {format_number(detail)}",
        "counted by",
        "K",
        "T",
        "batch",
        "forward passes",
        "kept of a record",
    )
    return _table(head, rows)


def chosen(found: Studies, task: str) -> str:
    """Return the table of every draw's choices, and of the accuracy of its tail averages."""
    head = (
        "method",
        "trials of a draw",
        "K",
        "T",
        "batch",
        "clip",
        "η/K",
        "β",
        "ridge",
        "R",
        "on validation",
        "last iterates",
        "tail averages",
        "gain",
        "a run of the mechanism",
    )
    rows = []
    for key, draws in found.tuning[task].items():
        listed = [
            _listed(usual if draw.choice[name] is None else draw.choice[name] for draw in draws)
            for name, usual in CHOSEN.items()
        ]
        last, average = ([getattr(draw, name) for draw in draws] for name in ("last", "average"))
        gains = [b - a for a, b in zip(last, average, strict=True)]
        validation = [draw.validation for draw in draws]
        numbers = (validation, last, average, gains)
        by_mechanism = _listed(draw.mechanism for draw in draws if draw.mechanism is not None)
        rows.append(
            (
                key,
                _listed(draw.trials for draw in draws),
                *listed,
                *(mean(values) for values in numbers),
                by_mechanism,
            )
        )
    return _table(head, rows)


def held_back(found: Studies, task: str) -> str:
    """Return the table of the best random settings beside the chosen ones, both simulated on the
    test records.
    """
    rows = []
    for key, other in found.control[task].items():
        ours = [draw.last for draw in found.tuning[task].get(key, ())]
        if ours:
            rows.append((key, f"{other:.3f}", mean(ours)))
    return _table(("", "best of 50 random settings", "what was chosen"), rows)


def studies(found: Studies) -> list[str]:
    """Return each study as a figure and a table."""
    parts = []
    for name in dict.fromkeys(series.study for series in found.series):
        of = [series for series in found.series if series.study == name]
        heads = dict.fromkeys(x for series in of for x in series.x)
        if len(of[0].values[0]) > 1:
            at = {series.label: dict(zip(series.x, series.values, strict=True)) for series in of}
            rows = [
                (label, *(mean(values[x], 2) if x in values else "" for x in heads))
                for label, values in at.items()
            ]
            shown = [_table((STUDIES[name][0], *(format_number(x) for x in heads)), rows)]
        else:
            shown = []
        parts += [f"![{STUDIES[name][1]} over {STUDIES[name][0]}](study-{name}.svg)", *shown]
    return parts


def _listed(values: Iterable[float | str]) -> str:
    return ", ".join(
        value if isinstance(value, str) else format_short(value, 3) for value in values
    )


def mean(values: Sequence[float], digits: int = 0) -> str:
    """Write the mean of values, with its standard error if there are several. The mean has three
    decimals, or `digits` significant digits.
    """
    shown = f"{fmean(values):.{digits}g}" if digits else f"{fmean(values):.3f}"
    if len(values) == 1:
        return shown
    error = stdev(values) / sqrt(len(values))
    return f"{shown} ± {error:.1g}" if digits else f"{shown} ± {error:.3f}"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


if __name__ == "__main__":
    main()
