"""How figures show training methods: the mark, colour and short name of each, and the order in
which they stand.
"""

from typing import TYPE_CHECKING, NamedTuple

from zoexplore.palette import COLOURS, PINS, style_of
from zoexplore.training import METHODS

if TYPE_CHECKING:
    from zoexplore.training import Frontier, Point


class Look(NamedTuple):
    """A method's mark, its colours on light and dark ground, and the short name beside the mark."""

    marker: str = "circle"
    colour: tuple[str, str] = COLOURS["edge"]
    short: str = ""


_LOOKS = {
    "noisy-zogd": Look("circle", style_of("sharp").colour),
    "dpzero": Look("triangle", PINS[3]),
    "noisy-gd": Look("diamond", PINS[1], "Noisy GD"),
    "dp-sgd": Look("inverted_triangle", PINS[2], "DP-SGD"),
    "non-private": Look("star", COLOURS["ink"]),
    "aggzo": Look("hex", PINS[0], "Joint clip"),
}


def look_of(method: str) -> Look:
    """Return a method's look, which is plain for a method of your own."""
    look = _LOOKS.get(method, Look())
    return look._replace(short=look.short or METHODS[method].title)


def ranked(frontier: "Frontier") -> dict[str, list["Point"]]:
    """Sort each method's points by epsilon, and the methods by the accuracy of their last point,
    best first. Leave out points of noisy methods that have no sound account.
    """
    points = [p for p in frontier.points if p.by or not METHODS[p.method].noisy]
    points.sort(key=lambda p: p.epsilon.get(p.by, 0.0))
    by_method = {
        method: [p for p in points if p.method == method]
        for method in {p.method: p for p in points}
    }
    return dict(sorted(by_method.items(), key=lambda each: -each[1][-1].mean("accuracy")))
