"""Where hiding the iterates helps, over two fields: by how much, by which bound, or why not; and published runs."""

from collections.abc import Callable
from html import escape
from typing import Any

import numpy as np
import panel as pn
from bokeh.events import Tap
from bokeh.plotting import figure

from zoexplore.bounds import BOUNDS
from zoexplore.columns import bands
from zoexplore.compute.ask import ask
from zoexplore.compute.computations import gains
from zoexplore.questions.hiding import LEAST_GAIN, TOO_SHORT, Gain
from zoexplore.run.axes import AXES, decades
from zoexplore.run.fields import FIELDS
from zoexplore.run.formatting import THIN, format_count, format_number, format_short
from zoexplore.run.presets import PRESETS
from zoexplore.run.published import FIGURES, RUNS
from zoexplore.run.setting import Accounting, Setting
from zoexplore.views.figures.handle import Handle
from zoexplore.views.figures.parts import blank, empty, fill, fixed_ticks, tells, words
from zoexplore.views.style import theme, widgets
from zoexplore.views.view import View

OVER = ("T", "beta")
POINTS = 25  # along either field
BANDS = {"1": LEAST_GAIN, "up to 2": 2.0, "to 10": 10.0, "to 100": 100.0, "more": np.inf}
WHEN = (
    "Hiding helps where some noise lies across the directions (β < 1), a ridge or a strongly convex loss pulls two runs "
    "together, and the run is long."
)
_SWATCH = '<span><i style="background:light-dark({},{})"></i>{}</span>'
_KINDS = dict(zip((*BANDS, "an assumption fails"), (*theme.GAINS, theme.UNCOVERED), strict=True))
_LEGEND = f"<p><i>ε</i> ÷{''.join(_SWATCH.format(*pair, name) for name, pair in _KINDS.items())}</p>"
_EDGES = np.log10([1e-9, *list(BANDS.values())[:-1], 1e13])
_APART, _MARK = 0.045, 21  # least distance of two runs' marks, as a share of the figure's width and in pixels
_RING = 14  # pixels from this run's place to the outside of its ring


def places(field: str, values: Any) -> np.ndarray:
    """The values at which a field is drawn."""
    return np.log10(AXES[field].place(np.maximum(np.asarray(values, float), 1e-300)))


def tips(gain: Gain) -> list[str]:
    """The tooltip of every cell: the gain and its bound, or why there is none."""
    columns = gain.ratio, gain.composition, gain.least, gain.winner, gain.why
    return [
        escape(why) if why else f"<b>{escape(BOUNDS[by].title)}</b><br>ε ÷ {_fall(ratio)}: {_from_to(before, now)}"
        for ratio, before, now, by, why in zip(*(column.ravel() for column in columns), strict=True)
    ]


def _fall(ratio: float) -> str:
    return "∞" if np.isinf(ratio) else format_short(ratio, 2)


def _from_to(before: float, now: float) -> str:
    return f"{format_number(before)} →{THIN}{format_number(now)}"


