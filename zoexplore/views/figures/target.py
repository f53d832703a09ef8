"""The figure of a plan: epsilon against the field that is solved for, with both ways of publishing,
the target and the runs.
"""

from math import inf

import numpy as np

from zoexplore.bounds.words import Style
from zoexplore.compute.computations import CurveSet
from zoexplore.palette import COLOURS
from zoexplore.run.axes import AXES, whole_decades
from zoexplore.run.formatting import format_delta, format_short
from zoexplore.run.setting import Setting
from zoexplore.views.figures.chart import Chart, dot, field_span, line, span
from zoexplore.views.figures.pins import least
from zoexplore.views.figures.publish import NAMES, STYLES

WAYS = STYLES | {"yours": Style(COLOURS["accent"], (), 2.0)}


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
        chart: the chart to draw in.
        field: the field that is solved for, along which the curves run.
        bound: the bound that counts the last model alone; empty for the least that applies.
        target: the epsilon to meet.
        curves: the current run's curves.
        runs: runs with their epsilons: the sliders' run as "yours", and the runs that meet the
            target as "last" and "every".
    """
    axis, setting = AXES[field], runs["yours"][0]
    x = axis.place(curves.values)
    y = {"last": least(curves, bound), "every": curves.epsilon["composition"]}
    dots = [
        dot(name, axis.place(value), e, WAYS[name], size=6, hollow=name != "last")
        for name, (run, e) in runs.items()
        if (value := getattr(run, field)) is not None
    ]
    epsilons = [e for e in (target, *(each["y"] for each in dots)) if 0 < e < inf]
    low, high = whole_decades(epsilons, 1)
    seen = [each["x"] for each in dots]
    for values in y.values():
        seen += [*x[(values >= low) & (values <= high)]]
    seen = [place for place in seen if 0 < place < inf]
    # one name is enough if both curves are the same
    names = {"last": "either way", "every": ""} if np.array_equal(*y.values()) else NAMES
    named = {"aloud": True, "inside": True}
    chart.lines = [line(key, x, y[key], WAYS[key], names[key], **named) for key in y]
    goal, (light, dark) = f"target ε = {format_short(target, 4)}", COLOURS["accent"]
    chart.draws = f'plots.curves(setting, "{field}", accounting=accounting)'
    chart.put(
        f"ε at δ = {format_delta(setting.delta)}",
        f"ε against {axis.title}, and the {goal}",
        field_span(axis, whole_decades(seen) if seen and not axis.linear else axis.frame(setting)),
        span(low, high, log=True),
        dots=[each | {"name": "your run" * (each["key"] == "yours")} for each in dots],
        levels=[{"y": target, "name": goal, "light": light, "dark": dark}],
        values=curves.values,
    )
