"""The figure of the Train tab: accuracy against epsilon. A model is a pair of dots at one height, which grows in training."""

from collections.abc import Sequence
from math import exp, inf, isfinite, isnan, log
from typing import Any, NamedTuple

import numpy as np
from bokeh.models import Range1d

from zoexplore.run.axes import decades
from zoexplore.views.figures.parts import blank, empty, fill, fixed_ticks, words
from zoexplore.views.style import theme

GUESSING = 0.5  # the accuracy of guessing one of two classes
SHARES = (0.48, 0.96)  # the axis of accuracy, which stays as it is while a run is trained
WAYS = {"every": theme.hue("composition"), "last": theme.hue("sharp")}  # of publishing a model, with their colours
SAID = {"every": "every step", "last": "only the last"}
BEYOND = 1.3  # times the least and the largest epsilon, where the axis ends
NAMED = 5  # the place of the model by whose dots the two ways have their names
ACCENT = theme.colour("accent")
MOST_WORDS = 6  # BokehJS looks for the style of a word whose row is gone, so that there are always as many
_NOTHING = {"x": np.nan, "y": np.nan, "text": "", "dx": 0, "dy": 0, "align": "left", "colour": "#000000", "style": "normal"}
_DOT, _OWN, _RING = 9, 11, 20  # pixels across


class Model(NamedTuple):
    """The mean of several models at one noise scale.

    Args:
        sigma: the noise scale.
        accuracy: at the recorded steps so far; empty before the first.
        error: the standard error of the last of them.
        every, last: epsilon after each recorded step of the whole run, with every step published and with only the last.
    """

    sigma: float
    accuracy: tuple[float, ...]
    error: float
    every: tuple[float, ...]
    last: tuple[float, ...]

    @property
    def y(self) -> float:
        """The accuracy so far; that of guessing before the first step."""
        return self.accuracy[-1] if self.accuracy else GUESSING

    def x(self, way: str) -> float:
        """Epsilon so far; before the first step, that of the whole run."""
        along: tuple[float, ...] = getattr(self, way)
        return along[len(self.accuracy) - 1]


