"""What a point costs beside privacy: passes through the model, and numbers that a step keeps of every record."""

from zoexplore.training.methods import METHODS
from zoexplore.training.results import Point

BACKWARD = 2  # forward passes that a backward pass takes as long as


def passes(point: Point) -> float:
    """Forward passes of single records in all steps: two points a direction, or a forward and a backward pass a gradient."""
    run = point.run
    each = 1 + BACKWARD if METHODS[point.method].every_direction else 2 * run["K"]
    return each * run["T"] * (run["batch"] or run["n"])


def kept(point: Point) -> float:
    """Numbers that a clipped step keeps of every record of its batch: a gradient of d, or K quotients, and no activations."""
    return point.run["K"]
