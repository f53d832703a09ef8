"""Redrawing the views that no slider moves, with what they draw at hand: ours, one Bokeh figure whose sources get other data,
and HoloViews' way, a `DynamicMap` of the same marks over a stream."""

from itertools import cycle
from time import process_time

import holoviews as hv
import numpy as np
import panel as pn
from bokeh.document import Document
from holoviews.streams import Pipe

from benchmarks.timing import milliseconds, table
from zoexplore import plots
from zoexplore.columns import heights, level_lines
from zoexplore.compute.questions import Sheet, row
from zoexplore.presets import DEMONSTRATION
from zoexplore.setting import Accounting
from zoexplore.training.finished import load
from zoexplore.views.figures.map import Map
from zoexplore.views.training.course import Course
from zoexplore.views.training.frontier import UtilityFigure

BOUNDS, TARGETS = ("composition", "sharp"), (0.1, 1.0, 10.0)


def run():
    """Print milliseconds of processor time and their ratios; return the ratios."""
    print("Redrawing what no slider moves: milliseconds of processor time in the server, HoloViews over ours")
    ratios = []
    for name, case in {"map": a_map, "frontier": a_frontier, "training curve": a_course}.items():
        draw, picture, data = case()
        ours, theirs = timed(draw, data), timed(streamed(picture, data[0]), data)
        ratios.append((name, f"{ours:.2f}", f"{theirs:.2f}", f"{theirs / ours:.1f}"))
    table(("view", "ours", "HoloViews", "ratio"), ratios)
    return [(f"redraw of the {name}", "HoloViews", "", float(ratio)) for name, _, _, ratio in ratios]


def timed(draw, data):
    """The least time of a redraw, each with other data than the one before."""
    turns = cycle(data)
    return milliseconds(lambda: draw(next(turns)), warm=2, clock=process_time)


def streamed(picture, first):
    """HoloViews' redraw, on a page that somebody looks at."""
    pipe = Pipe(data=first)
    pn.pane.HoloViews(hv.DynamicMap(picture, streams=[pipe])).get_root(Document())
    return pipe.send


def shown(*figures):
    """Figures on a page, so that their changes are written down for a browser."""
    page = Document()
    for figure in figures:
        page.add_root(figure)


def a_map():
    sheets = [Sheet(DEMONSTRATION.replace(T=T), Accounting(), "sharp", "K", "sigma") for T in (50, 200)]
    data = [(sheet, np.array([row(sheet, float(value)) for value in sheet.rows])) for sheet in sheets]
    view = Map()
    shown(view.figure)

    def picture(data):
        sheet, epsilon = data
        x, y = np.log10(sheet.columns), np.log10(sheet.rows)
        found = level_lines(x, y, heights(epsilon), list(TARGETS))
        paths = [{"x": a, "y": b, "ε": e} for a, b, e in zip(found["xs"], found["ys"], found["target"], strict=True)]
        words = list(zip(found["at_x"], found["at_y"], map(str, found["target"]), strict=True))
        mesh = hv.QuadMesh((x, y, heights(epsilon)), ["x", "y"], "height")
        return mesh * hv.Contours(paths, ["x", "y"], "ε") * hv.Labels(words, ["x", "y"], "text")

    return lambda data: view._show(data[0], data[0].rows, data[1]), picture, data


def a_frontier():
    view, data = UtilityFigure(lambda point: None), ["accuracy", "loss"]
    found = next(iter(load().frontiers.values()))
    shown(view.figure)
    return lambda utility: view.draw(found, BOUNDS, utility, None), lambda data: plots.frontier(found, utility=data), data


def a_course():
    view, found = Course(), next(iter(load().frontiers.values()))
    points = [point for point in found.points if point.setting][:2]
    shown(*view.figures.values())

    def picture(data):
        rest = [p for p in found.points if p is not data and p.sigma in (0, data.sigma)]
        learnt = [hv.Curve((p.steps, p.means("accuracy")), "T", "accuracy") for p in (*rest, data)]
        cost = [hv.Curve((data.steps, data.epsilons[bound]), "T", "ε", label=bound) for bound in BOUNDS]
        return hv.Overlay([*learnt, *cost])

    return lambda point: view.draw(found, BOUNDS, "accuracy", point), picture, points
