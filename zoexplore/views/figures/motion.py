"""The mechanism in motion: two coupled runs in miniature, the clouds of their last iterates, and how far these overlap."""

from dataclasses import replace
from math import floor, inf
from typing import Any

import numpy as np
import panel as pn
import param
from bokeh.plotting import figure

from zoexplore.bounds import BOUNDS
from zoexplore.compute.ask import ask
from zoexplore.compute.questions import Miniature, Played, played
from zoexplore.formatting import format_count, format_measured_share, format_number, format_short
from zoexplore.motion import FRACTION, miniature
from zoexplore.motion import Motion as Simulated
from zoexplore.setting import Refused, Setting
from zoexplore.views.figures.parts import blank, empty, mark, put
from zoexplore.views.style import theme, widgets
from zoexplore.views.view import View

_ONE, _OTHER = "theorem", "composition"  # the bounds whose colours are borrowed
_ROOM = 1.15  # of the picture, round what is in it
_TRAIL = 6  # steps
_SIDE = 330  # pixels, with the texts of the axes, which take as much below as beside
STARTS = {"together": False, "as far apart as the ball allows": True}
_ANGLES = np.linspace(0, 2 * np.pi, 181)
_CIRCLE = np.stack([np.cos(_ANGLES), np.sin(_ANGLES)])
_NOISE = replace(theme.style_of("sharp"), dash=(), width=2.4)
_COURSE = {
    "overlap": replace(theme.style_of(_ONE), dash=(4, 3), width=1.4),
    "reached": replace(theme.style_of(_ONE), dash=(), width=3.0),
    "public": replace(theme.style_of("corollary"), dash=(8, 3), width=2.0),
    "least": replace(theme.style_of("sharp"), dash=(2, 3), width=1.6),
}  # the lines over the steps
_NO_PICTURE = "its steps or its noise are too large or too small for a picture"
_UNKNOWN = "without a step size and a smoothness M no step is known"


