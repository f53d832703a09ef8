"""The ways that a benchmark sets beside ours learn what can be learned, and are as private as they
say.
"""

import pytest
import torch

from benchmarks import rivals
from tests.effort import proof
from zoexplore import Setting, guarantee


@pytest.fixture(scope="module")
def data():
    """Two classes apart along one of 384 axes."""
    y = torch.arange(400) % 2
    X = 0.1 * torch.randn(400, 384, generator=torch.Generator().manual_seed(0))
    X[:, 0] = 6.0 * y - 3.0
    return rivals.Data(X[:300], y[:300], X[300:], y[300:], rivals.head, "encoder")


@pytest.mark.parametrize(
    "name, rate, clip",
    [
        proof("DP-SGD, with gradients", 0.5, 1.0),
        ("DPZero", 300.0, 0.05),
        ("MeZO, not private", 300.0, 0.05),
    ],
)
def test_each_way_learns(data, name, rate, clip):
    run = rivals.Run(data, epsilon=50.0, T=60, batch=50, seed=0)
    assert rivals.accuracy(rivals.WAYS[name][0](run, rate, clip), data) > 0.9


def test_the_noise_of_dpzero_is_that_of_its_target(data, monkeypatch):
    found = {}
    monkeypatch.setattr(
        rivals, "zeroth", lambda run, rate, clip, sigma: found.update(sigma=sigma, clip=clip)
    )
    rivals.dpzero(rivals.Run(data, epsilon=2.0, T=60, batch=50, seed=0), 1.0, 0.5)
    setting = Setting(
        n=300,
        d=24_770,
        K=1,
        T=60,
        beta=1.0,
        batch=50,
        sampling="poisson",
        neighbours="add-remove",
        delta=1e-5,
        **found,
    )
    assert 1.99 < guarantee(setting, "composition").epsilon <= 2.0
