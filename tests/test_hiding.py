"""When hiding the iterates helps: against the bounds asked one by one, and what is said where it
does not.
"""

from math import inf

import numpy as np
import pytest
from hypothesis import given

from tests.bounds.strategies import settings_of_runs
from tests.effort import examples
from zoexplore import BOUNDS, Accounting, Setting, epsilon, guarantee
from zoexplore.bounds.lower import least_provable, truth
from zoexplore.questions import gain_along, gain_map
from zoexplore.questions.hiding import LEAST_GAIN
from zoexplore.run.presets import DEMONSTRATION, PAPER_CONVENTION
from zoexplore.run.published import RUNS


@given(settings_of_runs())
@examples(25)
def test_a_gain_is_composition_over_the_least_bound_of_the_same_run(run):
    gain = gain_along(run, "sigma", [run.sigma])
    assert gain.composition[0] == pytest.approx(epsilon(run, "composition"), rel=1e-3)
    assert gain.least[0] == pytest.approx(guarantee(run, "best").epsilon, rel=2e-2)
    assert (gain.why[0] == "") == (gain.winner[0] not in ("composition", ""))
    if gain.why[0]:
        assert not gain.ratio[0] > LEAST_GAIN
    else:
        assert gain.ratio[0] > LEAST_GAIN and BOUNDS[gain.winner[0]].of_this_run


def test_over_two_fields():
    T, beta = [1, 20, 5000], [0.0, 0.5, 1.0]
    gain = gain_map(DEMONSTRATION, "T", "beta", T, beta)
    assert gain.ratio.shape == (3, 3) and (gain.ratio >= 1).all()
    for i, share in enumerate(beta):
        for j, steps in enumerate(T):
            run = DEMONSTRATION.replace(T=steps, beta=share)
            assert gain.least[i, j] == pytest.approx(epsilon(run, "best"), rel=1e-2)
    assert gain.winner[1].tolist() == ["composition", "sharp", "sharp"] and set(gain.winner[2]) == {
        "composition"
    }
    assert gain.ratio[1, 2] > 20 and all(why.startswith("β = 1") for why in gain.why[2])


@pytest.mark.parametrize(
    "changes, words",
    [
        ({"beta": 1.0}, "β = 1"),
        (
            {"M": inf, "m": 0.0, "ridge": 0.0, "regime": "non-convex", "eta": 300.0},
            "fails: Every record's loss is M-smooth",
        ),
        ({"batch": 100, "sampling": "shuffled"}, "shuffled"),
        (
            {"m": 0.0, "ridge": 0.0, "regime": "non-convex", "lipschitz": inf, "R": inf},
            "only a ridge outside it",
        ),
        (
            {"m": 0.0, "ridge": 0.0, "regime": "non-convex", "R": inf},
            "does not pull two runs together",
        ),
        ({"T": 1}, "too short"),
    ],
    ids=str,
)
def test_where_nothing_is_gained_it_says_why(changes, words):
    run = DEMONSTRATION.replace(**changes)
    gain = gain_along(run, "T", [run.T])
    assert gain.winner[0] == "composition" and words in gain.why[0]


def test_printed_constants_are_no_gain():
    run, printed = DEMONSTRATION.replace(R=1e-3, beta=0.0), PAPER_CONVENTION.replace(printed=True)
    assert (
        gain_along(run, "T", [10], printed).least[0]
        == gain_along(run, "T", [10], PAPER_CONVENTION).least[0]
    )


@pytest.mark.parametrize("run", RUNS.values(), ids=lambda run: run.name)
def test_published_runs_are_described_fairly(run):
    """All of their noise is along the directions, so that composition is the least that can be
    proved.
    """
    gain = gain_along(run.setting, "T", [run.T], Accounting())
    assert (
        gain.winner[0] == "composition" and gain.ratio[0] == 1 and gain.why[0].startswith("β = 1")
    )
    assert gain.least[0] <= run.ours <= gain.least[0] * 1.001
    if run.shuffled:
        assert run.ours > 2 * run.claimed and "accounted as Poisson" in run.summary
    else:
        assert run.ours <= run.claimed and "That is what we find" in run.summary


