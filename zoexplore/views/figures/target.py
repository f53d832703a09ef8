"""The figure of a plan: epsilon against the field that is solved for, both ways of publishing, the
target, and the runs.
"""

from math import inf
from typing import Any

import numpy as np

from zoexplore.bounds.words import Style
from zoexplore.compute.computations import CurveSet
from zoexplore.run.axes import AXES, whole_decades
from zoexplore.run.formatting import format_delta, format_short
from zoexplore.run.setting import Setting
from zoexplore.views.figures.chart import Chart, dot, field_span, level, line, log_span
from zoexplore.views.figures.pins import least
from zoexplore.views.style import theme

YOURS = Style(theme.COLOURS["accent"], (), 2.0)
WAYS = {"last": theme.style_of("sharp"), "every": theme.style_of("composition")}


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
    x, ways = (
        axis.place(curves.values),
        {"last": least(curves, bound), "every": curves.epsilon["composition"]},
    )
    at = {
        name: (float(axis.place(getattr(run, field))), e)
        for name, (run, e) in runs.items()
        if getattr(run, field) is not None
    }
    epsilons = [e for e in (target, *(e for _, e in at.values())) if 0 < e < inf] or [1.0]
    low, high = whole_decades(epsilons, 1)
    seen = [p for y in ways.values() for p in x[(y >= low) & (y <= high)]] + [
        p for p, _ in at.values()
    ]
    seen = [p for p in seen if 0 < p < inf]
    ends = whole_decades(seen) if seen and not axis.linear else axis.frame(setting)
    same = np.array_equal(ways["last"], ways["every"])  # then one name is enough
    names = {
        "last": "either way" if same else "only the last",
        "every": "" if same else "every step",
    }
    lines = [
        line(name, x, ways[name], style, names[name], aloud=True, inside=True)
        for name, style in WAYS.items()
    ]
    dots = [
        dot(name, *at[name], YOURS if name == "yours" else WAYS[name], **_look(name)) for name in at
    ]
    drop = (
        [line("drop", [at["last"][0]] * 2, [low, at["last"][1]], WAYS["last"], reads=False)]
        if "last" in at
        else []
    )
    chart.lines = [*lines, *({**each, "width": 1.6} for each in drop)]
    delta = format_delta(setting.delta)
    goal = (
        [level(target, f"target ε = {format_short(target, 4)}", theme.COLOURS["accent"])]
        if low < target < high
        else []
    )
    chart.draws = f'plots.curves(setting, "{field}", accounting=accounting)'
    chart.put(
        f"ε at δ = {delta}",
        f"ε against {axis.title}, and the target {format_short(target, 4)}",
        field_span(axis, ends),
        log_span(low, high),
        dots=dots,
        levels=goal,
        values=curves.values,
    )


def _look(name: str) -> dict[str, Any]:
    return (
        {"size": 6, "name": "your run", "hollow": True}
        if name == "yours"
        else {"size": 6, "hollow": name == "every"}
    )
