"""When hiding the iterates helps: by how much epsilon falls, over steps and the share beta, and where published runs are."""

from html import escape

import numpy as np
import panel as pn
from bokeh.events import Tap
from bokeh.plotting import figure

from zoexplore.axes import decades
from zoexplore.columns import bands
from zoexplore.compute.ask import ask
from zoexplore.compute.questions import gains
from zoexplore.formatting import THIN, format_number, format_short
from zoexplore.planning.hiding import LEAST_GAIN, Gain
from zoexplore.presets import PRESETS
from zoexplore.published import RUNS
from zoexplore.views.figures.parts import blank, empty, fill, fixed_ticks, words
from zoexplore.views.style import theme, widgets
from zoexplore.views.view import View

STEPS = tuple(float(T) for T in np.unique(np.geomspace(1, 1e6, 31).round()))
SHARES = tuple(float(beta) for beta in 1 - np.geomspace(1, 1e-6, 13))  # beta = 1 has a strip of its own
BANDS = {"nothing": LEAST_GAIN, "up to 2": 2.0, "2 to 10": 10.0, "10 to 100": 100.0, "over 100": np.inf}
_STRIP = (-0.9, -0.25)  # where beta = 1 is drawn, below the decades of 1 − beta
_APART = 0.28  # decades of T between the marks of two runs
_REST = 6.0  # decades of 1 − beta


def height(beta: float) -> float:
    """Where a share is drawn: 1 − beta in decades from the bottom, beta = 1 in its strip."""
    return sum(_STRIP) / 2 if beta >= 1 else max(_REST + np.log10(1 - beta), 0.0)


