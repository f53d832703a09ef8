"""The type of an argument that may be a number or an array, as in NumPy."""

from typing import Any

# a number or an array; no type can say that it broadcasts with the other arguments
Numbers = Any
