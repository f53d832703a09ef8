"""The figure of the Train tab: accuracy against epsilon. A model is a pair of dots at one height,
one dot for each way of publishing. The dots move as the model trains.
"""

from collections.abc import Sequence
from math import floor, inf, log
from typing import Any

import param

from zoexplore.bounds import BOUNDS
from zoexplore.training import Point
from zoexplore.training.privacy import Privacy
from zoexplore.views.component import Script
from zoexplore.views.figures.chart import script
from zoexplore.views.figures.publish import NAMES

GUESSING = 0.5  # the accuracy of guessing one of two classes
BEYOND = 1.3  # the factor by which the axis extends beyond the least and the largest epsilon
Model = dict[str, Any]


class Growing(Script):
    """A picture that the browser draws."""

    picture = param.Dict({}, doc="a result of `picture`, and the words around it")

    kind, sheets = "frontier", ("view", "export", "train_figure")
    _esm = script("export", "../training/frontier")


def models_of(
    sigmas: Sequence[float],
    points: Sequence[Point],
    known: Sequence[Privacy] = (),
    begun: bool = False,
) -> list[Model]:
    """Return a model for each noise scale, the mean of several trained models.

    Args:
        sigmas: the noise scales, ascending.
        points: what was trained so far.
        known: epsilon along the whole runs; if empty, the epsilons in `points` are taken.
        begun: whether models without a point have begun to train, and so still guess.

    Returns:
        models with `sigma`; `along`: for both ways of publishing epsilon after each recorded step;
        `path`: the accuracy at each of these steps so far; `error`: the standard error of the last
        accuracy; `x` and `y`: the places of the dots. Before the first step, `x` is the epsilon of
        the whole run.
    """
    trained, models = {point.sigma: point for point in points}, []
    for i, sigma in enumerate(sigmas):
        point = trained.get(sigma)
        if known:
            by = {bound: charge.along for bound, charge in known[i].items()}
        elif point:
            by = point.epsilons
        else:
            continue
        least = zip(*(each for bound, each in by.items() if BOUNDS[bound].of_this_run), strict=True)
        along = {"every": by["composition"], "last": tuple(map(min, least))}
        path = point.means("accuracy") if point else (GUESSING,) * begun
        models.append(
            {
                "sigma": sigma,
                "along": along,
                "path": path,
                "error": point.error("accuracy") if point else inf,
                "x": {way: values[len(path) - 1] for way, values in along.items()},
                "y": path[-1] if path else GUESSING,
            }
        )
    return models


def picture(
    models: list[Model],
    sigma: float,
    stage: str,
    hidden: bool,
    earlier: Sequence[Model] = (),
    **more: Any,
) -> dict[str, Any]:
    """Return the data of the figure.

    Args:
        models: the current models.
        sigma: the reader's own noise scale.
        stage: "before", "during", "stopped" or "done".
        hidden: whether to draw also the dots for publishing only the last step.
        earlier: the models that were trained before.
        more: `named`, the current models' name; `free`, the accuracy without noise, or None.

    Returns:
        the arguments, and: `mine`, the index of the model with the reader's noise scale, a fraction
        if that scale lies between two trained ones, None if it lies outside; `nearest`, the index of
        the nearest model, or of the middle one if `mine` is None; `ends`, the ends of the epsilon
        axis, a little beyond the least and the largest epsilon that is drawn.
    """
    at, most = round(log(sigma / models[0]["sigma"], 2), 9), len(models) - 1
    mine = None if not 0 <= at <= most else int(at) if at == floor(at) else at
    ways = list(NAMES) if hidden else ["every"]
    seen = [m["along"][way][i] for m in models for way in ways for i in (0, -1)]
    seen += [m["x"][way] for m in earlier for way in ways]
    finite = [e for e in seen if 0 < e < inf] or [0.1, 10.0]
    return {
        "models": models,
        "mine": mine,
        "nearest": round(most / 2 if mine is None else mine),
        "stage": stage,
        "ways": ways,
        "earlier": list(earlier),
        "ends": [min(finite) / BEYOND, max(finite) * BEYOND],
        "named": "",
        "free": None,
        **more,
    }
