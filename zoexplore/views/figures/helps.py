"""A map over the steps T and the share beta: where hiding the iterates helps and by how much, or
why it does not. The reader can move the run on the map.
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
from zoexplore.run.formatting import format_count, format_short, round_up
from zoexplore.views.component import Script
from zoexplore.views.figures.chart import script
from zoexplore.views.figures.publish import Two
from zoexplore.views.html import written
from zoexplore.views.style import widgets
from zoexplore.views.view import View

LEVELS = (2.0, 10.0, 100.0)  # gains with a line on the map
_EDGES = np.log10([LEAST_GAIN, *LEVELS, 1e13])
_FROM = (2, 10, 100, 1000)  # gains with a row in the table
LABELLED = 0.2  # the share beta at which the map labels its lines
POINTS, SHARES = 73, 30  # the map's points along T, and along beta


class Map(Script):
    """The map in the browser."""

    given = param.Dict(
        {}, doc="`bands` and `lines` as SVG's paths; the run and its place; the words"
    )
    table = param.List([], doc="rows of T, beta and the factor")
    asked = param.List(
        [],
        doc="T and the place of beta that the reader wants, whether the ring is still held, and the time",
    )

    kind, sheets = "chart", ("chart", "export", "map", "figure")
    _esm = script("export", "map")


class Helps(View):
    """The factor by which hiding divides epsilon, a map of that factor with the run on it, and the
    number of steps from which hiding pays.
    """

    rest, precedence = 0.2, 1

    def build(self) -> None:
        self.map = Map()
        self.map.param.watch(self._moved, "asked")
        ask = self.state.ask
        self.batches = widgets.mirror(
            widgets.radio("records per step", [], "long_radio"),
            self.state,
            self._batches,
            lambda size: ask(batch=size or None),
        )
        self.cooled = widgets.mirror(
            widgets.radio("cool-down", [], "long_radio"),
            self.state,
            self._cooled,
            lambda late: ask(cooldown=late),
        )
        self.words = widgets.html("", "words", "gain")
        self.beside = widgets.html("", "words", "table", "gain")
        self.limit = widgets.html("", "words", visible=False)
        self._found: Gain | None = None  # the gains that are painted

    def _batches(self) -> dict[str, Any]:
        """Return the batch menu's options and its value. The menu offers all records, or batches of
        the run's size; a run on all records is offered a tenth of them.
        """
        s = self.state.setting
        some = 0 if s.full_batch else s.batch
        size = some or max(s.n // 10, 1)
        offered = {"all records": 0, f"batches of {format_count(size)}": size}
        return {"options": offered, "value": some}

    def _cooled(self) -> dict[str, Any]:
        """Return the options and the value of the cool-down menu: none, or a cool-down of the set
        length, one step if no length is set.
        """
        s = self.state.setting
        late = s.cooldown or 1
        steps = "the last step" if late == 1 else f"the last {format_count(late)} steps"
        share = format_short(s.replace(cooldown=s.T).beta_at(0), 3)
        offered = {"no cool-down": 0, f"{steps} with β = {share}": late}
        return {"options": offered, "value": s.cooldown}

    async def refresh(self) -> None:
        """Write how much hiding helps this run, or why it does not, and put the run on the map."""
        run = self.state.run
        s = run[0]
        here = await ask(gains, *run, "T", "beta", (float(s.T),), (s.beta,))
        along = Two.of(await ask(curve_set, *run, "T"))
        # on batches each point takes longer to compute, so the map has fewer
        shares = SHARES if s.full_batch else SHARES // 2
        steps, betas = AXES["T"].values(s, POINTS), AXES["beta"].values(s, shares)
        both = tuple(map(float, steps)), tuple(map(float, betas))
        found = await ask(gains, *run, "T", "beta", *both)
        if found is not self._found:  # moving the run along T or beta changes no gain
            self._found, (self._painted, self.map.table) = found, painted(steps, betas, found)
        ratio, before, now = (
            float(each[0, 0]) for each in (here.ratio, here.composition, here.least)
        )
        why, share = str(here.why[0, 0]), format_short(s.beta, 6)
        told = written("figures", "told", s.T, share, why, before, now)
        place = {
            "T": s.T,
            "place": float(AXES["beta"].place(s.beta)),
            "told": told,
            "said": f"By how much hiding divides ε, over steps T and noise along directions β. {told}",
            "cooled": s.cooldown > 0,
        }
        with pn.io.hold():
            self.words.object = written("figures", "gain", ratio, why, before, now)
            self.beside.object = written("figures", "pays", why, share, _pays(along))
            self.map.given = self._painted | place
        limit = await ask(said_of_truth, s)
        self.limit.param.update(object=f"<p>{escape(limit)}</p>", visible=bool(limit))

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


def _pays(along: Two) -> dict[int, float]:
    """Return for each gain in the table the number of steps from which hiding divides epsilon by
    at least that gain; leave out gains that are never reached.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        factor = along.every / along.last
    first = {k: along.T[factor >= k] for k in _FROM}
    return {k: round_up(float(T[0]), 3) for k, T in first.items() if T.size}


def painted(
    steps: np.ndarray, betas: np.ndarray, gain: Gain
) -> tuple[dict[str, Any], list[list[float]]]:
    """Return (given, table) for a map of gains over steps and shares.

    `given` has the map's bands and lines as SVG paths, the places of the lines' labels along T, and
    the ticks. `table` has the rows [T, beta, gain].
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
    """Return contourpy's curves as an SVG path in a square of side 1000 whose y axis points down."""
    if points[0] is None:
        return ""
    pens = np.where(codes[0] == 1, "M", "L")  # 1 begins a curve
    return "".join(
        f"{pen}{1000 * x:.1f} {1000 * (1 - y):.1f}"
        for pen, (x, y) in zip(pens, points[0], strict=True)
    )
