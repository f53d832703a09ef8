"""HoloViews elements of the accountant's results, for notebooks, scripts and papers.

The functions that draw return elements that compose with `*` and `+`, take `.opts`, and are written
by `hv.save`. Bounds have the explorer's colours, dashes and widths, which can be told apart with
any colour vision and in grey. `use()` gives the same look to figures of your own, and `style`
returns a bound's colour, width and dash.

>>> from zoexplore import plots
>>> from zoexplore.run.presets import DEMONSTRATION
>>> drawn = plots.curves(DEMONSTRATION, "T", range(1, 101), bounds=["composition", "sharp"])
>>> [curve.label for curve in drawn]
['Composition', 'Sharper bound']
"""

from zoexplore.plots.bounds import THIS_RUN, curves, grid, inside, tradeoff
from zoexplore.plots.look import THEME, style, use
from zoexplore.plots.training import frontier

__all__ = [
    "THEME",
    "THIS_RUN",
    "curves",
    "frontier",
    "grid",
    "inside",
    "style",
    "tradeoff",
    "use",
]
