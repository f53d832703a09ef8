"""When hiding the iterates helps: by how much epsilon falls over two fields, by which bound, and why not; and published runs."""

from html import escape
from typing import Any

import numpy as np
import panel as pn
import param
from bokeh.events import Tap
from bokeh.plotting import figure

from zoexplore.bounds import BOUNDS
from zoexplore.columns import bands
from zoexplore.compute.ask import ask
from zoexplore.compute.questions import gains
from zoexplore.questions.hiding import LEAST_GAIN, TOO_SHORT, Gain
from zoexplore.run.axes import AXES, decades
from zoexplore.run.formatting import THIN, format_number, format_short
from zoexplore.run.presets import PRESETS
from zoexplore.run.published import FIGURES, RUNS
from zoexplore.run.setting import Accounting, Setting
from zoexplore.views.figures.parts import blank, empty, fill, fixed_ticks, tells, words
from zoexplore.views.style import theme, widgets
from zoexplore.views.view import View

FIELDS = ("T", "beta", "n", "sigma", "ridge")
POINTS = 25  # along either field
BANDS = {"nothing": LEAST_GAIN, "up to 2": 2.0, "2 to 10": 10.0, "10 to 100": 100.0, "over 100": np.inf}
WHEN = (
    "Hiding helps where some noise lies across the directions (β < 1), a ridge or a strongly convex loss pulls two runs "
    "together, and the run is long. At β = 1, as in all published runs, it gains nothing."
)
_SWATCH = '<i style="display:inline-block;width:13px;height:13px;margin:0 5px -2px 9px;background:light-dark({},{})"></i>'
_KINDS = dict(zip((*BANDS, "an assumption fails: point at it"), (*theme.GAINS, theme.UNCOVERED), strict=True))
_LEGEND = f"<p>How many times ε falls:{''.join(_SWATCH.format(*pair) + name for name, pair in _KINDS.items())}</p><p>{WHEN}</p>"
_EDGES = np.log10([1e-9, *list(BANDS.values())[:-1], 1e13])
_APART, _MARK = 0.045, 21  # of the figure's width, and pixels at least, between the marks of two runs
_NARROW = 300  # pixels of a figure that has room for symbols only
_BESIDE = 0.18  # of its width, in which no name has its middle: half of one is as wide


def places(field: str, values: Any) -> np.ndarray:
    """Where values of a field are drawn."""
    return np.log10(AXES[field].place(np.maximum(np.asarray(values, float), 1e-300)))


