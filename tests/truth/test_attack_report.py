"""The privacy report of the real optimiser against exact divergences, in every pair of bound, clip,
estimator and declaration.

The neighbours' runs share their directions, which are revealed: given them the last iterates are
Gaussian with one covariance. What separates the means is measured by running the optimiser without
noise, so that nothing here trusts what the package says of its own sensitivity. A recursion of this
file foretells it, and goes on with many more frames: delta is an average over them.
"""

from math import inf

import numpy as np
import pytest
import torch
from scipy.stats import norm

from tests.convention import Setting
from tests.effort import proof, times
from zoexplore import BOUNDS
from zoexplore.mechanism import Declared, NoisyZOGD, Sources
from zoexplore.mechanism.directions import stiefel

TINY, RUNS, FRAMES = 1e-200, 3, times(2000)
STEEP = 1e6  # a slope that the clip cuts down whatever the directions and the iterate are
ALMOST = 1 - 1e-9  # so that rounding does not make a clip of 1 act
DECLARATIONS = {
    "nothing": Declared(),
    "smooth": Declared("convex", M=1.0),
    "idle": Declared("convex", M=1.0, lipschitz=1.0),
}


@pytest.fixture(autouse=True)
def _one_thread():
    torch.set_num_threads(1)


def inner_product(w, batch):
    return batch @ w


def curved(curvature):
    """The first record's loss is linear, all others' have one curvature in every direction: an
    inner product and a paraboloid.
    """
    return lambda w, batch: batch @ w + curvature / 2 * (w @ w) * (batch == 0).all(-1)


def end(setting, record, seed, rule, declared, loss=inner_product):
    """The optimiser after its steps, and the directions it took, on one record and else zeros."""
    data = torch.zeros(setting.n, setting.d, dtype=torch.float64)
    data[0] = record
    start = torch.zeros(setting.d, dtype=torch.float64)
    sources, run = Sources(seed, seed + 1), setting.replace(clipping=rule)
    made = NoisyZOGD(start, loss, run, sources=sources, declared=declared)
    for _ in range(setting.T):
        made.step(made.batch(data))
    return made


def spans(setting, seed):
    """The directions of every step, (T, d, K), from the generator that the optimiser draws them
    from.
    """
    draw = Sources(seed, seed + 1).directions
    return [
        stiefel(setting.d, setting.K, draw, dtype=torch.float64).numpy() for _ in range(setting.T)
    ]


def measured(setting, rule, declared, seed, slope=ALMOST, curvature=0.0):
    """What separates the ends of e_1's run and -e_1's, times a slope, shape (d,)."""
    quiet = setting.replace(sigma=TINY)
    first = torch.zeros(setting.d, dtype=torch.float64)
    first[0] = slope
    loss = curved(curvature)
    return (
        end(quiet, first, seed, rule, declared, loss).w
        - end(quiet, -first, seed, rule, declared, loss).w
    ).numpy()


def foretold(setting, U, slope=ALMOST, curvature=0.0):
    """The same by frames of shape (runs, T, d, K), and the covariance of either end: shapes (runs,
    d), (runs, d, d).
    """
    runs, _, d, K = U.shape
    s1 = setting.eta**2 * setting.beta * setting.sigma**2 / K
    s2 = setting.eta**2 * (1 - setting.beta) * setting.sigma**2 / d
    apart, covariance = np.zeros((runs, d, 1)), np.zeros((runs, d, d))
    for frames in np.moveaxis(U, 1, 0):
        P = frames @ np.swapaxes(frames, 1, 2)
        step = np.eye(d) - setting.eta / K * (setting.ridge + curvature * (1 - 1 / setting.n)) * P
        # no joint clip acts on slopes below 1
        seen = np.clip(slope * frames[:, 0], -setting.clip, setting.clip)
        apart = step @ apart - 2 * setting.eta / (setting.n * K) * frames @ seen[..., None]
        covariance = step @ covariance @ step + s1 * P + s2 * np.eye(d)
    return apart[..., 0], covariance


def separations(setting, rule, declared, *loss):
    """The Mahalanobis distance mu between both ends, for many draws of the frames; some runs are
    checked.
    """
    U = np.array([spans(setting, seed) for seed in range(0, 2 * RUNS, 2)])
    runs = [measured(setting, rule, declared, seed, *loss) for seed in range(0, 2 * RUNS, 2)]
    assert foretold(setting, U, *loss)[0] == pytest.approx(np.array(runs), rel=1e-6, abs=1e-9)
    size = (1 if setting.K == setting.d else FRAMES, setting.T, setting.d, setting.K)
    apart, covariance = foretold(
        setting, np.linalg.qr(np.random.default_rng(0).standard_normal(size))[0], *loss
    )
    return np.sqrt(
        np.einsum("ri,ri->r", apart, np.linalg.solve(covariance, apart[..., None])[..., 0])
    )