class Helps(View):
    """The map, this run on it, and the runs of the literature. A click sets both fields, or takes a published run."""

    rest, precedence = 0.2, 1

    def build(self) -> None:
        cells = "left", "right", "bottom", "top"
        self.fill, self.cells = empty("gain-bands", "xs", "ys", "colour"), empty("gain-cells", *cells, "tip")
        self.failing, self.here = empty("gain-failing", *cells), empty("gain-here", "x", "y")
        self.runs, self.up = empty("gain-runs", "x", "y", "text", "tip"), empty("gain-up", "x", "y")
        self._drawn: tuple = ()  # the run of the map, but for T and beta
        self.figure, self.apart = self._figure(), _APART
        self.size = {"inner_width": 680, "inner_height": 420}  # until a browser has measured them
        for side in self.size:
            self.figure.on_change(side, self._resized)
        self.handle = Handle(self.figure, self._dragged, visible=False)
        self.pane = self.canvas(self.figure)
        self.words, self.table = widgets.html("", "words", "gain"), widgets.html("", "table", "gain")
        self.beside = widgets.html("", "words")

    def _figure(self) -> figure:
        x, y = (places(field, AXES[field].values(self.state.setting, POINTS)) for field in OVER)
        span: dict[str, Any] = {"x_range": (x[0], x[-1]), "y_range": (y[0], y[-1])}
        fig = blank("gain", bare=True, y_axis_label=FIELDS["beta"].caption, min_border_bottom=34, **span)
        for axis, field, at in zip(fig.axis, OVER, (x, y), strict=True):
            a = AXES[field]
            ticks = a.ticks() if a.linear else decades(*(10.0 ** at[[0, -1]]))
            fixed_ticks(axis, {float(np.log10(place)): text for place, text in ticks.items()})
        fig.multi_polygons("xs", "ys", source=self.fill, line_color="colour", fill_color="colour")
        grey, edges = theme.UNCOVERED[theme.LIGHT], ("left", "right", "top", "bottom")
        fig.quad(*edges, source=self.failing, fill_color=grey, line_color=grey)
        cells = fig.quad(*edges, source=self.cells, fill_alpha=0, line_alpha=0)
        ink, surface = theme.colour("ink"), theme.colour("surface")
        fig.line("x", "y", source=self.up, line_color=ink, line_width=1.2, line_dash=[2, 3])
        look = {"size": 19, "fill_color": ink, "line_color": surface, "line_width": 1.5, "level": "overlay"}
        runs = fig.scatter("x", "y", source=self.runs, **look)
        middle = {"text_align": "center", "text_baseline": "middle", "text_font_size": "11px", "text_font_style": "bold"}
        words(fig, "x", "y", "text", self.runs, text_color=surface, **middle)
        for colour, width in ((surface, 6), (ink, 2.5)):
            look = {"line_color": colour, "line_width": width, "level": "overlay"}
            fig.scatter("x", "y", source=self.here, size=17, fill_color=None, **look)
        for drawn in (cells, runs):
            tells(fig, drawn)
        fig.grid.visible = False
        fig.tags = ["by how much hiding the iterates divides ε, over steps T and noise along directions β"]
        fig.on_event(Tap, self._tapped)
        return fig

    async def refresh(self) -> None:
        setting, accounting = self.state.setting, self.state.accounting
        here = await ask(gains, setting, accounting, *OVER, (float(setting.T),), (setting.beta,))
        values = [tuple(map(float, AXES[field].values(setting, POINTS))) for field in OVER]
        anywhere = setting.replace(T=int(values[0][-1]), beta=0.5), accounting  # all of these runs have one map
        found = await ask(gains, *anywhere, *OVER, *values)
        with pn.io.hold():
            if self._drawn != anywhere:
                self._draw(found, *map(places, OVER, values))
                self._drawn = anywhere
            self._mark()
            self._say(here)
        self.push()

    def _draw(self, found: Gain, x: np.ndarray, y: np.ndarray) -> None:
        ratio = np.log10(np.nan_to_num(np.minimum(found.ratio, 1e12), nan=1.0))
        drawn = bands(x, y, ratio, _EDGES)
        self.fill.data = {"xs": drawn["xs"], "ys": drawn["ys"], "colour": [theme.GAINS[i][self.dark] for i in drawn["band"]]}
        (left, right), (bottom, top) = (_around(at) for at in (x, y))
        sides = np.broadcast_arrays(left, right, bottom[:, None], top[:, None])
        cells = {name: np.ravel(side) for name, side in zip(("left", "right", "bottom", "top"), sides, strict=True)}
        failing = ((found.why != "") & (found.why != TOO_SHORT)).ravel()
        self.cells.data = cells | {"tip": tips(found)}
        self.failing.data = {name: side[failing] for name, side in cells.items()}

    def _at(self, run: Setting) -> tuple[float, float]:
        """A run's place on the map, clipped to the edge."""
        ranges = (self.figure.x_range, self.figure.y_range)
        x, y = (np.clip(float(places(f, getattr(run, f))), r.start, r.end) for f, r in zip(OVER, ranges, strict=True))
        return float(x), float(y)

    def _resized(self, attr: str, old: int, new: int) -> None:
        """Keep the marks of two runs apart where the figure is narrow."""
        self.size[attr] = max(new, 1)
        self.apart = max(_APART, _MARK / self.size["inner_width"])
        self._mark()

    def _mark(self) -> None:
        apart = self.apart * (self.figure.x_range.end - self.figure.x_range.start)
        rows: list[dict[str, Any]] = []
        published = list(RUNS.values())
        for number, run in sorted(enumerate(published, start=1), key=lambda each: self._at(each[1].setting)):
            x, y = self._at(run.setting)
            x = max([x, *(row["x"] + apart for row in rows if row["y"] == y)])  # side by side if they share a place
            claim = f"claimed {run.claimed:g}, provable {format_number(run.ours, FIGURES)}"
            tip = f"<b>{escape(run.name)}</b><br>{claim}<br>{escape(run.difference)}"
            rows.append({"x": x, "y": y, "text": str(number), "tip": tip})
        over = max([0.0, *(row["x"] - self.figure.x_range.end for row in rows)])
        fill(self.runs, [{**row, "x": row["x"] - over} for row in rows])
        x, y = self._at(self.state.setting)
        taken = [
            place for place, text in enumerate(self.runs.data["text"]) if published[int(text) - 1].setting == self.state.setting
        ]
        x = self.runs.data["x"][taken[0]] if taken else x
        self.here.data = {"x": [x], "y": [y]}
        span = self.figure.y_range  # the line from the handle ends below the ring, which may be around a mark with a number
        below = y - _RING * (span.end - span.start) / self.size["inner_height"]
        self.up.data = {"x": [x, x], "y": [span.start, max(below, span.start)]}
        self.handle.put(float(x), f"T = {format_count(self.state.setting.T)}", "T, steps")

    def _say(self, here: Gain) -> None:
        """Write how much hiding helps this run, or why it does not, and the published runs."""
        ratio, before, now = float(here.ratio[0, 0]), float(here.composition[0, 0]), float(here.least[0, 0])
        if why := str(here.why[0, 0]):
            said = f'<p class="epsilon"><i>ε</i> ÷ 1 <span class="ghost">nothing gained here</span></p><p>{escape(why)}</p>'
        else:
            ghost = f'<span class="ghost">{_from_to(before, now)}</span>'
            said = f'<p class="epsilon last"><i>ε</i> ÷ <b>{_fall(ratio)}</b> {ghost}</p>'
        shown = (run for run in RUNS.values() if run.setting == self.state.setting)
        notes = (f"{run.name}, claimed ε = {run.claimed:g}. {run.difference}" for run in shown)
        self.words.object = said + _LEGEND
        self.beside.object = "".join(f"<p>{escape(each)}</p>" for each in (*notes, WHEN))
        rows = "".join(
            f'<tr title="{escape(run.difference)}"><td>{number}</td><th scope="row">{escape(PRESETS[key].name)}</th>'
            f"<td>{format_short(run.claimed)}</td><td><b>{format_number(run.ours, FIGURES)}</b></td></tr>"
            for number, (key, run) in enumerate(RUNS.items(), start=1)
        )
        heads = '<th colspan="2">Published runs: at β = 1 hiding gains nothing</th><th>claimed</th><th>provable</th>'
        head = f"<thead><tr>{heads}</tr></thead>"
        self.table.object = widgets.region("published runs", f"<table>{head}<tbody>{rows}</tbody></table>")

    def _tapped(self, event: Tap) -> None:
        """Select the published run marked there, or else set both fields."""
        if event.x is None or event.y is None:
            return
        wide, high = (span.end - span.start for span in (self.figure.x_range, self.figure.y_range))
        marks = zip(*(self.runs.data[name] for name in ("x", "y", "text")), strict=True)
        near = {np.hypot((x - event.x) / wide, (y - event.y) / high): int(text) for x, y, text in marks}
        if near and min(near) < self.apart / 2:
            self.state.replace(list(RUNS.values())[near[min(near)] - 1].setting, Accounting())
        else:
            self._ask({"T": event.x, "beta": event.y}, self.state.ask)

    def _dragged(self, place: float, held: bool) -> None:
        self._ask({"T": place}, self.state.slide if held else self.state.ask)

    def _ask(self, asked: dict[str, float], change: Callable[..., Any]) -> None:
        change(**{field: AXES[field].value(float(f"{10.0**at:.3g}")) for field, at in asked.items()})

    def repaint(self) -> None:
        super().repaint()
        self._drawn = ()

    def __panel__(self) -> pn.viewable.Viewable:
        drawn = widgets.stack(self.words, self.pane, self.handle, css_classes=["zx-curve"])
        return widgets.component("helps", widgets.row("stage", drawn, widgets.stack(self.beside, self.table)))


def _around(at: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The ends of the cell around each place: halfway to its neighbours."""
    between = (at[1:] + at[:-1]) / 2
    return np.append(at[0], between), np.append(between, at[-1])