class Picture(NamedTuple):
    """What is drawn.

    Args:
        models: by ascending noise.
        mine: the place of the reader's own noise among them, between two where it was not trained; None if outside.
        stage: "before", "during", "stopped" or "done".
        ways: those that are drawn.
        earlier, named: the models trained before, and their name.
        free: accuracy without noise; None if unknown.
    """

    models: tuple[Model, ...]
    mine: float | None
    stage: str
    ways: tuple[str, ...]
    earlier: tuple[Model, ...] = ()
    named: str = ""
    free: float | None = None

    @property
    def ring(self) -> tuple[float, dict[str, float]] | None:
        """Accuracy and both epsilons at the reader's noise; between two trained ones along the curve."""
        if self.mine is None:
            return None
        low, high = self.models[int(self.mine)], self.models[-int(-self.mine // 1)]
        part = self.mine % 1
        xs = {way: exp((1 - part) * log(low.x(way)) + part * log(high.x(way))) for way in self.ways if low.x(way) < inf}
        return (1 - part) * low.y + part * high.y, xs

    def ends(self) -> tuple[float, float]:
        """The ends of the axis of epsilon: from the least after one step to the largest after the last."""
        seen = [e for model in self.models for way in self.ways for e in (getattr(model, way)[0], getattr(model, way)[-1])]
        seen += [model.x(way) for model in self.earlier for way in self.ways]
        finite = [e for e in seen if 0 < e < inf] or [0.1, 10.0]
        return min(finite) / BEYOND, max(finite) * BEYOND


class Trained:
    """Draws a `Picture` from three sources: lines, dots and words."""

    def __init__(self) -> None:
        self.lines = empty("trained-lines", "xs", "ys", "colour", "dash", "width", "alpha")
        self.dots = empty("trained", "x", "y", "size", "fill", "colour", "width", "inside")
        self.words = empty("trained-words", "x", "y", "text", "dx", "dy", "align", "colour", "style")
        span: dict[str, Any] = {"x_axis_type": "log", "x_range": Range1d(0.01, 100), "y_range": Range1d(*SHARES)}
        borders = {"min_border_left": 44, "min_border_right": 24, "min_border_top": 6, "min_border_bottom": 26}
        self.figure = blank("accuracy-against-epsilon", bare=True, tags=["accuracy of seven models against ε"], **span, **borders)
        look: dict[str, Any] = {"line_color": "colour", "line_width": "width", "line_dash": "dash", "line_alpha": "alpha"}
        self.figure.multi_line("xs", "ys", source=self.lines, line_join="round", **look)
        at = {"fill_color": "fill", "fill_alpha": "inside", "line_color": "colour", "line_width": "width"}
        self.figure.scatter("x", "y", size="size", source=self.dots, level="overlay", **at)
        ground = {"background_fill_color": theme.colour("surface"), "background_fill_alpha": 0.8, "text_font_style": "style"}
        place = {"x_offset": "dx", "y_offset": "dy", "text_align": "align", "text_color": "colour", "text_baseline": "middle"}
        words(self.figure, "x", "y", "text", self.words, **place, **ground)
        self.figure.xgrid.visible = False
        self.figure.yaxis.axis_line_color = self.figure.yaxis.major_tick_line_color = None
        fixed_ticks(self.figure.yaxis[0], {y / 10: f"{y / 10:g}" for y in range(5, 10)})

    def draw(self, picture: Picture) -> None:
        """Draw it, in light colours."""
        ends = picture.ends()
        if ends != (self.figure.x_range.start, self.figure.x_range.end):
            self.figure.x_range.update(start=ends[0], end=ends[1])
            fixed_ticks(self.figure.xaxis[0], decades(*ends))
        fill(self.lines, [*_grounds(picture, ends), *_lines(picture)])
        fill(self.dots, _dots(picture))
        named = _words(picture, ends)
        fill(self.words, named + [_NOTHING] * (MOST_WORDS - len(named)))


def _line(xs: Sequence[float], ys: Sequence[float], colour: str, width: float, alpha: float = 1, dash: Sequence = ()) -> dict:
    return {"xs": list(xs), "ys": list(ys), "colour": colour, "dash": list(dash), "width": width, "alpha": alpha}


def _grounds(picture: Picture, ends: tuple[float, float]) -> list[dict]:
    """Lines behind the models: accuracy without noise, the earlier frontier, and where every dot will end."""
    rows = [] if picture.free is None else [_line(ends, [picture.free] * 2, theme.colour("muted"), 1, dash=[2, 4])]
    pale = {"before": 0.8, "during": 0.3}.get(picture.stage, 0.45)
    for way in picture.ways:
        rows.append(_curve(picture.earlier, way, 1.3, pale, [5, 3]))
        if picture.stage == "during":
            foot = SHARES[0], SHARES[0] + 0.009
            rows += [
                _line([end, end], foot, WAYS[way], 3 if i == picture.mine else 1.5)
                for i, model in enumerate(picture.models)
                if (end := getattr(model, way)[-1]) < inf
            ]
    return rows


def _curve(models: Sequence[Model], way: str, width: float, alpha: float, dash: Sequence = ()) -> dict:
    finite = [model for model in models if model.x(way) < inf]
    return _line([model.x(way) for model in finite], [model.y for model in finite], WAYS[way], width, alpha, dash)


def _lines(picture: Picture) -> list[dict]:
    """Trails, curves, the link of each pair, and error bars."""
    rows: list[dict] = []
    done = picture.stage == "done"
    for way in picture.ways:
        hue = WAYS[way]
        if done:
            rows.append(_curve(picture.models, way, 3.5 if way == "last" else 2, 1))
        for model in picture.models:
            x = model.x(way)
            if x == inf:
                continue
            if not done and len(model.accuracy) > 1:
                rows.append(_line(getattr(model, way)[: len(model.accuracy)], model.accuracy, hue, 1.2, 0.4))
            if done and not isnan(model.error):
                rows.append(_line([x, x], [model.y - model.error, model.y + model.error], hue, 1.2))
    for model in picture.models:
        xs = [model.x(way) for way in picture.ways if model.x(way) < inf]
        rows += [_line(xs, [model.y] * 2, theme.colour("edge"), 0.8, 1, [1, 4])] if len(xs) > 1 else []
    if (ring := picture.ring) and len(ring[1]) > 1:
        rows.append(_line(list(ring[1].values()), [ring[0]] * 2, ACCENT, 1.6))
    return rows


def _dots(picture: Picture) -> list[dict]:
    """A dot for each model and way, hollow until it is trained, and rings around the reader's own."""
    y, xs = picture.ring or (0.0, {})
    rows = [{"x": x, "y": y, "size": _RING, "fill": ACCENT, "colour": ACCENT, "width": 2, "inside": 0} for x in xs.values()]
    for way in picture.ways:
        hue = WAYS[way]
        inside = hue if picture.stage == "done" else theme.colour("surface")
        rows += [
            {"x": model.x(way), "y": model.y, "size": _OWN if i == picture.mine else _DOT, "fill": inside, "colour": hue,
             "width": 2, "inside": 1}
            for i, model in enumerate(picture.models) if model.x(way) < inf
        ]  # fmt: skip
        pale = [{"x": model.x(way), "y": model.y} for model in picture.earlier if model.x(way) < inf]
        rows += [at | {"size": 4, "fill": hue, "colour": hue, "width": 0, "inside": 0.5} for at in pale]
    return rows


def _words(picture: Picture, ends: tuple[float, float]) -> list[dict]:
    """Names by what they name."""
    muted = theme.colour("muted")

    def word(x: float, y: float, text: str, dx: float, dy: float, align: str, colour: str = muted, bold: bool = False) -> dict:
        style = "bold" if bold else "normal"
        return {"x": x, "y": y, "text": text, "dx": dx, "dy": dy, "align": align, "colour": colour, "style": style}

    rows = [word(ends[1], GUESSING, "guessing", -2, -10, "right")]
    if picture.free is not None:
        rows.append(word(ends[0], picture.free, "without noise", 4, -10, "left"))
    if picture.earlier and picture.named:
        least = max(picture.earlier, key=lambda model: model.sigma)
        xs = [least.x(way) for way in picture.ways if isfinite(least.x(way))]
        rows += [word(float(np.sqrt(min(xs) * max(xs))), least.y, picture.named, 0, 16, "center")] if xs else []
    if picture.ring and picture.ring[1]:
        y, found = picture.ring
        known = "your σ: both ε are known, accuracy is not" if picture.stage == "before" else "your σ"
        middle = float(np.sqrt(min(found.values()) * max(found.values())))
        rows.append(word(middle, y, known, 0, -20 if picture.stage == "before" else 16, "center", ACCENT, True))
    if picture.stage != "before" and len(picture.models) > NAMED:
        for way in picture.ways:
            model = picture.models[NAMED]
            side = (-12, -4, "right") if way == "last" else (12, 12, "left")
            rows += [word(model.x(way), model.y, SAID[way], *side, WAYS[way], True)] if model.x(way) < inf else []
    return rows
