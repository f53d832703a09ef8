"""What figures are drawn from, as columns: made here once, for the page's sources and for the elements of `zoexplore.plots`."""

from collections.abc import Sequence
from itertools import pairwise
from math import inf, isnan
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from bokeh.plotting.contour import contour_data

from zoexplore import palette
from zoexplore.bounds import BOUNDS
from zoexplore.bounds.bound import CLIP_ALONE, Trajectory
from zoexplore.run.formatting import format_short
from zoexplore.training import METHODS
from zoexplore.training.costs import kept, passes

if TYPE_CHECKING:
    from zoexplore.training import Frontier, Point

LEAST = 0.02  # of a utility that an axis spans: differences that say nothing do not fill it
_NEAR = 3.0  # costs within this factor have names that may meet
STEP = ("z", "p", "a", "rho", "beta", "alpha", "pi")  # of a trajectory
MOST_POINTS = 300
_PINS = [light for light, _ in palette.PINS]
_OF_THE_LOSS = "the loss is "  # how the models' own suppositions begin, which composition does without


def least_deltas(epsilons: np.ndarray, values: np.ndarray, deltas: np.ndarray) -> np.ndarray:
    """For each epsilon the smallest of the deltas (ascending) at which a bound's value, shape of deltas, is no more than it.

    Not interpolated, since between two points only the larger delta is known to be enough; nan where none is.
    """
    allowed = values[None, :] <= epsilons[:, None]
    return np.where(allowed.any(axis=1), deltas[allowed.argmax(axis=1)], np.nan)


def bands(x: np.ndarray, y: np.ndarray, z: np.ndarray, edges: np.ndarray) -> dict[str, list]:
    """Filled contours as columns of a multi-polygon glyph: xs, ys, and which band each is."""
    found = contour_data(x, y, z, edges, want_line=False).fill_data
    return {"xs": found.xs, "ys": found.ys, "band": list(range(len(found.xs)))}


def thinned(path: Trajectory) -> dict[str, np.ndarray]:
    """A trajectory as columns, of long ones the steps evenly spread over the logarithm of how many are left."""
    N = path.rho.size
    left = np.arange(N, 0, -1)
    if N > MOST_POINTS:
        left = np.unique(np.geomspace(1, N, MOST_POINTS).round().astype(int))[::-1]
    nothing = np.full(N, np.nan)
    columns = {name: nothing if (values := getattr(path, name)) is None else values for name in STEP}
    return {"left": left.astype(float), **{name: values[N - left] for name, values in columns.items()}}


class Look(NamedTuple):
    """How a method is drawn: its mark, its colour on light ground, and its name beside the mark where its title is too long."""

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
    """What a method is called; a file may have some that are not known here."""
    return METHODS[method].title if method in METHODS else method


def name_of(point: "Point") -> str:
    """What a menu calls a point."""
    return title_of(point.method) + (f", σ = {format_short(point.sigma)}" if point.sigma else "")


def look_of(method: str) -> Look:
    """How a method is drawn: plainly where it is not known here."""
    return LOOKS.get(method, Look())


def supposed(point: "Point", bound: str) -> tuple[str, ...]:
    """What a bound takes for granted of this point's data and loss. Where the loss is only supposed, what the clip alone
    carries is counted without.
    """
    if bound not in CLIP_ALONE:
        return point.supposed
    return tuple(words for words in point.supposed if not words.startswith(_OF_THE_LOSS))


def bar(point: "Point", utility: str, step: int = -1) -> list[float]:
    """From one standard error below a point's mean to one above it; the mean alone where no error is known."""
    mean, error = point.mean(utility, step), point.error(utility, step)
    return [mean, mean] if isnan(error) else [mean - error, mean + error]


def spread(point: "Point", utility: str) -> str:
    """A mean with its standard error, where several seeds allow one; a dash where it was not measured."""
    mean, error = point.mean(utility), point.error(utility)
    return "–" if isnan(mean) else f"{mean:.3f}" + ("" if isnan(error) else f" ± {error:.3f}")


def extent(values: Sequence[float]) -> float:
    """What an axis spans for these values, apart from the room above and below them."""
    return max(max(values) - min(values), LEAST)


class Line(NamedTuple):
    """One method: its points, their epsilons by their best sound account, none without noise, their utilities and error bars."""

    method: str
    colour: str
    points: list["Point"]
    x: list[float]
    y: list[float]
    bars: list[list[float]]


