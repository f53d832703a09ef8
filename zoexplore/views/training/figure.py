"""The figure of the Train tab: accuracy against epsilon. A model is a pair of dots at one height,
which grows in training.
"""

from math import inf
from typing import Any, NamedTuple

import panel as pn
import param

from zoexplore.views.figures.chart import script
from zoexplore.views.style import theme

GUESSING = 0.5  # the accuracy of guessing one of two classes
WAYS = {"every": "every step", "last": "only the last"}  # of publishing a model, in words
BEYOND = 1.3  # times the least and the largest epsilon, where the axis ends


class Model(NamedTuple):
    """The mean of several models at one noise scale.

    Args:
        sigma: the noise scale.
        accuracy: at the recorded steps so far; empty before the first.
        error: the standard error of the last of them.
        every, last: epsilon after each recorded step of the whole run, with every step published
            and with only the last.
    """

    sigma: float
    accuracy: tuple[float, ...]
    error: float
    every: tuple[float, ...]
    last: tuple[float, ...]

    @property
    def y(self) -> float:
        """The accuracy so far; that of guessing before the first step."""
        return self.accuracy[-1] if self.accuracy else GUESSING

    def x(self, way: str) -> float:
        """Epsilon so far; before the first step, that of the whole run."""
        return float(getattr(self, way)[len(self.accuracy) - 1])

    def drawn(self) -> dict[str, Any]:
        """What the browser draws of it."""
        steps = len(self.accuracy)
        along = {way: getattr(self, way) for way in WAYS}
        place = {
            "sigma": self.sigma,
            "x": {way: self.x(way) for way in WAYS},
            "y": self.y,
            "error": self.error,
        }
        return place | {
            "end": {way: values[-1] for way, values in along.items()},
            "trail": {way: values[:steps] for way, values in along.items()},
            "path": self.accuracy,
        }


class Picture(NamedTuple):
    """What is drawn.

    Args:
        models: by ascending noise.
        mine: the place of the reader's own noise among them, between two where it was not trained;
            None if outside.
        stage: "before", "during", "stopped" or "done".
        ways: those that are drawn.
        earlier, named: the models trained before, and their name.
        free: accuracy without noise; None if unknown.
    """

    models: tuple[Model, ...]
    mine: float | None
    stage: str
    ways: tuple[str, ...]
    earlier: tuple[Model, ...] = ()
    named: str = ""
    free: float | None = None

    @property
    def own(self) -> Model | None:
        """The model at the reader's own noise; None where none is."""
        return None if self.mine is None or self.mine % 1 else self.models[int(self.mine)]

    @property
    def nearest(self) -> Model:
        """The model nearest to the reader's noise, or the middle one."""
        place = round(len(self.models) / 2 if self.mine is None else self.mine)
        return self.models[min(place, len(self.models) - 1)]

    def drawn(self) -> dict[str, Any]:
        """What the browser draws. The axis goes from the least epsilon after one step to the
        largest after the last.
        """
        ends = [getattr(each, way)[i] for each in self.models for way in self.ways for i in (0, -1)]
        ends += [each.x(way) for each in self.earlier for way in self.ways]
        finite = [e for e in ends if 0 < e < inf] or [0.1, 10.0]
        models = {
            name: [each.drawn() for each in getattr(self, name)] for name in ("models", "earlier")
        }
        return self._asdict() | models | {"ends": [min(finite) / BEYOND, max(finite) * BEYOND]}


class Growing(pn.custom.JSComponent):
    """Draws a `Picture` in the browser."""

    picture = param.Dict({}, doc="what `Picture.drawn` returns, and the words around it")

    _esm = script("export", "../training/frontier")

    def __init__(self) -> None:
        super().__init__(
            css_classes=["zx-frontier"],
            stylesheets=[theme.css("view", "export", "train_figure")],
            **theme.STRETCH,
        )
