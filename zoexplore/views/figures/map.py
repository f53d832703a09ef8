"""The map: epsilon of one bound over any two fields, as filled contours with lines at chosen targets.

Its colours are those of `theme.map_colours`.
"""

import time
from functools import partial
from math import inf, nan
from typing import Any

import numpy as np
import panel as pn
import param
from bokeh.events import Pan, PanEnd, PanStart, Tap
from bokeh.models import ColorBar, CustomJSTickFormatter, FixedTicker, LinearColorMapper
from bokeh.plotting import figure

from zoexplore.axes import AXES, decades
from zoexplore.bounds import BOUNDS
from zoexplore.columns import bands, heights, level_lines
from zoexplore.compute.ask import ask, no_answer
from zoexplore.compute.questions import SIZE, Sheet, row
from zoexplore.compute.task import Task, event_loop_is_running
from zoexplore.formatting import format_measured_share, parse_number
from zoexplore.setting import Setting
from zoexplore.views.figures.parts import TICKS, blank, empty, fill, fixed_ticks, words
from zoexplore.views.pins import LETTERS
from zoexplore.views.style import theme, widgets
from zoexplore.views.style.inputs import Typed
from zoexplore.views.style.widgets import status
from zoexplore.views.view import View

DECADES = (-3, 4)  # of epsilon, what the colours tell apart
MOST_TARGETS = 20  # lines
EDGES = np.linspace(*DECADES, 4 * (DECADES[1] - DECADES[0]) + 1)
# Values that every setting may have, of fields whose own value a map over them does not depend on.
_ANYTHING = {"T": 1, "n": 1, "K": 1, "beta": 0.5, "delta": 0.5, "sigma": 1.0, "R": 1.0, "clip": 1.0}
_ANYTHING |= {"eta": 1.0, "xi": 0.0}
_EARLIER = ": the map is of an earlier setting"
_COARSE = 8  # the coarse map, which comes first, takes every eighth row
_NEAR = 0.04  # of an axis: from how far the dot is taken hold of
_BETWEEN = 0.2  # seconds between two looks at how far it is
_POWERS = TICKS.replace("const e = Math.round(Math.log10(tick));", "const e = Math.round(tick); tick = 10 ** tick;")


class Targets(param.List):
    """Numbers above 0."""

    def _validate_value(self, val: Any, allow_None: bool) -> None:
        super()._validate_value(val, allow_None)
        if not all(0 < x < inf for x in val):
            raise ValueError("give numbers above 0")


