"""The type of an argument that may be a number or an array, as in NumPy."""

from typing import Any

# a number, or an array that broadcasts with the other arguments, which no type can say
Numbers = Any