def tips(gain: Gain) -> list[str]:
    """The tooltip of every cell: the gain and the bound that gives it, or why there is none."""
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
    asks = ("x", "y")

    x = param.Selector(default="T", objects=list(FIELDS), doc="the field from left to right")
    y = param.Selector(default="beta", objects=list(FIELDS), doc="the field from bottom to top")

    def build(self) -> None:
        self.fill, self.cells = (
            empty("gain-bands", "xs", "ys", "colour"),
            empty("gain-cells", "left", "right", "bottom", "top", "tip"),
        )
        self.failing = empty("gain-failing", "left", "right", "bottom", "top")
        self.here, self.names = empty("gain-here", "x", "y"), empty("gain-names", "x", "y", "text")
        self.runs = empty("gain-runs", "x", "y", "text", "tip")
        titles = {AXES[field].caption: field for field in FIELDS}
        asked = {"x": "x axis", "y": "y axis"}
        self.choices = [widgets.select(label, titles, "along", "pair", of=self.param[name]) for name, label in asked.items()]
        self.figure, self.apart = self._figure(), _APART
        self.figure.on_change("inner_width", self._resized)
        self.pane = self.canvas(self.figure)
        self.words, self.table = widgets.html("", "words", "gain"), widgets.html("", "table", "gain")
        self.param.watch(self.changed, ["x", "y"])

    def _figure(self) -> figure:
        fig = blank("gain", bare=True, x_range=(0, 6), y_range=(0, 7))
        fig.multi_polygons("xs", "ys", source=self.fill, line_color="colour", fill_color="colour")
        grey, edges = theme.UNCOVERED[theme.LIGHT], ("left", "right", "top", "bottom")
        fig.quad(*edges, source=self.failing, fill_color=grey, line_color=grey)
        cells = fig.quad(*edges, source=self.cells, fill_alpha=0, line_alpha=0)
        ink, surface = theme.colour("ink"), theme.colour("surface")
        middle = {"text_align": "center", "text_baseline": "middle"}
        words(
            fig,
            "x",
            "y",
            "text",
            self.names,
            text_color=ink,
            background_fill_color=surface,
            padding=4,
            border_radius=10,
            **middle,
        )
        runs = fig.scatter(
            "x", "y", source=self.runs, size=19, fill_color=ink, line_color=surface, line_width=1.5, level="overlay"
        )
        words(fig, "x", "y", "text", self.runs, text_color=surface, text_font_size="11px", text_font_style="bold", **middle)
        for colour, width in ((surface, 6), (ink, 2.5)):
            look = {"line_color": colour, "line_width": width, "level": "overlay"}
            fig.scatter("x", "y", source=self.here, size=17, fill_color=None, **look)
        for drawn in (cells, runs):
            tells(fig, drawn)
        fig.grid.visible = False
        fig.on_event(Tap, self._tapped)
        return fig

    async def refresh(self) -> None:
        run, fields = (self.state.setting, self.state.accounting), (self.x, self.y)
        values = [tuple(map(float, AXES[field].values(run[0], POINTS))) for field in fields]
        here = await ask(gains, *run, "T", "beta", (float(run[0].T),), (run[0].beta,))
        stuck = [AXES[field].symbol for field, known in zip(fields, values, strict=True) if len(known) < 2]
        why = "Choose two different fields." if self.x == self.y else f"{stuck[0]} can only be 0 here." if stuck else ""
        found = None if why else await ask(gains, *run, *fields, *values)
        with pn.io.hold():
            if found:
                self._draw(found, *map(places, fields, values))
                self._mark()
            self._say(here, why)
        self.push()

    def _draw(self, found: Gain, x: np.ndarray, y: np.ndarray) -> None:
        colours = [pair[self.dark] for pair in theme.GAINS]
        ratio = np.log10(np.nan_to_num(np.minimum(found.ratio, 1e12), nan=1.0))
        drawn = bands(x, y, ratio, _EDGES)
        self.fill.data = {"xs": drawn["xs"], "ys": drawn["ys"], "colour": [colours[i] for i in drawn["band"]]}
        (left, right), (bottom, top) = (_around(at) for at in (x, y))
        sides = np.broadcast_arrays(left, right, bottom[:, None], top[:, None])
        cells = {name: np.ravel(side) for name, side in zip(("left", "right", "bottom", "top"), sides, strict=True)}
        failing = (found.why != "") & (found.why != TOO_SHORT)
        self.cells.data = cells | {"tip": tips(found)}
        self.failing.data = {name: side[failing.ravel()] for name, side in cells.items()}
        self._name(np.where(failing, "an assumption fails", found.winner), x, y)
        for axis, field, span, at in zip(
            self.figure.axis, (self.x, self.y), (self.figure.x_range, self.figure.y_range), (x, y), strict=True
        ):
            a = AXES[field]
            ticks = a.ticks() if a.linear else decades(*(10.0 ** at[[0, -1]]))
            fixed_ticks(axis, {float(np.log10(place)): text for place, text in ticks.items()})
            span.update(start=float(at[0]), end=float(at[-1]))
        self._label()

    def _label(self) -> None:
        """Name the axes, by their symbols alone where the figure is narrow."""
        narrow = self.apart > _MARK / _NARROW
        for axis, field in zip(self.figure.axis, (self.x, self.y), strict=True):
            axis.axis_label = AXES[field].symbol if narrow else AXES[field].title

    def _name(self, kinds: np.ndarray, x: np.ndarray, y: np.ndarray) -> None:
        """Name every region within it: by the bound that wins, or that nothing is gained."""
        rows = []
        for kind in {str(kind) for kind in kinds.ravel()} - {""}:
            j, i = np.nonzero(kinds == kind)
            if i.size >= kinds.size / 20:
                middle = int(np.argmin((i - i.mean()) ** 2 + (j - j.mean()) ** 2))
                text = "nothing gained" if kind == "composition" else BOUNDS[kind].short if kind in BOUNDS else kind
                at = np.clip(x[i[middle]], x[0] + _BESIDE * (x[-1] - x[0]), x[-1] - _BESIDE * (x[-1] - x[0]))
                rows.append({"x": float(at), "y": float(y[j[middle]]), "text": text})
        fill(self.names, rows)

    def _at(self, run: Setting) -> tuple[float, float]:
        """A run's place on the map, clipped to the edge."""
        ranges = (self.figure.x_range, self.figure.y_range)
        x, y = (np.clip(float(places(f, getattr(run, f))), r.start, r.end) for f, r in zip((self.x, self.y), ranges, strict=True))
        return float(x), float(y)

    def _resized(self, attr: str, old: int, new: int) -> None:
        """Keep the marks of two runs apart, and names short, where the figure is narrow."""
        self.apart = max(_APART, _MARK / max(new, 1))
        self._label()
        self._mark()

    def _mark(self) -> None:
        apart = self.apart * (self.figure.x_range.end - self.figure.x_range.start)
        rows: list[dict[str, Any]] = []
        published = list(RUNS.values())
        for number, run in sorted(enumerate(published, start=1), key=lambda each: self._at(each[1].setting)):
            x, y = self._at(run.setting)
            x = max([x, *(row["x"] + apart for row in rows if row["y"] == y)])  # side by side where they share a place
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

    def _say(self, here: Gain, why_no_map: str) -> None:
        """Write by how much hiding helps this run, or why it does not, and the published runs."""
        ratio, before, now = float(here.ratio[0, 0]), float(here.composition[0, 0]), float(here.least[0, 0])
        if why := str(here.why[0, 0]):
            said = f'<p class="epsilon"><i>ε</i> ÷ 1</p><p>Hiding the iterates gains nothing here. {escape(why)}</p>'
        else:
            ghost = f'<span class="ghost">{_from_to(before, now)}</span>'
            said = f'<p class="epsilon last"><i>ε</i> ÷ <b>{_fall(ratio)}</b> {ghost}</p><p>Hiding the iterates helps here.</p>'
        shown = [run for run in RUNS.values() if run.setting == self.state.setting]
        notes = [why_no_map, *(f"{run.name}, claimed ε = {run.claimed:g}. {run.difference}" for run in shown)]
        self.words.object = said + "".join(f"<p>{escape(each)}</p>" for each in filter(None, notes))
        rows = "".join(
            f'<tr title="{escape(run.difference)}"><td>{number}</td><th scope="row">{escape(PRESETS[key].name)}</th>'
            f"<td>{format_short(run.claimed)}</td><td><b>{format_number(run.ours, FIGURES)}</b></td></tr>"
            for number, (key, run) in enumerate(RUNS.items(), start=1)
        )
        heads = '<th colspan="2">Published runs: at β = 1 hiding gains nothing</th><th>claimed</th><th>provable</th>'
        head = f"<thead><tr>{heads}</tr></thead>"
        self.table.object = widgets.region("published runs", f"<table>{head}<tbody>{rows}</tbody></table>")

    def _tapped(self, event: Tap) -> None:
        """Take the published run whose mark is there, or else both fields' values."""
        if event.x is None or event.y is None:
            return
        wide, high = (span.end - span.start for span in (self.figure.x_range, self.figure.y_range))
        marks = zip(*(self.runs.data[name] for name in ("x", "y", "text")), strict=True)
        near = {np.hypot((x - event.x) / wide, (y - event.y) / high): int(text) for x, y, text in marks}
        if near and min(near) < self.apart / 2:
            self.state.replace(list(RUNS.values())[near[min(near)] - 1].setting, Accounting())
        else:
            asked = {self.x: event.x, self.y: event.y}
            self.state.ask(**{f: AXES[f].value(float(f"{10.0**at:.3g}")) for f, at in asked.items()})

    def __panel__(self) -> pn.viewable.Viewable:
        beside = widgets.stack(*self.choices, widgets.html(_LEGEND, "words", margin=(12, 0, 0, 0)), self.table)
        return widgets.component("helps", widgets.row("stage", widgets.stack(self.words, self.pane), beside))


def _around(at: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The ends of the cell around each place: halfway to its neighbours."""
    between = (at[1:] + at[:-1]) / 2
    return np.append(at[0], between), np.append(between, at[-1])