class Map(View):
    """Epsilon over two fields. Rows are computed in another process; a click takes the point for the setting."""

    asks = ("bound", "x", "y", "targets")

    bound = param.Selector(default="sharp", objects=list(BOUNDS), doc="the bound that is drawn")
    x = param.Selector(default="K", objects=list(AXES), doc="the field from left to right")
    y = param.Selector(default="sigma", objects=list(AXES), doc="the field from bottom to top")
    targets: Any = Targets([0.1, 1.0, 10.0], item_type=float, bounds=(0, MOST_TARGETS), doc="epsilons with a line of their own")
    done = param.Number(1.0, bounds=(0, 1), doc="how much of the map is computed")

    def build(self) -> None:
        self.fill = empty("map-bands", "xs", "ys", "band")
        self.lines = empty("map-lines", "xs", "ys", "label", "at_x", "at_y")
        self.here = empty("map-here", "x", "y")
        self.pinned = empty("map-pins", "x", "y", "letter", "colour")
        self._held = False  # whether the dot is dragged
        self.epsilon: np.ndarray | None = None
        self._rows = np.array([])  # the values of y whose epsilons are known
        self._sheet: Sheet | None = None  # what is drawn
        self._wanted: Sheet | None = None  # what is being computed, or is drawn
        self._computing: Task | None = None
        self._shown = False
        self.figure = self._figure()
        self.pane = self.canvas(self.figure)
        self._build()
        self.param.watch(self.changed, ["bound", "x", "y"])
        self.param.watch(self._contour, "targets")
        self.pins.param.watch(self._mark, "pins")

    def _build(self) -> None:
        """The choices above the map, and the bar under them."""
        fields = {a.title: field for field, a in AXES.items()}
        bounds = {bound.title: name for name, bound in BOUNDS.items()}
        asked = {"bound": ("ε by", bounds), "x": ("from left to right", fields), "y": ("from bottom to top", fields)}
        self.choices = [
            widgets.select(label, options, "along", "pair", of=self.param[name]) for name, (label, options) in asked.items()
        ]
        self.levels = Typed(self, "targets", "lines at ε =", "target", "pair", write=_text, read=_numbers)
        self.levels.param.watch(self._refuse_levels, "refusal")
        self.bar = widgets.bar("how much of the map is computed")
        self.note = widgets.short(align="center")
        self.cancel = widgets.button("Cancel", self.stop, margin=(0, 0, 0, 12))
        self.again = widgets.button("Draw it", self.changed, margin=(0, 0, 0, 12))
        self.progress = widgets.row("progress", self.bar, self.note, self.cancel, self.again)
        self._tell("")

    def _figure(self) -> figure:
        fig = blank("map", x_range=(0, 1), y_range=(0, 1))
        ink, surface, palette = theme.colour("ink"), theme.colour("surface"), theme.map_colours(len(EDGES) - 1)
        colour = {"field": "band", "transform": LinearColorMapper(palette=palette, low=0, high=len(EDGES) - 2)}
        fig.multi_polygons("xs", "ys", source=self.fill, line_color=colour, fill_color=colour)
        fig.multi_line("xs", "ys", source=self.lines, line_color=theme.LEVEL, line_width=2)
        look = {"text_align": "center", "text_baseline": "middle", "background_fill_color": surface}
        numbers = look | {"text_color": ink, "padding": 3, "background_fill_alpha": 0.85, "level": "glyph"}
        words(fig, "at_x", "at_y", "label", self.lines, **numbers)
        letters = look | {"text_color": "colour", "text_font_size": "13px", "text_font_style": "bold"}
        words(fig, "x", "y", "letter", self.pinned, padding=4, border_radius=10, **letters)
        here = {"fill_color": theme.HERE, "line_color": surface, "line_width": 2.5}
        fig.scatter("x", "y", source=self.here, size=13, marker="circle", level="overlay", **here)
        self.colours = ColorBar(
            color_mapper=LinearColorMapper(palette=palette, low=DECADES[0], high=DECADES[1]),
            ticker=FixedTicker(ticks=list(range(DECADES[0], DECADES[1] + 1))),
            formatter=CustomJSTickFormatter(code=_POWERS),
            width=14, padding=6, background_fill_color=None, major_label_text_color=ink, major_label_text_font=theme.FONT,
        )  # fmt: skip
        fig.add_layout(self.colours, "right")
        for kind, do in {Tap: self._tapped, PanStart: self._taken, Pan: self._dragged, PanEnd: self._let_go}.items():
            fig.on_event(kind, do)
        for axis in fig.axis:
            fixed_ticks(axis, {})
        return fig

    async def refresh(self) -> None:
        """Draw what the state and the choices ask for; what cannot be drawn says why."""
        if self.x == self.y:
            self._draw_nothing("Choose two different fields.")
            return
        wanted = Sheet(self._apart(), self.state.accounting, self.bound, self.x, self.y)
        self._mark()
        if wanted == self._wanted:
            return
        stuck = [a.symbol for f in (self.x, self.y) if (a := AXES[f]).values(wanted.setting, SIZE).max() == 0]
        if stuck:
            self._draw_nothing(f"{stuck[0]} can only be 0 here.")
            return
        if self._sheet is None or (self.x, self.y) != (self._sheet.x, self._sheet.y):  # nothing drawn is of these axes
            self._sheet = self.epsilon = None
            for source in (self.fill, self.lines):
                fill(source)
            self._axes(wanted)
        self._want(wanted)

    def _draw_nothing(self, why: str, again: bool = False) -> None:
        """Compute no map, and say why; what is drawn stays."""
        self._want(None)
        self._tell(why, again=again)

    def _want(self, sheet: Sheet | None) -> None:
        """Compute a map, or none, in place of the one that is being computed; in a script not before it is shown."""
        if self._computing:
            self._computing.stop()
        self._wanted, self._computing = sheet, None
        if sheet and (self._shown or event_loop_is_running()):
            self._computing = Task(partial(self._compute, sheet), self._failed)

    def _woken(self, *_: Any) -> None:
        """Compute no map that nobody looks at: whoever comes back finds the rows that are remembered, and the rest follow."""
        if not self.active and self._computing and self._computing.waits:
            self._want(None)
            self._stale = True
        super()._woken()

    def _apart(self) -> Setting:
        """The setting apart from the two fields, so that moving along the map computes nothing."""
        shown, s = {self.x, self.y}, self.state.setting
        free = shown & _ANYTHING.keys() - ({"K"} if "d" in shown else set()) - ({"n"} if s.batch else set())
        return s.replace(**{name: _ANYTHING[name] for name in free})

    def stop(self) -> None:
        """Compute no further; what is drawn stays."""
        drawn = "" if self._sheet is None else ": the map is coarse" if self._sheet == self._wanted else _EARLIER
        self._draw_nothing(f"Cancelled{drawn}.", again=True)

    def _failed(self, error: Exception) -> None:
        self._wanted = None
        self._tell(no_answer(error), again=True)

    async def _compute(self, sheet: Sheet) -> None:
        """Row by row in another process: first a coarse map, then the rows between."""
        values, rows = sheet.rows, {}
        coarse = [*range(0, len(values), _COARSE), len(values) - 1]
        self._report_progress(0.0, inf)
        begun = reported = time.monotonic()
        for i in dict.fromkeys([*coarse, *range(len(values))]):
            rows[i] = await ask(row, sheet, float(values[i]))
            now = time.monotonic()
            if len(rows) == 1:
                begun = now  # the process may have had to start, or others were before us in the line
            elif now - reported > _BETWEEN:
                reported, done = now, len(rows)
                self._report_progress(done / len(values), (now - begun) * (len(values) - done) / (done - 1))
            if len(rows) in (len(set(coarse)), len(values)):
                index = sorted(rows)
                self._show(sheet, values[index], np.array([rows[i] for i in index]))

    def _report_progress(self, part: float, left: float) -> None:
        self.done = part
        rest = f", {max(left, 0.1):.{0 if left > 10 else 1}f} s left" if left < inf else ""
        self._tell(f"{format_measured_share(part)}{rest}", busy=True)
        self.bar.value = round(100 * part)

    def _show(self, sheet: Sheet, rows: np.ndarray, epsilon: np.ndarray) -> None:
        """Draw the rows that there are."""
        self._sheet, self._rows, self.epsilon = sheet, rows, epsilon
        complete = len(rows) == len(sheet.rows)
        self.done = 1.0 if complete else self.done
        with pn.io.hold():
            self._axes(sheet)
            self._contour()
            self._mark()
            if complete:
                self._tell("" if np.isfinite(epsilon).any() else f"{BOUNDS[sheet.bound].title} applies nowhere here.")
        self.push()

    def _axes(self, sheet: Sheet) -> None:
        for axis, field, span, values in (
            (self.figure.xaxis[0], sheet.x, self.figure.x_range, sheet.columns),
            (self.figure.yaxis[0], sheet.y, self.figure.y_range, sheet.rows),
        ):
            a = AXES[field]
            axis.axis_label = a.title
            at = np.log10(a.place(values))
            ticks = a.ticks() if a.linear else decades(values[0], values[-1])
            fixed_ticks(axis, {float(np.log10(x)): text for x, text in ticks.items()})
            span.update(start=float(at[0]), end=float(max(at[-1], at[0] + 1e-3)))

    def _contour(self, *_: Any) -> None:
        """The bands and the lines of what was computed."""
        sheet = self._sheet
        if sheet is None or self.epsilon is None or min(self.epsilon.shape) < 2:
            return
        z = heights(self.epsilon)
        x, y = (np.log10(AXES[f].place(v)) for f, v in ((sheet.x, sheet.columns), (sheet.y, self._rows)))
        inside = np.clip(z, EDGES[0] + 1e-9, EDGES[-1] - 1e-9)  # what is off the scale has the colour of its end
        found = level_lines(x, y, z, self.targets)
        label = [f"ε = {target:g}" for target in found.pop("target")]
        with pn.io.hold():  # one message: of two, neither reaches a browser that has not acknowledged its own text yet
            self.fill.data = bands(x, y, inside, EDGES)
            self.lines.data = {**found, "label": label}

    def _mark(self, *_: Any) -> None:
        """A circle where the setting is, and every pin's letter where its is."""
        x, y = self._place(self.state.setting)
        self.here.data = {"x": [x], "y": [y]}
        rows = []
        for pin, place in zip(self.pins.pins, self.pins.places(), strict=True):
            x, y = self._place(pin.setting)
            rows.append({"x": x, "y": y, "letter": LETTERS[place], "colour": theme.PINS[place][self.dark]})
        fill(self.pinned, rows)

    def _place(self, setting: Setting) -> tuple[float, float]:
        """Where a setting is on the map; nan where it has no such value."""
        x, y = (_logarithm(field, getattr(setting, field)) for field in (self.x, self.y))
        return x, y

    def _tapped(self, event: Tap) -> None:
        """Take the point for the setting."""
        if values := self._pointed(event):
            self.state.ask(**values)

    def _pointed(self, event: Tap | Pan) -> dict[str, float]:
        """The values that an event points at; none while nothing is drawn."""
        if self._sheet is None or event.x is None or event.y is None:
            return {}
        asked = {self._sheet.x: 10.0**event.x, self._sheet.y: 10.0**event.y}
        return {field: _tidy(AXES[field].value(place)) for field, place in asked.items()}

    def _taken(self, event: PanStart) -> None:
        """A drag begins: is it the dot that is dragged?"""
        x, y = self._place(self.state.setting)
        across, up = (span.end - span.start for span in (self.figure.x_range, self.figure.y_range))
        known = event.x is not None and event.y is not None
        self._held = known and abs(event.x - x) <= _NEAR * across and abs(event.y - y) <= _NEAR * up

    def _dragged(self, event: Pan) -> None:
        """The sliders follow the dot."""
        if self._held and (values := self._pointed(event)):
            self.state.slide(**values)

    def _let_go(self, *_: Any) -> None:
        """The dot stays where it is."""
        if self._held:
            self._held = self.state.moving = False

    def _refuse_levels(self, event: Any) -> None:
        if event.new:
            self._tell("Lines: give numbers above 0, with a decimal point and commas between them, as 0.1, 1, 10.")

    def _tell(self, words: str, busy: bool = False, again: bool = False) -> None:
        """Say how the map stands, with a bar while it is computed, or with a button to draw it again."""
        self.note.object = status(words)
        self.bar.visible = self.cancel.visible = busy
        self.again.visible = again
        kinds = {theme.BUSY: busy, "zx-idle": not words}
        self.progress.css_classes = ["zx-progress", *(kind for kind, on in kinds.items() if on)]

    def __panel__(self) -> pn.viewable.Viewable:
        self._shown = True
        if self._computing is None:
            self._want(self._wanted)
        chosen = widgets.column("choices", *self.choices, self.levels)
        return widgets.component("map", chosen, self.progress, self.pane)


def _text(numbers: list[float]) -> str:
    return ", ".join(f"{x:g}" for x in numbers)


def _numbers(text: str) -> list[float]:
    return sorted({float(parse_number(part)) for part in text.split(",") if part.strip()})


def _logarithm(field: str, value: float | None) -> float:
    """Where a field's value lies on the map's axis, which is linear in the logarithm of its place."""
    return nan if value is None else float(np.log10(AXES[field].place(max(value, 1e-300))))


def _tidy(value: float) -> float:
    """Three digits are all that a click can mean."""
    return type(value)(float(f"{value:.3g}"))
