"""The map's numbers: epsilon of one bound over two fields, row by row. No Panel here."""

from dataclasses import dataclass

import numpy as np

from zoexplore.bounds import curve
from zoexplore.setting import Accounting, Setting
from zoexplore.views.figures.axes import AXES

SIZE = 101  # points a side


@dataclass(frozen=True)
class Sheet:
    """What a map is of: two different fields of a setting, one bound."""

    setting: Setting
    accounting: Accounting
    bound: str
    x: str
    y: str
    points: int = SIZE

    @property
    def rows(self) -> np.ndarray:
        """The values of y; every row is one call of `curve`."""
        return AXES[self.y].values(self.setting, self.points)

    @property
    def columns(self) -> np.ndarray:
        """The values of x."""
        return AXES[self.x].values(self.setting, self.points)


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
