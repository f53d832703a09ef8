"""A bound's argument played step by step: how far apart two runs may be, what noise hides of it, and what that costs."""

from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np
import panel as pn
import param
from bokeh.models import DataRange1d
from bokeh.plotting import figure

from zoexplore.bounds import BOUNDS, Guarantee
from zoexplore.bounds.bound import Trajectory
from zoexplore.bounds.shared_sentences import why_undrawn
from zoexplore.compute.ask import ask
from zoexplore.compute.questions import guarantees
from zoexplore.formatting import format_count, format_measured_share, format_number
from zoexplore.views.figures.legend import plain_legend
from zoexplore.views.figures.parts import blank, empty, put
from zoexplore.views.style import theme, widgets
from zoexplore.views.view import View

SHOWN = {bound.title: bound.id for bound in reversed(BOUNDS.values()) if bound.hides_iterates}
_NOTHING = 1e-6  # of the distance, and less
MOST_FRAMES = 60  # of longer runs, the last steps
_DRAWN = (
    "along", "across", "next", "hidden-along", "hidden-across", "distance", "walked", "budget", "spent", "now", "paid",
)  # fmt: skip
_ALONG, _ACROSS, _NEXT, _COST = "composition", "sharp", "theorem", "corollary"  # the bounds whose colours are borrowed


def legs(g: Guarantee) -> tuple[np.ndarray, np.ndarray]:
    """What a step makes of the distance before noise hides any: its part along the span, and the part beside it.

    Two arrays over the counted steps. For the sharper bound the parts are orthogonal; for the theorem the first is the
    record's data, which it hides in full, and the second the distance, whatever its direction.
    """
    path = opened(g)
    if path.alpha is None or path.pi is None:
        return path.p, path.z[1:] + path.a
    tail = g.delta_f ** (-1 / (2 * g.moment)) if g.delta_f > 0 else 1.0  # what the shifts across are longer by than the norm
    across = np.where(path.alpha > 0, path.a / np.where(path.alpha > 0, path.alpha, 1.0) / tail, 0.0)
    kept = np.sqrt(np.maximum(path.z[1:] ** 2 - ((1 - path.alpha) * across) ** 2, 0.0))
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(path.pi < 1, kept / (1 - path.pi), path.p), across


def opened(g: Guarantee) -> Trajectory:
    """A guarantee's trajectory, for those that have one."""
    assert g.trajectory is not None
    return g.trajectory