class Motion(View):
    """A picture that is played: two clouds of iterates in a plane, a pair of runs among them, and the overlap over the steps."""

    apart = param.Selector(default=False, objects=list(STARTS.values()), doc="whether the two runs start apart")

    def build(self) -> None:
        self.player = widgets.player(interval=250)
        self.choice = widgets.radio("where the two runs start", STARTS, of=self.param.apart)
        self._played: Played | None = None
        self.words, self.about = (widgets.html("", "words") for _ in range(2))
        self.legend = pn.pane.HTML("", stylesheets=[theme.css("key")], **theme.STRETCH)
        names = ("one", "other", "ball", "directions", "noise", "overlap", "reached", "public", "least")
        self.sources = {name: empty(f"motion-{name}", "x", "y") for name in names}
        self.sources |= {name: empty(f"motion-{name}", "x", "y", "colour") for name in ("pair", "trail")}
        self.plane, self.course = self._plane(), self._course()
        self.canvas(self.plane, sizing_mode="fixed", width=_SIDE, height=_SIDE)
        self.canvas(self.course)
        self.player.param.watch(self._moved, "value")
        self.param.watch(self.changed, "apart")

    def _plane(self) -> figure:
        fig = blank(
            "motion-plane", "square", sizing_mode="fixed", width=_SIDE, height=_SIDE, title="Iterates after this step", bare=True,
            min_border_right=14, x_range=(-1, 1), y_range=(-1, 1), x_axis_label="the way in which the record pulls",
            y_axis_label="another direction",
        )  # fmt: skip
        source, muted = self.sources, theme.colour("muted")
        fig.line("x", "y", source=source["ball"], line_color=muted, line_width=1.2, line_dash=[4, 3])
        fig.multi_line("x", "y", source=source["directions"], line_color=muted, line_width=1, line_alpha=0.45)
        for name, bound in (("one", _ONE), ("other", _OTHER)):
            fig.scatter("x", "y", source=source[name], size=5, fill_color=theme.hue(bound), fill_alpha=0.4, line_color=None)
        fig.line("x", "y", source=source["noise"], line_color=_NOISE.hue(dark=False), line_width=_NOISE.width)
        fig.multi_line("x", "y", source=source["trail"], line_width=1.8, line_color="colour")
        pair = {"fill_color": "colour", "line_color": theme.colour("surface"), "line_width": 2}
        fig.scatter("x", "y", source=source["pair"], size=12, **pair)
        return fig

    def _course(self) -> figure:
        fig = blank(
            "motion-overlap", "square", height=_SIDE, title="Overlap of the two runs", bare=True, x_range=(0, 1),
            y_range=(0, 1.02), x_axis_label="step", y_axis_label="overlap",
        )  # fmt: skip
        for name, style in _COURSE.items():
            look = {"line_color": style.hue(dark=False), "line_width": style.width, "line_dash": list(style.dash)}
            fig.line("x", "y", source=self.sources[name], **look)
        self.now = mark(fig, 0)
        return fig

    async def refresh(self) -> None:
        why = _UNKNOWN
        try:
            run = miniature(self.state.setting)
            found = await ask(played, Miniature(run, self.state.accounting, self.apart)) if run else None
        except (FloatingPointError, Refused):
            found, why = None, _NO_PICTURE
        self._played, self.player.disabled = found, found is None
        if found is None:
            self.words.object = f"<p>There is nothing to play: {why}.</p>"
            return
        T = found.run.T
        self._fit(found)
        at = self.player.value if self.player.value <= T and self.player.end == T else T
        with pn.io.hold():
            self.about.object = self._about(found.run)
            self.player.param.update(start=0, end=T, value=at)
            self._moved()

    def play(self) -> None:
        """Play from the first step."""
        self.player.param.update(value=0, direction=1)

    def _fit(self, found: Played) -> None:
        """One scale for both axes, that of the clouds, the pair's start and, where it is not far off, the ball."""
        run, motion = found.run, found.motion
        reach = float(np.abs(motion.places).max()) or 1.0
        radius = run.R if run.R < 3 * reach else 0.0
        reach = _ROOM * max(reach, radius)
        for ends in (self.plane.x_range, self.plane.y_range):
            ends.update(start=-reach, end=reach)
        steps = np.arange(motion.overlap.size)
        self.course.x_range.update(start=0, end=int(steps[-1]))
        put(self.sources["ball"], *(radius * _CIRCLE if radius else ()))
        put(self.sources["overlap"], steps, motion.overlap)
        # to runs that start apart neither line applies: who sees every step sees where they start, and no bound counts from there
        put(self.sources["public"], *(() if self.apart else (steps, motion.public)))
        shown = found.epsilon < inf and not self.apart
        put(self.sources["least"], [0, steps[-1]] if shown else (), [found.least] * 2 if shown else ())
        self.legend.object = _legend(public=not self.apart, least=shown)

    def _moved(self, *_: Any) -> None:
        if self._played is None:
            return
        motion = self._played.motion
        t = min(self.player.value, motion.overlap.size - 1)
        with pn.io.hold():
            for side, name in enumerate(("one", "other")):
                put(self.sources[name], *motion.places[t, side].T)
            first = motion.places[max(t - _TRAIL, 0) : t + 1, :, 0]
            hues = [theme.style_of(bound).hue(self.dark) for bound in (_ONE, _OTHER)]
            self.sources["trail"].data = {"x": list(first[..., 0].T), "y": list(first[..., 1].T), "colour": hues}
            x, y = motion.places[t, :, 0].T
            self.sources["pair"].data = {"x": x, "y": y, "colour": hues}
            self._draw_step(motion, t)
            put(self.sources["reached"], np.arange(t + 1), motion.overlap[: t + 1])
            self.now.location = t
            self.words.object = self._told(self._played, t)
        self.push()

    def _draw_step(self, motion: Simulated, t: int) -> None:
        """The directions and the noise of the step that led here, from where the first run was."""
        if t == 0:
            put(self.sources["directions"])
            put(self.sources["noise"])
            return
        before = motion.places[t - 1, 0, 0]
        length = 0.9 * self.plane.x_range.end
        ends = np.stack([before - length * motion.directions[t - 1], before + length * motion.directions[t - 1]])
        self.sources["directions"].data = {"x": ends[..., 0].T.tolist(), "y": ends[..., 1].T.tolist()}
        put(self.sources["noise"], *np.stack([before, before + motion.noise[t - 1]]).T)

    def _told(self, found: Played, t: int) -> str:
        """Where the two runs are, as somebody would read it aloud."""
        overlap, last = float(found.motion.overlap[t]), found.motion.overlap.size - 1
        shared, seen = format_measured_share(overlap), format_measured_share(found.motion.public[t])
        head = f"<p><b>Step {t} of {last}.</b> "
        if self.apart:
            return (
                f"{head}The runs started as far apart as the ball allows, and now their clouds overlap by <b>{shared}</b>. "
                "Every step shrinks the distance, and noise covers what is left: where a run came from is forgotten.</p>"
            )
        epsilon = "No bound of the accountant applies to it."
        if found.epsilon < inf:
            by, least = BOUNDS[found.bound].in_text, f"at least {floor(100 * found.least)}\u202f%"
            epsilon = f"The accountant gives this miniature ε = {format_number(found.epsilon)} by {by}: an overlap of {least}."
        return (
            f"{head}The two clouds overlap by <b>{shared}</b>: whoever sees only the last iterate picks the right run "
            f"{format_measured_share(1 - overlap / 2)} of the time; guessing would do so half of the time. For somebody who sees "
            f"every step the runs overlap by <b>{seen}</b>. {epsilon}</p>"
        )

    def _about(self, run: Setting) -> str:
        """What is simulated, and what of the run it keeps."""
        s = self.state.setting
        hidden = run.R < inf and not len(self.sources["ball"].data["x"])
        steps = f"all {run.T}" if run.T == s.T else f"{run.T} of {format_count(s.T)}"
        return (
            f"<p><small>Simulated, not drawn: a miniature of the run with d = {run.d}, K = {run.K} and n = "
            f"{format_count(run.n)}, a {FRACTION} of the records so that a single one can be seen, over {steps} steps. "
            f"It keeps K/d, β = {format_short(s.beta)}, σ = {format_short(s.sigma)}, the contraction, and the ratio of the ball "
            f"to a step's noise. The lines through the first run are its {run.K} directions, seen in this plane; "
            f"a pair shares directions and noise.{' The ball is larger than the picture.' if hidden else ''}</small></p>"
        )

    def __panel__(self) -> pn.viewable.Viewable:
        figures = widgets.row("stage", *self.panes)
        start = widgets.label("the two runs start")
        return widgets.component("motion", start, self.choice, self.player, self.words, self.legend, figures, self.about)


def _legend(public: bool, least: bool) -> str:
    """What the dots and the lines are; somebody's who sees every step, and the accountant's, only where they are drawn."""
    dots = (("the run with the record", _ONE), ("with another record in its place", _OTHER))
    lines = (
        ("the noise of the step", _NOISE),
        ("overlap of last iterates, measured", _COURSE["reached"]),
        *([("overlap when every step is seen, computed", _COURSE["public"])] if public else []),
        *([("the least that the accountant allows", _COURSE["least"])] if least else []),
    )
    items = [f"<li>{theme.dot(theme.style_of(bound))}<span>{text}</span></li>" for text, bound in dots]
    items += [f"<li>{theme.swatch(style, 26)}<span>{text}</span></li>" for text, style in lines]
    return f"<ul>{''.join(items)}</ul>"
