"""Names at the right ends of curves: curves that come together there share one, and no two names meet."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import ceil, nan

import numpy as np

from zoexplore.bounds import BOUNDS

LABELLED = 3  # lines that the label of what is off the frame takes: on a phone, names reach below it
_APART = 0.045  # of the axis's decades: names are no nearer to each other
_LINE = 2  # names that share a place are written so many to a line, which a narrow figure has room for
_SAME = 1e-3  # curves whose ends differ by less share one name
_TENTH = 10  # of a curve, over which its name is written

Frame = tuple[float, float]  # the lowest and the highest value in the frame


@dataclass
class End:
    """Where a curve ends, its value a tenth of it before, and whose names stand there: its own, and of curves that join it."""

    x: float
    y: float
    before: float
    names: list[str] = field(default_factory=list)

    @property
    def lines(self) -> int:
        """How many lines the names take."""
        return ceil(len(self.names) / _LINE)

    @property
    def text(self) -> str:
        """The names of curves that coincide, as one."""
        lines = (self.names[at : at + _LINE] for at in range(0, len(self.names), _LINE))
        return "\n= ".join(map(" = ".join, lines))


def columns(data: Mapping[str, np.ndarray], frame: Frame, muted: Iterable[str], taken: int) -> dict[str, list]:
    """A row for every bound: the place and the text of the name at the end of its curve, if one stands there.

    The uppermost lines of the frame may be `taken`.
    """
    ends = _ends(data, frame, set(muted))
    _name(ends)
    _space([end for end in ends.values() if end.names], frame, taken)
    rows = [ends.get(bound, End(nan, nan, nan)) for bound in BOUNDS]
    return {
        "end_x": [end.x for end in rows],
        "end_y": [end.y if end.names else nan for end in rows],
        "name": [end.text for end in rows],
    }


def _ends(data: Mapping[str, np.ndarray], frame: Frame, muted: set[str]) -> dict[str, End]:
    """The ends of all curves that end within the frame."""
    ends, (low, high) = {}, frame
    for bound in (bound for bound in BOUNDS if bound not in muted):
        values = np.asarray(data[bound])
        seen = np.flatnonzero((values >= low) & (values <= high))
        if seen.size and (seen[-1] == values.size - 1 or not np.isfinite(values[seen[-1] + 1])):
            before = values[max(seen[-1] - values.size // _TENTH, seen[0])]
            ends[bound] = End(float(data["x"][seen[-1]]), float(values[seen[-1]]), float(before))
    return ends


def _name(ends: dict[str, End]) -> None:
    """Name every curve at its end; those that end alike and come alike at the end of the first of them.

    A curve that meets a higher one at the very end only is named where it comes from.
    """
    for bound, end in ends.items():
        met = [other for other in ends.values() if other.x == end.x and _alike(other.y, end.y)]
        same = (other for other in met if other.names and _alike(other.before, end.before))
        next(same, end).names.append(BOUNDS[bound].title)
        if end.before < min(max(other.before for other in met), end.y) * (1 - _SAME):
            end.y = end.before


def _alike(value: float, other: float) -> bool:
    return abs(value / other - 1) < _SAME


def _space(ends: list[End], frame: Frame, taken: int) -> None:
    """Raise names, from below, so that each is far enough above the last, and below what is `taken` of the frame. One that has no
    room above its curve's end stands half a line below all of the curve that it is as wide as.
    """
    low, high = frame
    least, line = 0.0, (high / low) ** _APART
    for end in sorted(ends, key=lambda end: end.y):
        highest = high / line ** (1 + end.lines + taken)  # above the frame are annotations
        if end.y > highest:
            highest = min(highest, end.before / line ** (end.lines + 0.5))
        end.y = max(min(end.y, highest), least)
        least = end.y * line**end.lines
