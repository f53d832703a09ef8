"""What figures of trained models draw: the page's, and the elements of `zoexplore.plots`."""

from collections.abc import Sequence
from math import inf, isnan
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from zoexplore import palette
from zoexplore.bounds import BOUNDS
from zoexplore.training import METHODS

if TYPE_CHECKING:
    from zoexplore.training import Frontier, Point

LEAST = 0.02  # least range of an axis of accuracy, so that negligible differences do not fill it
_PINS = [light for light, _ in palette.PINS]


class Look(NamedTuple):
    """A method's style: its mark, its colour on light ground, and a short name beside the mark."""

    marker: str = "circle"
    colour: str = palette.colour("edge")
    short: str = ""


LOOKS = {
    "noisy-zogd": Look("circle", palette.hue("sharp")),
    "dpzero": Look("triangle", _PINS[3]),
    "noisy-gd": Look("diamond", _PINS[1], "Noisy GD"),
    "dp-sgd": Look("inverted_triangle", _PINS[2], "DP-SGD"),
    "non-private": Look("star", palette.colour("ink")),
    "aggzo": Look("hex", _PINS[0], "Joint clip"),
}


def title_of(method: str) -> str:
    """A method's title; its key if a file has an unknown one."""
    return METHODS[method].title if method in METHODS else method


def look_of(method: str) -> Look:
    """A method's style; a plain one for an unknown method."""
    return LOOKS.get(method, Look())


def bar(point: "Point") -> list[float]:
    """The mean accuracy minus and plus one standard error; the mean twice if the error is unknown."""
    mean, error = point.mean("accuracy"), point.error("accuracy")
    return [mean, mean] if isnan(error) else [mean - error, mean + error]


def spread(point: "Point", utility: str) -> str:
    """A mean with its standard error, if known; a dash if not measured."""
    mean, error = point.mean(utility), point.error(utility)
    return "–" if isnan(mean) else f"{mean:.3f}" + ("" if isnan(error) else f" ± {error:.3f}")


def extent(values: Sequence[float]) -> float:
    """The range of an axis for these values, without margins."""
    return max(max(values) - min(values), LEAST)


class Line(NamedTuple):
    """One method: its points, their epsilons by their best sound account (none without noise), utilities and error bars."""

    method: str
    colour: str
    points: list["Point"]
    x: list[float]
    y: list[float]
    bars: list[list[float]]


def lines(frontier: "Frontier") -> list[Line]:
    """Every method of a frontier with a sound account or without noise, the best last point first."""
    found = []
    for method in dict.fromkeys(p.method for p in frontier.points):
        noisy = METHODS[method].noisy if method in METHODS else True
        points = [p for p in frontier.points if p.method == method and (p.by or not noisy)]
        points.sort(key=lambda p: p.epsilon[p.by] if p.by else 0.0)
        if points:
            x = [p.epsilon[p.by] for p in points] if noisy else []
            y, bars = [p.mean("accuracy") for p in points], [bar(p) for p in points]
            found.append(Line(method, look_of(method).colour, points, x, y, bars))
    return sorted(found, key=lambda line: -line.y[-1])


class Way(NamedTuple):
    """One method by one bound: points and error bars by epsilon, and the line through them."""

    method: str
    bound: str  # empty if no epsilon is finite; the line then spans those of others
    x: list[float]
    y: list[float]
    bars: list[list[float]]
    line: list[tuple[float, float]]
    hollow: bool = False  # whether the bound rests on suppositions


def ways(frontier: "Frontier", bounds: Sequence[str]) -> list[Way]:
    """A frontier by some bounds. The line of a method with a single point is its course over the steps."""
    found, public = [], []
    for method in dict.fromkeys(p.method for p in frontier.points):
        points = [p for p in frontier.points if p.method == method]
        for bound in bounds:
            drawn = sorted((p for p in points if 0 < p.epsilon[bound] < inf), key=lambda p: p.epsilon[bound])
            if drawn:
                x, y = [p.epsilon[bound] for p in drawn], [p.mean("accuracy") for p in drawn]
                steps = list(zip(drawn[0].epsilons.get(bound, ()), drawn[0].means("accuracy"), strict=False))
                line = steps if len(points) == 1 and steps else list(zip(x, y, strict=True))
                found.append(Way(method, bound, x, y, [bar(p) for p in drawn], line, any(p.supposed for p in drawn)))
        if not any(way.method == method for way in found):
            public.append((method, points[0].mean("accuracy")))
    ends = [e for way in found for e, _ in way.line if 0 < e < inf] or [0.1, 10.0]
    return found + [Way(method, "", [], [], [], [(e, y) for e in (min(ends), max(ends))]) for method, y in public]


def labels(drawn: Sequence[Way]) -> list[str]:
    """Names of lines: the bound, after the method if several share the bound, or if it has none."""
    several = len({way.method for way in drawn if way.bound}) > 1
    found = []
    for way in drawn:
        method = [title_of(way.method)] if several or not way.bound else []
        found.append(", ".join([*method, BOUNDS[way.bound].title] if way.bound else method))
    return found


class Rivals(NamedTuple):
    """The most accurate methods at one target epsilon, one with gradients and one with random directions."""

    target: float
    gradients: "Point"
    directions: "Point"


def rivals(frontier: "Frontier") -> Rivals | None:
    """The rivals at the middlemost target that both kinds reach; None if there is none."""
    targets = sorted({p.target for p in frontier.points if p.target is not None})
    for target in sorted(targets, key=lambda t: abs(targets.index(t) - len(targets) // 2)):
        at = [p for p in frontier.points if p.target == target and p.by and p.method in METHODS]
        kinds = [[p for p in at if METHODS[p.method].every_direction is kind] for kind in (True, False)]
        if all(kinds):
            return Rivals(target, *(max(kind, key=lambda p: p.mean("accuracy")) for kind in kinds))
    return None


def short_of(method: str) -> str:
    """A method's short name."""
    return look_of(method).short or title_of(method)


def placed_apart(wanted: Sequence[float], heights: Sequence[float], room: float) -> list[float]:
    """Starts of blocks of these heights, near the wanted places: without overlap, and within `room` if they fit.

    >>> placed_apart([10, 12, 90], [20, 20, 20], 100)
    [0.0, 20.0, 80.0]
    """
    order = np.argsort(wanted, kind="stable")
    starts, end = np.zeros(len(order)), 0.0
    for i in order:  # down from the top
        end = starts[i] = max(float(wanted[i]) - heights[i] / 2, end)
        end += heights[i]
    for i in order[::-1]:  # and up from the bottom, if they ran out of room
        room -= heights[i]
        starts[i] = room = min(starts[i], room)
    return [float(max(start, 0.0)) for start in starts] if room >= 0 else [float(start - room) for start in starts]
