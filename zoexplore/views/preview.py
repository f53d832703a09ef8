"""The picture of a run for who is sent a link to it: its number and its two curves, as PNG. No Panel here."""

from io import BytesIO
from typing import Any

import numpy as np

from zoexplore.bounds import curve, guarantee
from zoexplore.bounds.guarantee import BEST
from zoexplore.compute.cache import cached
from zoexplore.palette import COLOURS, LIGHT, hue
from zoexplore.run.axes import nice
from zoexplore.run.formatting import format_count, format_delta, format_number
from zoexplore.run.setting import LARGEST_INTEGER, Accounting, Setting

SIZE = 1200, 630  # pixels, as those who show links ask for
POINTS = 80  # of a curve
QUESTION = "How private is a training run of which only the last step is published?"


@cached(in_background=True)
def picture(setting: Setting, accounting: Accounting) -> bytes:
    """A PNG of `SIZE`: epsilon with every step published and with only the last, against T."""
    from matplotlib import rc_context  # large, and only for pictures
    from matplotlib.figure import Figure

    end = min(nice(2 * setting.T), LARGEST_INTEGER)
    T = np.unique(np.append(np.linspace(1, end, POINTS).round(), setting.T))
    both = {"composition": "every step", BEST: "only the last"}
    found = curve(setting, "T", T, list(both), accounting)
    ink, muted, ground = (COLOURS[name][LIGHT] for name in ("ink", "muted", "surface"))
    with rc_context({"font.family": "DejaVu Sans", "axes.edgecolor": muted, "xtick.color": muted, "ytick.color": muted}):
        figure = Figure(figsize=(SIZE[0] / 100, SIZE[1] / 100), dpi=100, facecolor=ground)
        figure.text(0.05, 0.9, QUESTION, size=19, color=muted)
        figure.text(0.05, 0.76, f"ε = {_number(setting, BEST, accounting)}", size=54, color=hue("sharp"), family="DejaVu Serif")
        figure.text(0.05, 0.685, _said(setting, accounting), size=17, color=ink)
        axes = figure.add_axes((0.08, 0.12, 0.7, 0.5), facecolor=ground)
        for bound, name in both.items():
            _draw(axes, T, found[bound], setting.T, hue("sharp" if bound == BEST else bound), name)
        axes.set(xlim=(0, end), ylim=(0, _top(found)))
        axes.set(xlabel="T, training steps", ylabel=f"ε at δ = {format_delta(setting.delta)}")
        axes.spines[["top", "right"]].set_visible(False)
        out = BytesIO()
        figure.savefig(out, format="png")
    return out.getvalue()


def _draw(axes: Any, T: np.ndarray, epsilon: np.ndarray, now: int, colour: str, name: str) -> None:
    """A curve with its name at its end, and a dot at the run."""
    seen = np.where(np.isfinite(epsilon), epsilon, np.nan)
    axes.plot(T, seen, color=colour, linewidth=4)
    axes.plot([now], seen[T == now], "o", color=colour, markersize=11)
    if np.isfinite(seen[-1]):
        axes.annotate(f"  {name}", (T[-1], seen[-1]), color=colour, size=17, va="center", annotation_clip=False)


def _top(found: dict[str, np.ndarray]) -> float:
    """Where the axis of epsilon ends."""
    finite = [e[np.isfinite(e)] for e in found.values()]
    most = next((float(e.max()) for e in finite if e.size and e.max() > 0), 1.0)
    return 1.1 * most


def _said(setting: Setting, accounting: Accounting) -> str:
    every = _number(setting, "composition", accounting)
    return f"{format_count(setting.T)} steps, and only the last model is published. Were every step: ε = {every}"


def _number(setting: Setting, bound: str, accounting: Accounting) -> str:
    return format_number(guarantee(setting, bound, accounting).epsilon)
