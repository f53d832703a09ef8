"""What stands in for training in the tests of its tab; like all work for the computing processes,
without Panel.
"""

import os
import signal
from dataclasses import replace
from math import inf

from zoexplore import BOUNDS, Accounting
from zoexplore.run.presets import DEMONSTRATION
from zoexplore.training import Frontier, Point, Update
from zoexplore.training.methods import records
from zoexplore.views.training.jobs import Asked, prices


def point(sigma=1e-3, epsilon=1.0, accuracy=(0.8, 0.9), method="noisy-zogd", **others):
    """A point of two seeds and three steps; only composition, the theorem and the sharper bound
    give it an epsilon.
    """
    finite = {"composition": 8 * epsilon, "theorem": 2 * epsilon, "sharp": epsilon}
    by = {bound: finite.get(bound, inf) for bound in BOUNDS}
    values = {
        "method": method,
        "sigma": sigma,
        "seeds": (0, 1),
        "setting": DEMONSTRATION.replace(sigma=sigma or 1, T=9),
        "steps": (1, 3, 9),
        "accuracy": tuple((a / 2, a, a) for a in accuracy),
        "loss": tuple((1.0, 1 - a, 1 - a) for a in accuracy),
        "reason": {b: "" if b in finite else f"no {b}" for b in BOUNDS},
        "epsilons": {b: (e / 4, e / 2, e) for b, e in by.items()},
    }
    return Point(**values | others)


def without_noise():
    """A point without noise, and so without any epsilon."""
    made = point(0.0, inf, (0.95, 0.95), "non-private")
    return replace(made, reason=dict.fromkeys(BOUNDS, "there is no noise"))


def frontier(*points):
    """A frontier of these points, or of three that better each other and one without noise."""
    some = (
        point(1e-2, 0.1, (0.5, 0.7)),
        point(1e-3, 1.0),
        point(1e-4, 10.0, (0.9, 0.94)),
        without_noise(),
    )
    return Frontier("mixture", points or some, Accounting(), 1e-5, {"python": "3"})


def small(**changes):
    """A run of few steps at several noise scales."""
    return Asked(DEMONSTRATION.replace(T=4, **changes), Accounting())


def grown(asked, steps):
    """A frontier of what is asked for after some of its recorded steps; the more noise the less
    accurate.
    """
    at = records(asked.setting.T)[:steps]
    points = []
    for i, (run, price) in enumerate(zip(asked.runs, prices(asked), strict=True)):
        along = tuple(0.9 - 0.05 * i + 0.001 * step for step in at)
        curve = {bound: values[:steps] for bound, (values, *_) in price.items()}
        rows = {"steps": at, "accuracy": (along, along), "loss": (along, along), "epsilons": curve}
        points.append(replace(point(run.sigma), setting=run.replace(T=at[-1]), **rows))
    return frontier(*points, without_noise())


def finished(asked, known=()):
    """A run that is shown half done, and done."""
    whole = len(records(asked.setting.T))
    yield Update(0, 2, inf, frontier(point()).__class__("overlap", (), Accounting(), 1e-5))
    yield Update(1, 2, 3.0, grown(asked, whole // 2))
    yield Update(2, 2, 0.0, grown(asked, whole))


def killed(asked, known=()):
    """A run whose process is killed after its first results."""
    yield Update(1, 2, 3.0, grown(asked, 2))
    os.kill(os.getpid(), signal.SIGKILL)


def refused(asked, known=()):
    """A run that the trainer refuses."""
    raise ValueError("K = 9 is not allowed")
    yield
