"""The bounds that can be opened: those that follow hidden iterates step by step, the sharpest of them first."""

from zoexplore.bounds import BOUNDS

SHOWN = {bound.title: bound.id for bound in reversed(BOUNDS.values()) if bound.hides_iterates}
