"""Runs a model's frozen first parts once a batch instead of at both points of every direction,
since their outputs do not depend on the trained parameters. A step that trains a head on a frozen
encoder then costs little more than one pass of the encoder.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import update_wrapper
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._pytree import tree_leaves, tree_map


class Prefix:
    """Lets a frozen part that gets the same inputs again within a step return the outputs that it
    returned before. A part that gets no inputs twice in a step comes after a trained one, so from
    the next step on it runs as before.
    """

    def __init__(self, modules: Iterable[nn.Module]) -> None:
        self.parts = list(map(Part, modules))

    @contextmanager
    def step(self, pieces: int) -> Iterator[None]:
        """Keep outputs during a step, whose batch is evaluated in `pieces` pieces."""
        for part in self.parts:
            part.kept, part.is_used = deque(maxlen=pieces), False
        try:
            yield
        finally:
            self.remove(lambda part: bool(part.kept) and not part.is_used)
            for part in self.parts:
                part.kept = None

    def remove(self, which: "Callable[[Part], bool]" = lambda part: True) -> None:
        """Let the parts that `which` chooses run as before; by default, all parts."""
        for part in filter(which, self.parts):
            del part.module.forward
        self.parts = [part for part in self.parts if "forward" in vars(part.module)]


class Part:
    """Replaces the `forward` of a frozen module."""

    def __init__(self, module: nn.Module) -> None:
        self.module, self.run = module, module.forward
        self.kept: deque[tuple[list[Any], Any, list[int]]] | None = None
        self.is_used = False
        module.forward = update_wrapper(self, self.run)  # keeps the signature, which others read

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        if self.kept is None:
            return self.run(*args, **keywords)
        inputs = tree_leaves((args, keywords))
        for before, output, versions in self.kept:
            if (
                _versions(output) == versions
                and len(before) == len(inputs)
                and all(map(_same, before, inputs))
            ):
                self.is_used = True
                # in a new container, since some callers empty the one that they get
                return tree_map(lambda x: x, output)
        output = self.run(*args, **keywords)
        self.kept.append((inputs, output, _versions(output)))
        return output


def frozen(module: nn.Module) -> Iterator[nn.Module]:
    """Yield a model's largest frozen parts: modules that are called and have parameters, of which
    none is trained. A compiled module has no such parts.
    """
    if hasattr(module, "_orig_mod"):
        return
    is_called = not isinstance(module, nn.ModuleList | nn.ModuleDict)
    if is_called and not any(p.requires_grad for p in module.parameters()):
        yield from [module] if any(True for _ in module.parameters()) else []
    else:
        for child in module.children():
            yield from frozen(child)


def _same(x: Any, y: Any) -> bool:
    if isinstance(x, Tensor) and isinstance(y, Tensor):
        return x is y or (x.dtype == y.dtype and x.device == y.device and torch.equal(x, y))
    return x is y


def _versions(output: Any) -> list[int]:
    """Return how often each tensor of an output was written to."""
    return [
        x._version for x in tree_leaves(output) if isinstance(x, Tensor) and not x.is_inference()
    ]
