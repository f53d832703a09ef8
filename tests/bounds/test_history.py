"""How far apart runs on secret batches may be: the chain's law against the distances of runs that
contract all alike.
"""

import numpy as np
import pytest

from zoexplore.bounds.kernels import norms
from zoexplore.bounds.kernels.history import LABELS, history

RUNS, DIMENSIONS, ORDER = 20_000, 4.0, 20.0


def law(c, q, e):
    """Labels and chances where all directions are seen, so that a step moves a distance z to c z
    and what it adds.
    """
    h, share = np.empty(LABELS), np.empty(LABELS)
    history(norms.tabled_norm(DIMENSIONS, DIMENSIONS, ORDER), c * c, e, q, h, share)
    return h, share


def distances(c, q, e):
    """Of many runs that have settled, shape (RUNS,)."""
    draws, z = np.random.default_rng(21), np.zeros(RUNS)
    for _ in range(int(8 / (1 - c))):
        z = c * z + np.where(draws.random(RUNS) < q, 1.0, e)
    return z


@pytest.mark.parametrize(
    "c, q, e",
    [(0.7, 0.4, 0.0), (0.95, 0.4, 0.0), (0.97, 0.1, 0.02), (0.995, 0.3, 0.0), (0.998, 0.01, 0.001)],
)
def test_the_chain_is_never_below_the_distances_of_runs(c, q, e):
    """Kicks that stand in for steps, not beside them: several in one round do not make it longer."""
    h, share = law(c, q, e)
    assert share.sum() == pytest.approx(1.0)
    z = distances(c, q, e)
    for p in (0.1, 0.3, 0.5, 0.7, 0.9, 0.99):
        beyond = share[h >= np.quantile(z * z, p)].sum()
        assert beyond >= 1 - p - 5 * np.sqrt(p * (1 - p) / RUNS)


def test_what_two_points_leave_costs_little_beside_the_record():
    h, share = law(0.97, 0.1, 0.02)
    assert h @ share <= 2 * (distances(0.97, 0.1, 0.02) ** 2).mean()
