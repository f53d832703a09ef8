"""Draws the preview of a link to a run: a PNG of its epsilon and two curves. This module does not
import Panel.
"""

from io import BytesIO

import numpy as np

from zoexplore.bounds import curve, guarantee
from zoexplore.bounds.epsilons import BEST
from zoexplore.compute.cache import cached
from zoexplore.palette import COLOURS, LIGHT, hue
from zoexplore.run.axes import nice
from zoexplore.run.formatting import format_count, format_delta, format_number
from zoexplore.run.limits import LARGEST_INTEGER
from zoexplore.run.setting import Accounting, Setting

SIZE = 1200, 630  # in pixels, the usual size of a link's preview
POINTS = 80  # points of each curve
NAMES = {"composition": "every step", BEST: "only the last"}
QUESTION = "How private is a training run of which only the last step is published?"


@cached(in_background=True)
def picture(setting: Setting, accounting: Accounting) -> bytes:
    """Draw epsilon against T, with every step and with only the last published. Return the bytes of
    a PNG of `SIZE`.
    """
    from matplotlib.figure import Figure  # imported late: it is large, and only pictures need it

    end, now = min(nice(2 * setting.T), LARGEST_INTEGER), setting.T
    T = np.unique(np.append(np.linspace(1, end, POINTS).round(), now))
    found, out = curve(setting, "T", T, list(NAMES), accounting), BytesIO()
    every, last = (format_number(guarantee(setting, bound, accounting).epsilon) for bound in NAMES)
    said = f"{format_count(now)} steps, and only the last model is published. Were every step: ε = {every}"
    ink, muted, ground = (COLOURS[name][LIGHT] for name in ("ink", "muted", "surface"))
    figure = Figure(figsize=(SIZE[0] / 100, SIZE[1] / 100), dpi=100, facecolor=ground)
    figure.text(0.05, 0.9, QUESTION, size=19, color=muted)
    figure.text(0.05, 0.76, f"ε = {last}", size=54, color=hue("sharp"), family="DejaVu Serif")
    figure.text(0.05, 0.685, said, size=17, color=ink)
    axes = figure.add_axes((0.08, 0.12, 0.7, 0.5), facecolor=ground)
    for bound, name in NAMES.items():
        colour, y = hue("sharp" if bound == BEST else bound), np.ma.masked_invalid(found[bound])
        axes.plot(T, y, "o-", color=colour, linewidth=4, markersize=11, markevery=T == now)
        if np.isfinite(found[bound][-1]):
            axes.text(T[-1], y[-1], f"  {name}", color=colour, size=17, va="center")
    delta = format_delta(setting.delta)
    axes.set(xlim=(0, end), ylim=(0, None), xlabel="T, training steps", ylabel=f"ε at δ = {delta}")
    axes.tick_params(colors=muted)
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(out, format="png")
    return out.getvalue()
