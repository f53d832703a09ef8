"""The type of numbers and arrays alike, as NumPy takes them."""

from typing import Any

Numbers = Any  # a number, or an array that broadcasts against the others; no type says that
