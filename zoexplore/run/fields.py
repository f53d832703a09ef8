"""Two tables from `fields.json`: the fields of a run, with names, symbols and usual ranges, and its
options.

`Setting` says which values are allowed; the ranges here are those of sliders and figures.
"""

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from zoexplore.run.formatting import THIN


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


_TABLES: dict[str, Any] = json.loads(
    Path(__file__).with_suffix(".json").read_text(encoding="utf-8")
)
FIELDS = {about["name"]: Field(**about) for about in _TABLES["fields"]}
# the options of `Setting` and `Accounting`, each with the names of its values
OPTIONS: dict[str, dict[str, str]] = _TABLES["options"]
_LONG = re.compile(r"(?<![\w.])\d{4,}(?![\w.])")
_IN_WORDS = {
    str(2**53): "2⁵³",
    "1e-300": "10⁻³⁰⁰",
    ", or None for all": ", or leave it empty for all",
}
_NAMED = re.compile(rf"\b({'|'.join(FIELDS)})\b(?= = )")
_OTHERS = {"num_epochs": "epochs", "num_train_epochs": "epochs", "sampling_rate": "sample_rate"}


def meant(unknown: object, names: Iterable[str]) -> str:
    """Ask whether an unknown name stands for the nearest of `names`; return "" if none is near.

    >>> [meant(name, FIELDS) for name in ("k", "σ", "learning_rate", "step", "colour")]
    [': did you mean K?', ': did you mean sigma?', ': did you mean eta?', ': did you mean T?', '']
    """
    of_field = [
        (word, about.name)
        for about in FIELDS.values()
        for word in (about.noun, about.symbol, about.name.lower(), *about.also)
    ]
    known = dict([*_OTHERS.items(), *of_field, *((name, name) for name in names)])
    near = get_close_matches(str(unknown)[:40].lower(), known, 1, 0.8)
    found = known.get(str(unknown)) or (known[near[0]] if near else "")
    return f": did you mean {found}?" if found in names else ""


def symbol_of(name: str) -> str:
    """Return a field's symbol or an option's name."""
    return FIELDS[name].symbol if name in FIELDS else name


def in_symbols(message: str) -> str:
    """Write symbols for the fields' names in a message, ∞ for inf, and allowed values in groups of
    three digits.

    >>> in_symbols("sigma = -1 is not allowed: give a finite number above 0")
    'σ = -1 is not allowed: give a finite number above 0'
    >>> in_symbols("T = 0 is not allowed: give a whole number from 1 to 9007199254740992")
    'T = 0 is not allowed: give a whole number from 1 to 2⁵³'
    """
    message = _NAMED.sub(lambda found: FIELDS[found[1]].symbol, message)
    given, colon, allowed = re.sub(r"\binf\b", "∞", message).partition(": give ")
    for plain, shown in _IN_WORDS.items():
        allowed = allowed.replace(plain, shown)
    return given + colon + _LONG.sub(_grouped, allowed)


def _grouped(digits: re.Match[str]) -> str:
    return f"{int(digits[0]):,}".replace(",", THIN)
