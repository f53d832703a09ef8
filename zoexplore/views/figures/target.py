"""The figure of a plan: epsilon against the field that is solved for, both ways of publishing, the
target, and the runs.
"""

from dataclasses import replace
from math import inf

import numpy as np

from zoexplore.bounds.words import Style
from zoexplore.compute.computations import CurveSet
from zoexplore.run.axes import AXES, whole_decades
from zoexplore.run.formatting import format_delta, format_short
from zoexplore.run.setting import Setting
from zoexplore.views.figures.chart import Chart, dot, field_span, level, line, log_span
from zoexplore.views.figures.pins import least
from zoexplore.views.figures.publish import NAMES, STYLES
from zoexplore.views.style import theme

WAYS = STYLES | {"yours": Style(theme.COLOURS["accent"], (), 2.0)}
DROP = replace(STYLES["last"], width=1.6)


def draw(
    chart: Chart,
    field: str,
    bound: str,
    target: float,
    curves: CurveSet,
    runs: dict[str, tuple[Setting, float]],
) -> None:
    """Draw a plan.

    Args:
        chart: where.
        field: the one that is solved for, along which the curves run.
        bound: by which the last model alone is counted; empty for the least that applies.
        target: epsilon.
        curves: of the current run.
        runs: the run of the sliders as "yours", and those that meet the target, as "last" and
            "every": each with its epsilon.
    """
    axis, setting = AXES[field], runs["yours"][0]
    x, last, every = axis.place(curves.values), least(curves, bound), curves.epsilon["composition"]
    at = {
        name: (float(axis.place(value)), e)
        for name, (run, e) in runs.items()
        if (value := getattr(run, field)) is not None
    }
    epsilons = [e for e in (target, *(e for _, e in at.values())) if 0 < e < inf] or [1.0]
    low, high = whole_decades(epsilons, 1)
    seen = [*(p for p, _ in at.values())]
    for y in (last, every):
        seen += [*x[(y >= low) & (y <= high)]]
    seen = [p for p in seen if 0 < p < inf]
    ends = whole_decades(seen) if seen and not axis.linear else axis.frame(setting)
    same = np.array_equal(last, every)  # then one name is enough
    names = {"last": "either way", "every": ""} if same else NAMES
    chart.lines = [
        line(name, x, y, WAYS[name], names[name], aloud=True, inside=True)
        for name, y in (("last", last), ("every", every))
    ]
    if "last" in at:
        x, e = at["last"]
        chart.lines = [*chart.lines, line("drop", [x, x], [low, e], DROP, reads=False)]
    dots = [
        dot(name, *place, WAYS[name], size=6, hollow=name != "last") for name, place in at.items()
    ]
    named = [each | {"name": "your run"} if each["key"] == "yours" else each for each in dots]
    goal = f"target ε = {format_short(target, 4)}"
    levels = [level(target, goal, theme.COLOURS["accent"])] if low < target < high else []
    chart.draws = f'plots.curves(setting, "{field}", accounting=accounting)'
    chart.put(
        f"ε at δ = {format_delta(setting.delta)}",
        f"ε against {axis.title}, and the target {format_short(target, 4)}",
        field_span(axis, ends),
        log_span(low, high),
        dots=named,
        levels=levels,
        values=curves.values,
    )