def delta_of(epsilon, mu):
    return norm.cdf(mu / 2 - epsilon / mu) - np.exp(epsilon + norm.logcdf(-mu / 2 - epsilon / mu))


@pytest.mark.parametrize("d, K", [(16, 16), proof(2, 2), (6, 2)])
@pytest.mark.parametrize("T, ridge", [(1, 0.0), (3, 0.5)])
@pytest.mark.parametrize("rule", ["joint", "each"])
@pytest.mark.parametrize("xi", [0.0, 0.1])
def test_no_reported_epsilon_is_below_the_truth(d, K, T, ridge, rule, xi):
    """Every bound that says anything, under every declaration that is true of the loss, tells at
    least what an adversary sees.
    """
    setting = Setting(
        n=10,
        d=d,
        K=K,
        T=T,
        sigma=0.05,
        beta=0.5,
        regime="convex",
        clip=1.0,
        M=1.0,
        m=ridge,
        ridge=ridge,
        eta=1.0,
        xi=xi,
    )
    mus = separations(setting, rule, Declared())
    for name, declared in DECLARATIONS.items():
        record = torch.zeros(d, dtype=torch.float64)
        record[0] = ALMOST
        report = end(setting, record, 0, rule, declared).privacy_report()
        assert any(g.valid for g in report.guarantees.values())
        for bound, g in report.guarantees.items():
            if g.epsilon < inf:
                assert delta_of(g.epsilon, mus).mean() <= setting.delta, (name, bound, g.epsilon)


@pytest.mark.parametrize("d, K", [(4, 4), (6, 3), (1, 1)])
@pytest.mark.parametrize(
    "regime, curvature", [("convex", 0.25), proof("convex", 0.0), ("non-convex", -0.25)]
)
def test_where_the_clip_acts_no_reported_epsilon_is_below_the_truth(d, K, regime, curvature):
    """One record so steep that the clip acts on it at every step; the others, far from their clip,
    curved as far as is declared. Given the directions the iterates are Gaussian.
    """
    setting = Setting(
        n=100,
        d=d,
        K=K,
        T=15,
        sigma=0.08,
        beta=0.3,
        regime=regime,
        clip=1.0,
        M=1.75,
        m=1.5,
        ridge=1.5,
        eta=0.5 * K,
    )
    declared = Declared(regime, M=1.75, m=1.5, lipschitz=None if curvature else STEEP)
    record = STEEP * torch.eye(d, dtype=torch.float64)[0]
    made = end(setting, record, 0, "each", declared, curved(curvature))
    assert made.counts.clipped == K * setting.T  # the first record's, and no other's
    said = {
        bound: g.epsilon for bound, g in made.privacy_report().guarantees.items() if g.epsilon < inf
    }
    assert set(said) == {"composition", "sharp"} and said["sharp"] < 0.8 * said["composition"]
    mus = separations(setting, "each", declared, STEEP, curvature)
    for bound, reported in said.items():
        assert delta_of(reported, mus).mean() <= setting.delta, bound
    # it is not far above the truth
    assert delta_of(0.3 * said["sharp"], mus).mean() > setting.delta


@pytest.mark.parametrize("sensitivity", ["clip", "least"])
@pytest.mark.parametrize("bound", list(BOUNDS))
def test_a_joint_clip_in_all_directions(bound, sensitivity):
    """e_1 against -e_1 moves the one step by 2/n: mu = 2.5, an epsilon of 13.2 at delta = 1e-5."""
    setting = Setting(
        n=10, d=16, K=16, T=1, sigma=0.02, beta=0.5, regime="convex", clip=1.0, M=1.0, eta=1.0
    )
    record = ALMOST * torch.eye(16, dtype=torch.float64)[0]
    made = end(setting, record, 0, "joint", DECLARATIONS["idle"])
    (mu,) = separations(setting, "joint", DECLARATIONS["idle"])
    assert mu == pytest.approx(2.5)
    reported = made.privacy_report(sensitivity=sensitivity).guarantees[bound].epsilon
    if bound in ("composition", "sharp", "noisy-gd"):
        assert delta_of(reported, mu) <= setting.delta
    else:
        assert reported == inf