class Helps(View):
    """The map, this run on it, and the runs of the literature; a click sets T and beta."""

    rest, precedence = 0.2, 1

    def build(self) -> None:
        self.fill, self.strip = empty("gain-bands", "xs", "ys", "colour"), empty("gain-strip", "left", "right", "colour")
        self.here, self.runs = empty("gain-here", "x", "y"), empty("gain-runs", "x", "y", "text")
        self.names = empty("gain-names", "x", "y", "text")
        self.figure = self._figure()
        self.pane = self.canvas(self.figure)
        self.words, self.table = widgets.html("", "words", "gain"), widgets.html("", "table", "gain")

    def _figure(self) -> figure:
        fig = blank("gain", bare=True, x_range=(0, 6), y_range=(_STRIP[0], _REST), min_border_top=34, x_axis_label="T, steps")
        fig.multi_polygons("xs", "ys", source=self.fill, line_color="colour", fill_color="colour")
        fig.quad("left", "right", _STRIP[1], _STRIP[0], source=self.strip, line_color="colour", fill_color="colour")
        ink, surface = theme.colour("ink"), theme.colour("surface")
        fig.scatter("x", "y", source=self.runs, size=19, fill_color=ink, line_color=surface, line_width=1.5, level="overlay")
        look = {"text_align": "center", "text_baseline": "middle", "text_font_size": "11px", "text_font_style": "bold"}
        words(fig, "x", "y", "text", self.runs, text_color=surface, **look)
        fig.scatter("x", "y", source=self.here, size=17, fill_color=None, line_color=surface, line_width=6, level="overlay")
        fig.scatter("x", "y", source=self.here, size=17, fill_color=None, line_color=ink, line_width=2.5, level="overlay")
        above = {"text_align": "center", "text_baseline": "bottom", "text_color": ink, "y_offset": -6}
        words(fig, "x", "y", "text", self.names, **above)
        fixed_ticks(fig.xaxis[0], {float(np.log10(x)): text for x, text in decades(1, 1e6).items()})
        shares = {0.0: "β = 0", 0.9: "0.9", 0.99: "0.99", 0.999: "0.999", 1 - 1e-6: "1 − 10⁻⁶", 1.0: "β = 1"}
        fixed_ticks(fig.yaxis[0], {height(beta): text for beta, text in shares.items()})
        fig.grid.visible = False
        fig.on_event(Tap, self._tapped)
        return fig

    async def refresh(self) -> None:
        run = self.state.setting, self.state.accounting
        found = await ask(gains, *run, STEPS, SHARES)
        along, here = await ask(gains, *run, STEPS, (1.0,)), await ask(gains, *run, (float(run[0].T),), (run[0].beta,))
        with pn.io.hold():
            self._draw(found, along)
            self._mark()
            self._say(here)
        self.push()

    def _draw(self, found: Gain, along: Gain) -> None:
        x, y = np.log10(STEPS), np.array([height(beta) for beta in SHARES])
        colours = [pair[self.dark] for pair in theme.GAINS]
        ratio = np.nan_to_num(np.minimum(found.ratio, 1e12), nan=1.0)
        edges = np.log10([1e-9, *list(BANDS.values())[:-1], 1e13])
        found_bands = bands(x, y[::-1], np.log10(ratio)[::-1], edges)
        self.fill.data = {"xs": found_bands["xs"], "ys": found_bands["ys"], "colour": [colours[i] for i in found_bands["band"]]}
        at_one = np.digitize(np.log10(np.nan_to_num(np.minimum(along.ratio[0], 1e12), nan=1.0)), edges[1:-1])
        right = np.append(x[1:], x[-1])
        self.strip.data = {"left": x, "right": right, "colour": [colours[i] for i in at_one]}
        self._name(np.digitize(np.log10(ratio[0]), edges[1:-1]), x)

    def _name(self, of_top: np.ndarray, x: np.ndarray) -> None:
        """Name each band above the stretch of the top edge that it has, where that is wide enough."""
        rows = []
        for band, name in enumerate(BANDS):
            places = x[of_top == band]
            if places.size and np.ptp(places) > 0.09 * len(name):
                rows.append({"x": float(places.min() + places.max()) / 2, "y": _REST, "text": name})
        fill(self.names, rows)

    def _mark(self) -> None:
        s = self.state.setting
        self.here.data = {"x": [np.log10(min(s.T, 1e6))], "y": [height(s.beta)]}
        rows, last = [], -np.inf
        for number, (key, run) in sorted(enumerate(RUNS.items(), start=1), key=lambda each: each[1][1].T):
            last = max(float(np.log10(run.T)), last + _APART)  # side by side where they share a place
            rows.append({"x": last, "y": height(PRESETS[key].setting.beta), "text": str(number)})
        fill(self.runs, rows)

    def _say(self, here: Gain) -> None:
        """By how much hiding helps this run, or why it does not; then the published runs."""
        ratio, before, now = float(here.ratio[0, 0]), float(here.composition[0, 0]), float(here.least[0, 0])
        if here.why[0, 0] or not ratio > LEAST_GAIN:
            said = (
                f'<p class="epsilon"><i>ε</i> ÷ 1</p><p>Hiding the iterates gains nothing here. {escape(str(here.why[0, 0]))}</p>'
            )
        else:
            by = "∞" if np.isinf(ratio) else format_short(ratio, 2)
            said = (
                f'<p class="epsilon last"><i>ε</i> ÷ <b>{by}</b> <span class="ghost">{format_number(before)} →{THIN}'
                f"{format_number(now)}</span></p><p>Hiding the iterates helps here.</p>"
            )
        self.words.object = said
        rows = "".join(
            f'<tr title="{escape(run.difference)}"><td>{number}</td><th scope="row">{escape(PRESETS[key].name)}</th>'
            f"<td>{format_short(run.claimed)}</td><td><b>{format_number(run.ours)}</b></td></tr>"
            for number, (key, run) in enumerate(RUNS.items(), start=1)
        )
        heads = '<th colspan="2">Published runs: at β = 1 hiding gains nothing</th><th>claimed</th><th>provable</th>'
        head = f"<thead><tr>{heads}</tr></thead>"
        self.table.object = widgets.region("published runs", f"<table>{head}<tbody>{rows}</tbody></table>")

    def _tapped(self, event: Tap) -> None:
        if event.x is not None and event.y is not None:
            T = max(round(float(f"{10.0 ** min(event.x, 6):.3g}")), 1)
            beta = 1.0 if event.y < 0 else min(max(1 - float(f"{10.0 ** (event.y - _REST):.2g}"), 0.0), 1.0)
            self.state.ask(T=T, beta=beta)

    def __panel__(self) -> pn.viewable.Viewable:
        return widgets.component("helps", widgets.row("stage", widgets.stack(self.words, self.pane), self.table))
