"""Where hiding the iterates helps, over the steps T and the share beta: by how much, or why not.
The run is moved there.
"""

from html import escape
from itertools import pairwise
from typing import Any

import numpy as np
import panel as pn
import param
from contourpy import FillType, LineType, contour_generator

from zoexplore.compute.ask import ask
from zoexplore.compute.computations import curve_set, gains, said_of_truth
from zoexplore.questions.hiding import LEAST_GAIN, Gain
from zoexplore.run.axes import AXES, EDGE
from zoexplore.run.formatting import format_count, format_number, format_short, round_up
from zoexplore.views.figures.chart import script
from zoexplore.views.figures.publish import Two
from zoexplore.views.html import written
from zoexplore.views.style import theme, widgets
from zoexplore.views.view import View

LEVELS = (2.0, 10.0, 100.0)  # that have a line
_EDGES = np.log10([LEAST_GAIN, *LEVELS, 1e13])
_FROM = (2, 10, 100, 1000)  # of the table
LABELLED = 0.2  # beta of the lines' names
POINTS, SHARES = 73, 30  # along T, and along beta


class Map(pn.custom.JSComponent):
    """The map in the browser."""

    given = param.Dict(
        {}, doc="`bands` and `lines` as SVG's paths; the run and its place; the words"
    )
    table = param.List([], doc="rows of T, beta and the factor")
    asked = param.List(
        [],
        doc="T and the place of beta that the reader wants, whether the ring is still held, and the time",
    )

    _esm = script("export", "map")

    def __init__(self, **params: Any) -> None:
        sheets = [theme.css("chart", "export", "map", "figure")]
        super().__init__(css_classes=["zx-chart"], stylesheets=sheets, **theme.STRETCH | params)


