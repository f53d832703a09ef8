"""Runs on fresh, secret batches in units of their noise, and the sharper bound under choices of
every kind.
"""

from math import inf, sqrt

import numpy as np

from zoexplore import Accounting, Setting
from zoexplore.bounds.kernels.windows import CHOICE
from zoexplore.bounds.run_arrays import RunArrays
from zoexplore.bounds.sharp_batches import Windows

EXACT = Accounting()
DELTAS = np.geomspace(0.3, 1e-6, 8)
POISSON = dict(sampling="poisson", neighbours="add-remove")


def run(r, a, B, q, batch, T, replaced, d=1, K=1, **kw):
    """A run whose step is r times w in the span but for a clip that may act on losses of curvature
    a, over eta/K; the record moves it by B in units of noise.
    """
    clip = B * batch * sqrt(K) / (2 if replaced else 1)
    how = {} if replaced else POISSON
    given = (
        dict(beta=0.5, R=inf, eta=float(K), sigma=1 / K, xi=0.0, delta=1e-5, lipschitz=inf)
        | how
        | kw
    )
    return Setting(
        n=round(batch / q),
        d=d,
        K=K,
        T=T,
        clip=clip * given["sigma"],
        M=1 - r + a,
        m=1 - r,
        ridge=1 - r,
        regime="strongly-convex" if r < 1 else "convex",
        batch=batch,
        **given,
    )


def windows_of(setting, deltas=DELTAS):
    runs = RunArrays.along(setting, "delta", deltas)
    return Windows.of(runs, runs.beta, EXACT)


def drawn_choices(rng, of, T, random):
    """Choices of every kind, one for each row."""
    rows = of.rows.size
    N = np.minimum(np.ceil(T * rng.uniform(size=rows) ** 2), T)
    lost = rng.choice([0.01, 0.05, 0.3], rows) if random else np.zeros(rows)
    return choices(rng.choice([2.0, 5.0, 12.0, 30.0], rows), N, rng.uniform(0.02, 0.97, rows), lost)


def choices(*columns):
    """Orders, counted steps, shares of the noise and of delta, row by row or for the one row."""
    return np.array(
        list(
            zip(
                *(x.tolist() for x in np.broadcast_arrays(*map(np.atleast_1d, columns))),
                strict=True,
            )
        ),
        CHOICE,
    )
