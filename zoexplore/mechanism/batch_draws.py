"""Whose records are in which step's batch, drawn afresh or taking turns: in the steps' order, and kept until the step is made."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from zoexplore.mechanism.rng import Sources


class BatchDraws:
    """The records of every step of a run.

    Args:
        n: how many there are.
        sampling: as in `Setting`.
        sizes: of every step's batch, or of all of them.
        sources: `sources.data` draws.
    """

    def __init__(self, n: int, sampling: str, sizes: Sequence[int] | int, sources: Sources) -> None:
        self.n, self.sampling, self.sizes, self.sources = n, sampling, sizes, sources
        self._kept: dict[int, Tensor] = {}  # by step, not used yet
        self._next = 0  # the first step that nothing was drawn for

    def of(self, t: int) -> Tensor:
        """Indices of shape (b,), the same until the step is made."""
        if not self._is_chance(t):
            return turn(self.n, self._size(t), t)
        for step in range(self._next, t + 1):
            if self._is_chance(step):
                self._kept[step] = by_chance(self.n, self._size(step), self.sampling, self.sources.data)
        self._next = max(self._next, t + 1)
        return self._kept[t]

    def used(self, t: int) -> None:
        """Forget a step that was made."""
        self._kept.pop(t, None)
        self._next = max(self._next, t + 1)

    def ahead(self, made: int) -> int:
        """For how many of the next steps batches were drawn already, after so many that were made."""
        return max(0, self._next - made)

    def draw_coming(self, made: int) -> None:
        """Draw the next batch, so that a state that is saved holds it, and who goes back to it does not choose who is in it."""
        if isinstance(self.sizes, int) or made < len(self.sizes):
            self.of(made)

    def state_dict(self) -> dict[str, Any]:
        """What was drawn and not used yet, and how."""
        return {"next": self._next, "kept": {t: [*self._how(t), records] for t, records in self._kept.items()}}

    def load_state_dict(self, state: dict[str, Any], made: int) -> None:
        """Go on after so many steps. From the first one on that would be drawn in another way here, all are drawn anew."""
        self._kept, self._next = {}, made
        steps = state["next"] if isinstance(self.sizes, int) else min(state["next"], len(self.sizes))
        for t in range(made, steps):
            *how, records = state["kept"].get(t, [None])
            if self._is_chance(t) and how != self._how(t):
                return
            if how:
                self._kept[t] = records
            self._next = t + 1

    def _size(self, t: int) -> int:
        return self.sizes if isinstance(self.sizes, int) else self.sizes[t]

    def _is_chance(self, t: int) -> bool:
        return self.sampling != "cyclic" and self._size(t) < self.n

    def _how(self, t: int) -> list[Any]:
        return [self.sampling, self._size(t)]


def by_chance(n: int, size: int, sampling: str, generator: np.random.Generator) -> Tensor:
    """Indices below n of a step whose batch does not take turns, drawn as `sampling` says."""
    return (poisson if sampling == "poisson" else draw)(n, size, generator)


def draw(n: int, size: int, generator: np.random.Generator) -> Tensor:
    """`size` distinct indices below n, every subset equally likely, in no particular order."""
    return torch.from_numpy(generator.choice(n, size, replace=False, shuffle=False))


def poisson(n: int, size: int, generator: np.random.Generator) -> Tensor:
    """Indices below n, each of them with probability size/n, in order."""
    return torch.from_numpy(np.flatnonzero(generator.random(n) < size / n))


def turn(n: int, size: int, t: int) -> Tensor:
    """The next `size` indices below n, or what is left of them: the batches take turns."""
    start = t % -(-n // size) * size
    return torch.arange(start, min(start + size, n))
