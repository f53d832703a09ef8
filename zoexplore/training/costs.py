"""Costs of a point beside privacy: passes through the model, and numbers kept per record."""

from zoexplore.training.methods import METHODS
from zoexplore.training.results import Point

BACKWARD = 2  # a backward pass in units of a forward pass


def passes(point: Point) -> float:
    """Forward passes of single records in all steps: two per direction, or a forward and a backward pass per gradient."""
    run = point.run
    each = 1 + BACKWARD if METHODS[point.method].every_direction else 2 * run["K"]
    return each * run["T"] * (run["batch"] or run["n"])


def kept(point: Point) -> float:
    """Numbers that a clipped step keeps per record, without activations: a gradient of d, or K quotients."""
    return point.run["K"]
