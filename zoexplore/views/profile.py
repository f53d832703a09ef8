"""The privacy profile: for every bound, which delta goes with which epsilon at the current setting."""

from html import escape
from typing import Any

import numpy as np
import panel as pn
from bokeh.models import ColumnDataSource, Range1d, Span

from zoexplore.bounds import BOUNDS
from zoexplore.views import theme
from zoexplore.views.canvas import blank, decades, dress
from zoexplore.views.frame import frame, steady
from zoexplore.views.state import State
from zoexplore.views.tab import Tab
from zoexplore.views.trace import guarantees, trace

_SAYS = """<p>A guarantee is not one number but a curve: the smaller the chance δ of an exception, the larger the ε that
has to be admitted. Every point of a line is a guarantee of the same run. The row marked is the δ that is set.</p>"""


class Profile(Tab):
    """delta against epsilon, a line a bound: epsilon is asked of the accountant at every delta drawn."""

    def __init__(self, state: State | None = None, dark: bool = False, **params: Any) -> None:
        super().__init__(state, dark, **params)
        self.source = ColumnDataSource(self._columns(), name="profile")
        self._fitted: tuple[float, float] | None = None
        self.figure = blank(
            "delta-against-epsilon", x_axis_type="log", y_axis_type="log", x_range=Range1d(1e-2, 1e2),
            y_range=Range1d(1e-12, 0.1),
        )  # fmt: skip
        self.figure.xaxis.axis_label, self.figure.yaxis.axis_label = "ε", "δ"
        for axis in self.figure.axis:
            decades(axis)
        self.now = Span(location=self.state.setting.delta, dimension="width", line_width=1.2, line_dash=[2, 3])
        self.figure.add_layout(self.now)
        self.lines = {}
        for order, bound in enumerate(BOUNDS):
            style = theme.style_of(bound, order)
            look = {"line_width": style.width, "line_dash": list(style.dash), "line_join": "round"}
            self.lines[bound] = self.figure.line(bound, "delta", source=self.source, name=bound, **look)
        self.pane = pn.pane.Bokeh(self.figure, **theme.STRETCH)
        self.words = pn.pane.HTML(_SAYS, stylesheets=[theme.css("text", "words")], **theme.STRETCH)
        self.legend = pn.pane.HTML(css_classes=["zx-legend"], stylesheets=[theme.css("legend")], **theme.STRETCH)
        self.paint(dark)
        self.refresh()
        self.follow()

    def _columns(self) -> dict[str, np.ndarray]:
        traced = trace(self.state.setting, self.state.accounting, "delta")
        shown = {b: np.where(np.isfinite(e) & (e > 0), e, np.nan) for b, e in traced.epsilon.items()}
        return {"delta": traced.values, **shown}

    def refresh(self) -> None:
        data = self._columns()
        with pn.io.hold():
            self.source.data = data
            self.now.location = self.state.setting.delta
            self._fit(data)
            self.legend.object = self._legend()
        pn.io.push_notebook(self.pane)

    def _fit(self, data: dict[str, np.ndarray]) -> None:
        """Show the decades of this run's bounds, unless the reader has zoomed or panned."""
        x = self.figure.x_range
        if self._fitted not in (None, (x.start, x.end)):
            return
        own = np.concatenate([data[b] for b in BOUNDS if theme.style_of(b).of_this_run])
        others = np.concatenate([data[b] for b in BOUNDS if not theme.style_of(b).of_this_run])
        self._fitted = steady(frame(own[np.isfinite(own)], others[np.isfinite(others)]), self._fitted)
        x.start, x.end = self._fitted

    def _legend(self) -> str:
        found = guarantees(self.state.setting, self.state.accounting)
        items = "".join(
            f'<li class="{"" if g.valid else "absent"}">{theme.swatch(theme.style_of(b, i))}'
            f"<span>{escape(g.title)}</span></li>"
            for i, (b, g) in enumerate(found.items())
        )
        return f"<ul>{items}</ul>"

    def paint(self, dark: bool) -> None:
        super().paint(dark)
        dress(self.figure, dark)
        self.now.line_color = theme.colour("muted", dark)
        for order, (bound, line) in enumerate(self.lines.items()):
            line.glyph.line_color = theme.style_of(bound, order).colour[theme.DARK if dark else theme.LIGHT]

    def __panel__(self) -> pn.viewable.Viewable:
        return pn.Column(
            self.words, self.legend, self.pane,
            css_classes=["zx-profile"], stylesheets=[theme.root("curves")], **theme.STRETCH,
        )  # fmt: skip
