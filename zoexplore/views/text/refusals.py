"""What the page says of a value that cannot be: in its own notation, not in Python's."""

import re

from zoexplore.fields import FIELDS

_NAMED = re.compile(rf"\b({'|'.join(FIELDS)})\b(?= = )")


def in_symbols(message: str) -> str:
    """A message with symbols in place of the fields' names, and ∞ in place of inf.

    >>> in_symbols("sigma = -1 is not allowed: give a finite number above 0")
    'σ = -1 is not allowed: give a finite number above 0'
    """
    message = _NAMED.sub(lambda found: FIELDS[found[1]].symbol, message)
    return re.sub(r"\binf\b", "∞", message)
