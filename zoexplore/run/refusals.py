"""Refusals of a run's values, each of which names the field, the value and what is allowed."""

import re
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from fractions import Fraction
from math import inf, nan
from numbers import Real
from typing import Any

from zoexplore.run.fields import FIELDS, OPTIONS
from zoexplore.run.formatting import THIN
from zoexplore.run.limits import LARGEST_INTEGER, LEAST_DELTA

LONGEST_SHOWN = 500  # characters of a refused value that a message quotes
_LONG = re.compile(r"(?<![\w.])\d{4,}(?![\w.])")
_IN_WORDS = {
    str(LARGEST_INTEGER): "2⁵³",
    str(LEAST_DELTA): "10⁻³⁰⁰",
    ", or None for all": ", or leave it empty for all",
}
_NAMED = re.compile(rf"\b({'|'.join(FIELDS)})\b(?= = )")
_OTHERS = {"num_epochs": "epochs", "num_train_epochs": "epochs", "sampling_rate": "sample_rate"}


class Refused(ValueError):
    """An invalid value; `field` names its field."""

    def __init__(self, message: str, field: str) -> None:
        super().__init__(message, field)  # both arguments, for pickle
        self.field = field

    def __str__(self) -> str:
        return str(self.args[0])


def refusal(name: str, value: Any, allowed: str) -> Refused:
    """Return the refusal of a value."""
    return Refused(f"{name} = {shown(value)} is not allowed: give {allowed}", name)


def shown(value: Any) -> str:
    """Write out a refused value, cut to fit a message."""
    try:
        text = repr(value)
    except ValueError:  # Python refuses to print very long integers
        text = "an integer of thousands of digits"
    return text if len(text) <= LONGEST_SHOWN else text[: LONGEST_SHOWN - 3] + "..."


def check_names(owner: str, given: Iterable[str], names: Sequence[str]) -> None:
    """Raise Refused unless every given name is one of the owner's `names`."""
    for unknown in sorted(set(given) - {*names}):
        allowed = f"; these are {', '.join(names)}"
        raise Refused(
            f"{unknown} is not a field of {owner}{meant(unknown, names) or allowed}", unknown
        )


def check_options(of: object, switch: str) -> None:
    """Raise Refused if an option has an unknown value, or if the attribute `switch` is not a bool."""
    for name, allowed in OPTIONS.items():
        value = getattr(of, name, None)
        if hasattr(of, name) and not (isinstance(value, str) and value in allowed):
            raise refusal(name, value, f"one of {', '.join(map(repr, allowed))}")
    if not isinstance(getattr(of, switch), bool):
        raise refusal(switch, getattr(of, switch), "True or False")


def _is_real(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def whole(
    name: str, value: Any, most: int = LARGEST_INTEGER, called: str = "", least: int = 1
) -> int:
    """Return the value as a whole number from `least` to `most`. Messages write `called` for
    `most`. Raises `Refused` for anything else.

    >>> whole("T", 200.0)
    200
    """
    # the range comes first: int() refuses inf and nan
    if not _is_real(value) or not least <= value <= most or value != int(value):
        raise refusal(name, value, f"a whole number from {least} to {called or most}")
    return int(value)


def number(
    name: str,
    value: Any,
    *,
    above: float = -inf,
    least: float = -inf,
    below: float = inf,
    most: float = inf,
    called: str = "",
    infinite: bool = False,
) -> float:
    """Return the value as a number within the limits, finite unless `infinite`. Messages write
    `called` for `most`. Raises `Refused` for anything else.

    >>> number("beta", 1, least=0.0, most=1.0)
    1.0
    """
    lower = f"above {above:g}" if above > -inf else f"of at least {least:g}"
    upper = (
        f" and below {below:g}"
        if below < inf
        else f" and at most {called or f'{most:g}'}"
        if most < inf
        else ""
    )
    try:
        x = float(value) if _is_real(value) else nan
    except OverflowError:
        x = nan
    if not (above < x and least <= x <= most and (x < below or infinite)):
        finite, noted = ("", " (inf is allowed)") if infinite else ("finite ", "")
        raise refusal(name, value, f"a {finite}number {lower}{upper}{noted}")
    return x + 0.0  # not -0.0, whose reciprocal is -inf


def decimal(name: str, value: Any, most: float = inf) -> Fraction:
    """Return a number above 0, exactly as its decimal digits say. Raises `Refused` for anything
    else.
    """
    return Fraction(repr(number(name, value, above=0.0, most=most)))


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