def test_nothing_is_nothing_over_nothing():
    assert (gain_along(DEMONSTRATION, "sigma", [10.0]).ratio >= 1).all()
    unknown = DEMONSTRATION.replace(sampling="poisson", batch=10)
    gain = gain_along(unknown, "T", [5])
    assert np.isnan(gain.ratio[0]) and gain.winner[0] == ""


@pytest.mark.parametrize(("beta", "r"), [(0.5, 1.0), (0.9, 0.6), (0.0, 1.0), (1.0, 0.0)])
def test_what_an_attacker_who_knows_the_directions_sees_costs_what_is_said_at_least(beta, r):
    """Linear losses whose clip acts: the last iterate is Gaussian given the frames, and its ridge
    pulls along each by r.
    """
    rng, run = np.random.default_rng(5), Setting(n=1000, d=400, K=4, T=8, sigma=0.01, beta=beta)
    kick = 2 * run.clip / run.n
    for _ in range(5):
        mean, cov = np.zeros(run.d), np.zeros((run.d, run.d))
        for _ in range(run.T):
            U = np.linalg.qr(rng.standard_normal((run.d, run.K)))[0]
            pull = np.eye(run.d) - (1 - r) * U @ U.T
            mean = pull @ mean + U @ np.full(run.K, kick)
            cov = (
                pull @ cov @ pull
                + run.sigma**2
                * (beta * U @ U.T / run.K + (1 - beta) / run.d * np.eye(run.d))
                * run.K
            )
        # mu^2 of the pair of Gaussians
        seen = mean @ np.linalg.pinv(cov, hermitian=True, rcond=1e-10) @ mean
        said = Setting(
            n=run.n,
            d=run.d,
            K=run.K,
            T=run.T,
            sigma=run.sigma,
            beta=beta,
            m=0.0 if r == 1 else 0.1,
            M=1.0,
        )
        # a run of T steps, all of whose iterates are shown, that costs as much
        z = np.sqrt(run.T * run.K * kick**2 / seen)
        public = epsilon(run.replace(beta=1.0, sigma=z), "composition")
        assert 0 < least_provable(said) <= public * (1 + 1e-6) and public <= epsilon(
            run, "composition"
        ) * (1 + 1e-6)


@pytest.mark.parametrize(
    ("d", "K", "batch", "T", "mu", "public", "least"),
    [
        (10**9, 64, 200, 10**4, 0.5, 2.164, 2.164),
        (10**6, 16, 2000, 10**3, 0.25, 3.446, 3.405),
        (10**5, 16, 200, 10**3, 0.5, 0.622, 0.495),
    ],
)
def test_the_least_that_can_be_proved_on_batches(d, K, batch, T, mu, public, least):
    pair = {"neighbours": "add-remove", "sampling": "poisson"}
    run = Setting.of(
        n=20_000, d=d, K=K, T=T, batch=batch, beta=0.5, noise_multiplier=1 / mu, **pair
    )
    assert epsilon(run, "composition") == pytest.approx(public, rel=2e-3)
    assert least_provable(run) == pytest.approx(least, rel=2e-3)
    far_below = K * T < 0.1 * d
    assert guarantee(run, "composition").truth == truth(run)
    assert truth(run).startswith(
        "KT ≪ d: composition is the truth" if far_below else "For linear losses"
    )
    assert f"{epsilon(run, 'composition'):.0f}" in truth(run) or not far_below


def test_it_is_said_only_where_nothing_pulls_two_runs_together():
    run = Setting(
        n=20_000, d=520, K=260, T=200, sigma=1e-3, beta=0.5, regime="convex", M=0.75, lipschitz=1.0
    )
    assert "at most 25" in truth(run) and "nothing under a joint clip" in truth(
        run.replace(clipping="joint")
    )
    for other in ({"ridge": 0.1, "m": 0.1}, {"R": 1.0}, {"batch": 100, "sampling": "shuffled"}):
        assert truth(run.replace(**other)) == ""
    assert truth(DEMONSTRATION) == ""