def lines(frontier: "Frontier", utility: str = "accuracy") -> list[Line]:
    """Every method of a frontier that has a sound account or no noise, from the one that ends best on."""
    found = []
    for method in dict.fromkeys(p.method for p in frontier.points):
        noisy = METHODS[method].noisy if method in METHODS else True
        points = [p for p in frontier.points if p.method == method and (p.by or not noisy)]
        points.sort(key=lambda p: p.epsilon[p.by] if p.by else 0.0)
        if points:
            x = [p.epsilon[p.by] for p in points] if noisy else []
            y, bars = [p.mean(utility) for p in points], [bar(p, utility) for p in points]
            found.append(Line(method, look_of(method).colour, points, x, y, bars))
    sign = 1 if utility == "loss" else -1
    return sorted(found, key=lambda line: sign * line.y[-1])


class Way(NamedTuple):
    """One method by one bound: its points and their bars by epsilon, and the line that joins them."""

    method: str
    bound: str  # empty where no bound gives a finite epsilon, and the line spans those of others
    x: list[float]
    y: list[float]
    bars: list[list[float]]
    line: list[tuple[float, float]]
    hollow: bool = False  # whether a bound rests on what is only supposed


def ways(frontier: "Frontier", bounds: Sequence[str], utility: str = "accuracy") -> list[Way]:
    """A frontier by some bounds. The line of a method with a single point is its course: what stopping at each step costs."""
    found, public = [], []
    for method in dict.fromkeys(p.method for p in frontier.points):
        points = [p for p in frontier.points if p.method == method]
        for bound in bounds:
            drawn = sorted((p for p in points if 0 < p.epsilon[bound] < inf), key=lambda p: p.epsilon[bound])
            if drawn:
                x, y = [p.epsilon[bound] for p in drawn], [p.mean(utility) for p in drawn]
                steps = list(zip(drawn[0].epsilons.get(bound, ()), drawn[0].means(utility), strict=False))
                line = steps if len(points) == 1 and steps else list(zip(x, y, strict=True))
                hollow = any(supposed(p, bound) for p in drawn)
                found.append(Way(method, bound, x, y, [bar(p, utility) for p in drawn], line, hollow))
        if not any(way.method == method for way in found):
            public.append((method, points[0].mean(utility)))
    ends = [e for way in found for e, _ in way.line if 0 < e < inf] or [0.1, 10.0]
    return found + [Way(method, "", [], [], [], [(e, y) for e in (min(ends), max(ends))]) for method, y in public]


def labels(drawn: Sequence[Way]) -> list[str]:
    """What lines are called: the bound, after the method where several have one, or where it has none."""
    several = len({way.method for way in drawn if way.bound}) > 1
    found = []
    for way in drawn:
        method = [title_of(way.method)] if several or not way.bound else []
        found.append(", ".join([*method, BOUNDS[way.bound].title] if way.bound else method))
    return found


class Rivals(NamedTuple):
    """The most accurate at one target epsilon: of the methods by gradients, and of those by random directions."""

    target: float
    gradients: "Point"
    directions: "Point"


def rivals(frontier: "Frontier") -> Rivals | None:
    """At the target nearest to the middle one that both kinds reach; None where there is none."""
    targets = sorted({p.target for p in frontier.points if p.target is not None})
    for target in sorted(targets, key=lambda t: abs(targets.index(t) - len(targets) // 2)):
        at = [p for p in frontier.points if p.target == target and p.by and p.method in METHODS]
        kinds = [[p for p in at if METHODS[p.method].every_direction is kind] for kind in (True, False)]
        if all(kinds):
            return Rivals(target, *(max(kind, key=lambda p: p.mean("accuracy")) for kind in kinds))
    return None


COSTS = {
    "memory": (kept, "numbers that a clipped step keeps of a record"),
    "passes": (passes, "forward passes of a record in all steps"),
}


def short_of(method: str) -> str:
    """A method's name beside its mark."""
    return look_of(method).short or title_of(method)


def apart(values: Sequence[float], least: float) -> list[float]:
    """Places for names as near to their values as may be, none nearer to another than `least`."""
    order, places = sorted(range(len(values)), key=lambda i: values[i]), list(values)
    for _ in range(200):
        for below, above in pairwise(order):
            short = least - (places[above] - places[below])
            if short > 1e-12:
                places[below] -= short / 2
                places[above] += short / 2
    return places


def near_costs(x: Sequence[float], y: Sequence[float], least: float) -> list[float]:
    """Heights of names beside their marks, those at about the same cost kept apart."""
    order, found = sorted(range(len(x)), key=lambda i: x[i]), list(y)
    while order:
        near = [i for i in order if x[i] <= _NEAR * x[order[0]]]
        for i, place in zip(near, apart([y[i] for i in near], least), strict=True):
            found[i] = place
        order = order[len(near) :]
    return found
