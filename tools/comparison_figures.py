"""Draws the finished comparison of methods, and the studies of one number each, with Matplotlib."""

from collections.abc import Sequence
from math import ceil, floor, isnan, log10, nan, sqrt
from statistics import fmean, stdev
from typing import NamedTuple

from matplotlib.figure import Figure

from benchmarks.comparison.kept import Series
from zoexplore.methods import look_of, ranked
from zoexplore.palette import LIGHT, PINS
from zoexplore.run.formatting import format_count, format_short
from zoexplore.training import METHODS, Frontier, Point

MARKERS = {  # the marker of a method's look -> Matplotlib's
    "circle": "o",
    "square": "s",
    "triangle": "^",
    "diamond": "D",
    "inverted_triangle": "v",
    "hex": "h",
    "star": "*",
    "plus": "P",
}
STUDIES = {
    "horizon-epsilon": ("steps T", "ε", True, True),
    "horizon-objective": ("steps T", "excess of the objective, share of the start's", True, True),
    "horizon-batches": (
        "steps T on batches of a tenth",
        "excess of the objective, share of the start's",
        True,
        True,
    ),
    "horizon-accuracy": ("steps T", "accuracy on held-out data", True, False),
    "horizon-passes": (
        "forward passes through the data",
        "excess of the objective, share of the start's",
        True,
        True,
    ),
    "horizon-memory": (
        "numbers that a step keeps",
        "excess of the objective, share of the start's",
        True,
        True,
    ),
    "ablation-directions": ("directions K", "accuracy on held-out data", True, False),
    "ablation-kind": ("directions K", "accuracy on held-out data", True, False),
    "ablation-share": (
        "directional share of the noise β",
        "accuracy on held-out data",
        False,
        False,
    ),
    "ablation-clip": (
        "clip of a gradient, in units of its Lipschitz constant",
        "accuracy on held-out data",
        True,
        False,
    ),
}  # what the two axes show, and whether each is logarithmic


class Line(NamedTuple):
    """A line of a figure: means and standard errors, which may be nan, at points of the x axis."""

    name: str
    colour: str
    marker: str
    x: Sequence[float]
    y: Sequence[float]
    error: Sequence[float]
    dash: str = "-"


def comparison(frontier: Frontier) -> Figure:
    """Draw accuracy against epsilon by each method's best account. A method without noise has a
    level line.
    """
    targets, drawn = sorted({p.target for p in frontier.points if p.target is not None}), []
    for method, points in ranked(frontier).items():
        look, own = look_of(method), METHODS[method].noisy
        shown = points if own else [points[-1]] * 2
        x = [p.epsilon[p.by] for p in points] if own else [targets[0], targets[-1]]
        y, error = ([of(p) for p in shown] for of in (_accuracy, _error))
        mark, dash = (look.marker, "-") if own else ("", "--")
        drawn.append(Line(look.short, look.colour[LIGHT], mark, x, y, error, dash))
    delta = format_short(frontier.delta)
    titles = f"ε at δ = {delta}", "accuracy on held-out data"
    return figure(drawn, titles, (True, False), [(at, f"{at:g}") for at in targets])


def _accuracy(point: Point) -> float:
    return point.mean("accuracy")


def _error(point: Point) -> float:
    return point.error("accuracy")


def study(found: Sequence[Series]) -> Figure:
    """Draw the lines of one study: means over seeds, and one standard error.

    Args:
        found: the series, all of the same `study`, which is a key of `STUDIES`.
    """
    across, up, logx, logy = STUDIES[found[0].study]
    drawn = []
    for series, (colour, _), marker in zip(found, PINS, MARKERS, strict=False):
        several = len(series.values[0]) > 1
        errors = [stdev(each) / sqrt(len(each)) if several else nan for each in series.values]
        means = [fmean(each) for each in series.values]
        look = series.label, colour, marker if several else ""
        drawn.append(Line(*look, series.x, means, errors))
    ticks = few_ticks([at for series in found for at in series.x]) if logx else []
    return figure(drawn, (across, up), (logx, logy), ticks)


def figure(
    lines: Sequence[Line],
    titles: tuple[str, str],
    logs: tuple[bool, bool],
    ticks: Sequence[tuple[float, str]],
) -> Figure:
    """Draw lines with error bars.

    Args:
        lines: the lines.
        titles: what the x axis shows, and what the y axis shows.
        logs: whether each of the two is logarithmic.
        ticks: the places and texts of the x axis's ticks; the usual ticks if empty.
    """
    drawn = Figure(figsize=(7.0, 4.4), layout="constrained")
    axes = drawn.add_subplot()
    for line in lines:
        axes.errorbar(
            line.x,
            line.y,
            None if isnan(line.error[-1]) else line.error,
            color=line.colour,
            marker=MARKERS.get(line.marker, ""),
            linestyle=line.dash,
            label=line.name,
        )
    axes.set(xlabel=titles[0], ylabel=titles[1])
    if logs[0]:
        axes.set_xscale("log")
    if logs[1]:
        axes.set_yscale("log")
    if ticks:
        axes.set_xticks([at for at, _ in ticks], [text for _, text in ticks])
        axes.minorticks_off()
    axes.grid(alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, fontsize=9)
    return drawn


def few_ticks(values: Sequence[float]) -> list[tuple[float, str]]:
    """Return ticks at 1, 2 and 5 times powers of ten if the values span less than two decades,
    where a logarithmic axis would label all nine multiples.
    """
    least, most = min(values), max(values)
    steps = (
        times * 10**power
        for power in range(floor(log10(least)), ceil(log10(most)) + 1)
        for times in (1, 2, 5)
    )
    return (
        [(x, format_count(x)) for x in steps if least <= x <= most]
        if 1 <= least and most < 100 * least
        else []
    )
