"""Small tasks, by rule and not by chance, that train in milliseconds."""

from functools import partial

import numpy as np

from zoexplore.training import Task
from zoexplore.training.data import Data, unit_rows


def blobs(n, f, classes, seed=0):
    rng = np.random.default_rng(seed)
    centres = rng.standard_normal((classes, f))
    y = rng.integers(0, classes, n + 40)
    y[:classes] = range(classes)
    X = unit_rows(centres[y] + 0.5 * rng.standard_normal((n + 40, f)))
    return Data(X[:n], y[:n], X[n:], y[n:], classes)


def small_task(model="logistic", n=60, f=8, classes=None, **others):
    classes = classes or (2 if model == "logistic" else 3)
    values = {"ridge": 0.2, "R": 2.0, "K": 3, "T": 12, "sigmas": (0.01, 0.1)} | others
    return Task(
        f"small {model}", "Small", "For tests.", partial(blobs, n, f, classes), model, **values
    )
