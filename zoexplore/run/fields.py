"""Two tables from `fields.json`: the fields of a run, with names, symbols and usual ranges, and its
options.

`Setting` says which values are allowed; the ranges here are those of sliders and figures.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from zoexplore.run.text import table_beside


@dataclass(frozen=True)
class Field:
    """One numeric field of a run.

    Args:
        name: its name in `Setting`.
        symbol: the paper's symbol.
        noun: the words of an axis label.
        meaning: a phrase with unit or limits.
        low, high: the range of sliders and figures.
        whole: whether its values are whole numbers.
        linear: whether the scale is linear, as in [0, 1]; otherwise logarithmic.
        label: a control's text beside the symbol; the noun if empty.
        best: the aim of a plan that solves for the field, as in "the least noise"; empty if none
            does.
        left_out: the meaning of None; empty if None is not allowed.
        also: other names of the field.
    """

    name: str
    symbol: str
    noun: str
    meaning: str
    low: float
    high: float
    whole: bool = False
    linear: bool = False
    label: str = ""
    best: str = ""
    left_out: str = ""
    also: Sequence[str] = field(default=(), hash=False)

    @property
    def caption(self) -> str:
        """The symbol and the label, as a control shows them."""
        return f"{self.symbol} {self.label or self.noun}"


_TABLES: dict[str, Any] = table_beside(__file__)
FIELDS = {about["name"]: Field(**about) for about in _TABLES["fields"]}
# the options of `Setting` and `Accounting`, each with the names of its values
OPTIONS: dict[str, dict[str, str]] = _TABLES["options"]


def symbol_of(name: str) -> str:
    """Return a field's symbol or an option's name."""
    return FIELDS[name].symbol if name in FIELDS else name