class Helps(View):
    """How much hiding divides epsilon by, the map with the run on it, and from how many steps on it
    pays.
    """

    rest, precedence = 0.2, 1

    def build(self) -> None:
        self.map = Map()
        self.map.param.watch(self._moved, "asked")
        self._some = max(self.state.n // 10, 1)  # records of a batch, and
        self._late = 1  # steps of a cool-down, where they are switched on
        self.batches, self.cooled = (
            widgets.mirror(widgets.radio(name, [], "long_radio"), self.state, shown, chosen)
            for name, shown, chosen in (
                ("records per step", self._batches, lambda b: self.state.ask(batch=b or None)),
                ("cool-down", self._cooled, lambda late: self.state.ask(cooldown=late)),
            )
        )
        self.words, self.beside = (
            widgets.html("", "words", "gain"),
            widgets.html("", "words", "table", "gain"),
        )
        self.limit = widgets.html("", "words", visible=False)
        self._drawn: tuple[Any, ...] = ()  # the run of the map, but for T and beta
        self._map: dict[str, Any] = {}

    def _batches(self) -> dict[str, Any]:
        """All records, or batches of the size that was set last."""
        s = self.state.setting
        some = 0 if s.full_batch else s.batch or 0
        self._some = min(some or self._some, s.n)
        batches = {"all records": 0, f"batches of {format_count(self._some)}": self._some}
        return {"options": batches, "value": some}

    def _cooled(self) -> dict[str, Any]:
        """No cool-down, or one of the length that was set last."""
        s = self.state.setting
        self._late = s.cooldown or self._late
        steps = "the last step" if self._late == 1 else f"the last {format_count(self._late)} steps"
        share = format_short(s.replace(cooldown=s.T).beta_at(0), 3)
        offered = {"no cool-down": 0, f"{steps} with β = {share}": self._late}
        return {"options": offered, "value": s.cooldown}

    async def refresh(self) -> None:
        run = setting, accounting = self.state.run
        here = await ask(gains, *run, "T", "beta", (float(setting.T),), (setting.beta,))
        along = Two.of(await ask(curve_set, *run, "T"))
        steps = AXES["T"].values(setting, POINTS)
        # all of these runs have one map
        anywhere = setting.replace(T=int(steps[-1]), beta=0.5), accounting
        if self._drawn != anywhere:
            # on batches each takes longer
            betas = AXES["beta"].values(setting, SHARES if setting.full_batch else SHARES // 2)
            both = tuple(map(float, steps)), tuple(map(float, betas))
            found = await ask(gains, *anywhere, "T", "beta", *both)
            self._map, self.map.table = drawn(steps, betas, found)
            self._drawn = anywhere
        with pn.io.hold():
            self._say(here, along)
        limit = await ask(said_of_truth, setting)
        self.limit.param.update(object=f"<p>{escape(limit)}</p>", visible=bool(limit))

    def _say(self, here: Gain, along: Two) -> None:
        """Write how much hiding helps this run, or why it does not, and put it on the map."""
        s, why = self.state.setting, str(here.why[0, 0])
        ratio, before, now = (
            float(each[0, 0]) for each in (here.ratio, here.composition, here.least)
        )
        with np.errstate(invalid="ignore", divide="ignore"):
            factor = along.every / along.last
        from_ = {
            k: round_up(float(along.T[np.argmax(factor >= k)]), 3)
            for k in _FROM
            if (factor >= k).any()
        }
        share = format_short(s.beta, 6)
        self.words.object = written("figures", "gain", ratio, why, before, now)
        self.beside.object = written("figures", "pays", why, share, from_)
        told = f"ε {format_number(before)} becomes {format_number(now)}"
        told = "hiding gains nothing" if why else told
        run = f"T = {format_count(s.T)}, β = {share}: {told}"
        self.map.given = self._map | {
            "T": s.T,
            "place": float(AXES["beta"].place(s.beta)),
            "told": run,
            "said": f"By how much hiding divides ε, over steps T and noise along directions β. {run}",
            "cooled": s.cooldown > 0,
        }

    def _moved(self, event: Any) -> None:
        T, place, held, _ = event.new
        if isinstance(T, (int, float)) and isinstance(place, (int, float)):
            change = self.state.slide if held else self.state.ask
            change(T=int(min(max(T, 1), 2**53)), beta=AXES["beta"].value(place))

    def __panel__(self) -> pn.viewable.Viewable:
        drawn, switches = (
            widgets.stack(self.words, self.map),
            widgets.stack(self.batches, self.cooled),
        )
        return widgets.component(
            "helps", widgets.row("stage", drawn, widgets.stack(switches, self.limit, self.beside))
        )


def drawn(
    steps: np.ndarray, betas: np.ndarray, gain: Gain
) -> tuple[dict[str, Any], list[list[float]]]:
    """The map of gains at these steps and shares: its bands and lines as SVG's paths, the places of
    the lines' names along T, and ticks; and its table.
    """
    axis, decades = AXES["beta"], np.log10(steps)
    x, y, inner = decades / decades[-1], axis.place(betas), _EDGES[1:-1]
    ratio = np.log10(np.nan_to_num(np.minimum(gain.ratio, 1e12), nan=1.0))
    fills, lines = FillType.ChunkCombinedCode, LineType.ChunkCombinedCode
    cut = contour_generator(x, y, ratio, fill_type=fills, line_type=lines)
    row = ratio[np.abs(betas - LABELLED).argmin()]
    places = np.interp(inner, row, x, left=np.nan, right=np.nan)
    given = {
        "bands": [_path(*cut.filled(*ends)) for ends in pairwise(_EDGES)],
        "lines": [_path(*cut.lines(edge)) for edge in inner],
        "labels": [None if np.isnan(place) else float(place) for place in places],
        "none": not np.isfinite(gain.least).any(),
        "decades": float(decades[-1]),
        "ticks": [[at, text] for at, text in axis.ticks().items()],
        "step": float(axis.place(0.05)),
        "broken": float(axis.place(EDGE)),
    }
    T, beta = np.meshgrid(steps, betas)
    return given, np.stack([T, beta, gain.ratio], axis=-1).reshape(-1, 3).tolist()


def _path(points: list[Any], codes: list[Any]) -> str:
    """Contourpy's curves as SVG's path in a square of 1000, whose y axis points down."""
    if points[0] is None:
        return ""
    pens = np.where(codes[0] == 1, "M", "L")  # 1 begins a curve
    return "".join(
        f"{pen}{1000 * x:.1f} {1000 * (1 - y):.1f}"
        for pen, (x, y) in zip(pens, points[0], strict=True)
    )
