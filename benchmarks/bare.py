"""A bare Panel page to compare latencies with: a slider, and a figure with as many lines and points
as the explorer's. Every move gives the figure new data; the page computes nothing and has nothing
else.
"""

import numpy as np
import panel as pn
from bokeh.models import ColumnDataSource
from bokeh.plotting import figure

LINES, POINTS = 8, 200

pn.extension()
x = np.geomspace(1, 1e6, POINTS)
source = ColumnDataSource({"x": x, **{f"y{i}": x ** (i / LINES) for i in range(LINES)}})
plot = figure(x_axis_type="log", y_axis_type="log", height=450, sizing_mode="stretch_width")
for line in range(LINES):
    plot.line("x", f"y{line}", source=source)
slider = pn.widgets.IntSlider(start=1, end=1000)
slider.param.watch(
    lambda event: source.data.update(
        {"x": x, **{f"y{i}": event.new * x ** (i / LINES) for i in range(LINES)}}
    ),
    "value",
)
pn.Column(slider, pn.pane.Bokeh(plot)).servable()