class Replay(View):
    """A player over the counted steps of one bound: the step's two parts, the distance so far, and the budget spent.

    Meant for runs of a few dozen steps. It also works in a page without a kernel: `pn.panel(replay).save(..., embed=True)`.
    """

    bound = param.Selector(default="sharp", objects=list(SHOWN.values()), doc="the bound that is played")

    def build(self) -> None:
        self.player = widgets.player(interval=350)
        self.words = widgets.html("", "words")
        self.sources = {name: empty(f"replay-{name}", "x", "y") for name in _DRAWN}
        self.step = self._step()
        self.distance = self._course("How far apart the two runs may be", "distance", "walked", "now", _NEXT)
        self.budget = self._course("Budget spent so far, ρ", "budget", "spent", "paid", _COST, x_axis_label="step")
        for fig in (self.step, self.distance, self.budget):
            self.canvas(fig)
        self.player.param.watch(self._moved, "value")
        self.param.watch(self.changed, "bound")

    def _step(self) -> figure:
        fig = blank(
            "replay-step", height=330, title="One step: hidden and left", bare=True, stylesheets=[], x_range=(0, 1),
            y_range=(0, 1), x_axis_label="along the directions",
        )  # fmt: skip
        fig.xaxis.ticker.desired_num_ticks = 4  # more would run into one another on a phone
        self._line(fig, "hidden-along", _ALONG, 3, [2, 3], legend_label="hidden: along")
        self._line(fig, "hidden-across", _ACROSS, 3, [2, 3], legend_label="hidden: the rest")
        self._line(fig, "along", _ALONG, 8)
        self._line(fig, "across", _ACROSS, 8)
        self._line(fig, "next", _NEXT, 3, legend_label="left: the next distance")
        plain_legend(fig.legend[0])
        fig.legend.location = "top_right"
        return fig

    def _course(self, title: str, every: str, so_far: str, now: str, bound: str, **params: Any) -> figure:
        """A line over all steps, one over those so far, and a dot at its end."""
        ranges: dict[str, Any] = {"x_range": (0, 1), "y_range": DataRange1d(start=0)}
        fig = blank(f"replay-{every}", height=165, title=title, bare=True, stylesheets=[], **ranges, **params)
        self._line(fig, every, bound, 1.4, [4, 3])
        self._line(fig, so_far, bound, 3)
        fig.scatter("x", "y", source=self.sources[now], size=10, fill_color=theme.hue(bound), line_color="white")
        return fig

    def _line(self, fig: figure, source: str, bound: str, width: float, dash: Sequence[int] = (), **named: str) -> None:
        look = {"line_width": width, "line_dash": list(dash), "line_color": theme.hue(bound)}
        fig.line("x", "y", source=self.sources[source], **look, **named)

    @property
    def frames(self) -> np.ndarray:
        """The numbers of the counted steps that are played."""
        steps = opened(self._guarantee).rho.size
        return np.arange(max(steps - MOST_FRAMES, 0), steps)

    async def refresh(self) -> None:
        g = self._guarantee = (await ask(guarantees, self.state.setting, self.state.accounting))[self.bound]
        path = g.trajectory
        self.player.disabled = path is None
        if path is None:
            self.words.object = f"<p>There is nothing to play: {escape(g.reason or why_undrawn(g))}.</p>"
            return
        first, last = self.frames[[0, -1]]
        at = self.player.value if self.player.end == last - first else 0
        self.player.param.update(start=0, end=int(last - first), value=at)
        for fig in (self.distance, self.budget):
            fig.x_range.update(start=float(path.tau + first), end=float(path.tau + last + 1))
        self.step.yaxis.axis_label = "across them" if path.alpha is not None else "in any direction"
        self._moved()

    def _moved(self, *_: Any) -> None:
        g, t = self._guarantee, int(self.frames[min(self.player.value, self.frames.size - 1)])
        with pn.io.hold():
            for name, (x, y) in (self._step_places(g, t) | self._run_places(opened(g), t)).items():
                put(self.sources[name], x, y)
            played = f" The player shows the last {MOST_FRAMES} steps." if self.frames[0] else ""
            self.words.object = f"<p>{describe_step(g, t)}{played}</p>"
        self.push()

    def _step_places(self, g: Guarantee, t: int) -> dict[str, tuple[Any, Any]]:
        """The lines of a step, by their sources, within ranges that are the same: what is longer looks longer."""
        path = opened(g)
        along, across = (float(leg[t]) for leg in legs(g))
        for ends in (self.step.x_range, self.step.y_range):
            ends.update(start=0, end=1.15 * max(along, across))
        kept_along = 0.0 if path.pi is None else along * (1 - path.pi[t])
        kept_across = float(path.z[t + 1]) if path.alpha is None else across * (1 - path.alpha[t])
        return {
            "hidden-along": ([kept_along, along], [0, 0]),
            "hidden-across": ([0, 0], [kept_across, across]),
            "along": ([0, kept_along], [0, 0]),
            "across": ([0, 0], [0, kept_across]),
            "next": ([kept_along, 0], [0, kept_across]),
        }

    def _run_places(self, path: Trajectory, t: int) -> dict[str, tuple[Any, Any]]:
        """The lines over the run and the dots at this step, by their sources."""
        drawn, reached = slice(self.frames[0], None), slice(self.frames[0], t + 2)
        step, spent = path.tau + np.arange(path.rho.size + 1), np.concatenate([[0.0], np.cumsum(path.rho)])
        return {
            "distance": (step[drawn], path.z[drawn]),
            "walked": (step[reached], path.z[reached]),
            "budget": (step[drawn], spent[drawn]),
            "spent": (step[reached], spent[reached]),
            "now": (step[[t + 1]], path.z[[t + 1]]),
            "paid": (step[[t + 1]], spent[[t + 1]]),
        }

    def __panel__(self) -> pn.viewable.Viewable:
        figures = widgets.column("abreast", self.panes[0], widgets.stack(*self.panes[1:]))
        return widgets.component("replay", self.player, self.words, figures, max_width=900)


def describe_step(g: Guarantee, t: int) -> str:
    """What happens in the t-th counted step, as somebody would read it aloud."""
    path = opened(g)
    spent = path.rho[: t + 1].sum() / path.rho.sum()
    step, T = format_count(path.tau + t + 1), format_count(g.setting.T)
    where = f"<b>Step {step} of {T}.</b> Before it the runs are at most {format_number(path.z[t])} apart"
    if path.alpha is None and g.bound == "sharp":
        hides = f"The directions span everything; noise hides {_length(path.p[t], path.z[t])}"
    elif path.alpha is None or path.pi is None:
        hides = f"Noise along the directions hides the record's data, all noise {_length(path.a[t], path.z[t])}"
    else:
        along, across = format_measured_share(path.pi[t]), format_measured_share(path.alpha[t])
        hides = f"Noise hides {along} of what lies along the directions and {across} of what lies across them"
    by_then = f"By then {format_measured_share(spent)} of the budget is spent."
    return f"{where}, after it {format_number(path.z[t + 1])}. {hides}. {by_then}"


def _length(hidden: float, apart: float) -> str:
    """What noise hides of the distance between the runs."""
    return f"a length of {format_number(hidden)}" if hidden > _NOTHING * apart else "nearly nothing"
