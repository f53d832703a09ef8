"""Costs of a point beside privacy: passes through the model, and numbers kept per record."""

from zoexplore.training.methods import METHODS
from zoexplore.training.results import Point


def passes(point: Point) -> float:
    """Forward passes of single records in all steps: two per direction, or three per gradient, whose way back is two."""
    run = point.run
    each = 3 if METHODS[point.method].every_direction else 2 * run["K"]
    return each * run["T"] * (run["batch"] or run["n"])


def kept(point: Point) -> float:
    """Numbers that a clipped step keeps per record, without activations: a gradient of d, or K quotients."""
    return point.run["K"]
