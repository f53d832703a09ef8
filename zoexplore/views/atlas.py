"""The map's numbers: epsilon of one bound over two fields, row by row, and contours of it. No Panel here."""

from dataclasses import dataclass
from itertools import pairwise
from typing import cast

import numpy as np
from contourpy import contour_generator

from zoexplore.bounds import curve
from zoexplore.setting import Accounting, Setting
from zoexplore.views.abscissa import ABSCISSAE

SIZE = 101  # points a side


@dataclass(frozen=True)
class Sheet:
    """What a map is of: two different fields of a setting, one bound."""

    setting: Setting
    accounting: Accounting
    bound: str
    x: str
    y: str

    @property
    def rows(self) -> np.ndarray:
        """The values of y; every row is one call of `curve`."""
        return ABSCISSAE[self.y].values(self.setting, SIZE)

    @property
    def columns(self) -> np.ndarray:
        """The values of x."""
        return ABSCISSAE[self.x].values(self.setting, SIZE)


def row(sheet: Sheet, y: float) -> np.ndarray:
    """epsilon along x at one y, inf where the bound does not apply or the two values cannot go together."""
    columns, epsilon = sheet.columns, np.full(sheet.columns.size, np.inf)
    allowed = np.array([_allowed(sheet, x, y) for x in columns])
    if allowed.any():
        start = sheet.setting.replace(**{sheet.x: columns[allowed][0], sheet.y: y})
        found = curve(start, sheet.x, columns[allowed], [sheet.bound], sheet.accounting)
        epsilon[allowed] = found[sheet.bound]
    return epsilon


def _allowed(sheet: Sheet, x: float, y: float) -> bool:
    try:
        sheet.setting.replace(**{sheet.x: x, sheet.y: y})
    except ValueError:
        return False
    return True


def heights(epsilon: np.ndarray) -> np.ma.MaskedArray:
    """log10 of epsilon; 0 is as good as the lowest colour, and where nothing applies is masked."""
    with np.errstate(divide="ignore"):
        return np.ma.masked_invalid(np.log10(np.where(np.isfinite(epsilon), np.maximum(epsilon, 1e-300), np.nan)))


def bands(x: np.ndarray, y: np.ndarray, z: np.ma.MaskedArray, edges: np.ndarray) -> dict[str, list]:
    """Filled contours as columns of a multi-polygon glyph: xs, ys, and which band each is."""
    made = contour_generator(x, y, z, fill_type="OuterOffset")
    columns: dict[str, list] = {"xs": [], "ys": [], "band": []}
    for band, (low, high) in enumerate(pairwise(edges)):
        polygons, offsets = cast(tuple[list, list], made.filled(low, high))
        for points, cuts in zip(polygons, offsets, strict=True):
            rings = [points[a:b] for a, b in pairwise(cuts)]
            columns["xs"].append([[r[:, 0] for r in rings]])
            columns["ys"].append([[r[:, 1] for r in rings]])
            columns["band"].append(band)
    return columns


def level_lines(x: np.ndarray, y: np.ndarray, z: np.ma.MaskedArray, targets: list[float]) -> dict[str, list]:
    """Lines at target epsilons, with where to write each one's number."""
    made = contour_generator(x, y, z)
    columns: dict[str, list] = {"xs": [], "ys": [], "target": [], "at_x": [], "at_y": []}
    for target in targets:
        for line in cast(list[np.ndarray], made.lines(np.log10(target))):
            columns["xs"].append(line[:, 0])
            columns["ys"].append(line[:, 1])
            columns["target"].append(target)
            middle = line[len(line) // 2]
            columns["at_x"].append(middle[0])
            columns["at_y"].append(middle[1])
    return columns
