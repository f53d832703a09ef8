"""A run whose last steps have another share of the noise, and what goes on being known of a record
after steps without it.
"""

from math import inf

import numpy as np
import pytest

from tests.effort import proof
from zoexplore import Accounting, Setting, curve, epsilon, forgetting, guarantee
from zoexplore.bounds.conversion import epsilon_of
from zoexplore.run.presets import DEMONSTRATION, PRESETS

ACTING = DEMONSTRATION.replace(sigma=1e-3, lipschitz=inf)
ALONG = ACTING.replace(beta=1.0)
HEAD = PRESETS["linear-head"].setting.replace(batch=2000, sigma=2e-4, T=4000, lipschitz=1.0)
POISSON = {"sampling": "poisson", "neighbours": "add-remove"}


def test_all_steps_cooled_down_are_a_run_of_that_share():
    for run in (ALONG, HEAD.replace(beta=1.0), HEAD.replace(beta=1.0, **POISSON)):
        for bound in ("composition", "sharp", "output-perturbation", "theorem"):
            cooled = epsilon(run.replace(cooldown=10**5), bound)
            assert cooled == pytest.approx(epsilon(run.replace(beta=0.5), bound), rel=1e-6)
            assert epsilon(run.replace(cooldown=3, cooldown_beta=1.0), bound) == epsilon(run, bound)


@pytest.mark.parametrize(
    ("K", "known"),
    [
        (260, {0: 6.573, 1: 0.9660, 3: 0.9214, 20: 0.9150}),
        (52, {0: 6.573, 1: 3.080, 3: 2.754, 20: 2.443}),
    ],
)
def test_one_isotropic_last_step_is_worth_nearly_all(K, known):
    """Never above what the first recursion alone gives, and near what hiding throughout is worth."""
    found = {N: epsilon(ALONG.replace(K=K, cooldown=N), "sharp") for N in known}
    assert all(0.85 * known[N] < found[N] <= known[N] * 1.001 for N in known)
    throughout = epsilon(ACTING.replace(K=K), "sharp")
    assert throughout <= found[20] * (1 + 1e-3) and found[1] < 1.5 * throughout
    assert sorted(found.values(), reverse=True) == list(found.values())


def test_composition_of_a_cooldown_is_the_sum_of_both_kinds():
    run, N = ALONG.replace(T=50), 7
    rho = [
        guarantee(run.replace(T=T, beta=beta), "composition").rho
        for T, beta in ((43, 1.0), (7, 0.5))
    ]
    assert guarantee(run.replace(cooldown=N), "composition").rho == pytest.approx(
        sum(rho), rel=1e-12
    )


@pytest.mark.parametrize("lipschitz", [1.0, proof(inf)])
def test_fresh_batches_cool_down_over_more_steps(lipschitz):
    known = {
        1.0: {1: 1.58, 5: 0.535, 20: 0.198, 60: 0.098},
        inf: {1: 6.64, 5: 1.84, 20: 0.646, 60: 0.348},
    }[lipschitz]
    run = HEAD.replace(beta=1.0, lipschitz=lipschitz, **POISSON)
    composed = epsilon(run, "composition")
    for N, value in known.items():
        assert epsilon(run.replace(cooldown=N), "sharp") <= min(value, composed) * 1.03


def test_a_cooldown_along_T_is_each_of_its_runs():
    run = ALONG.replace(cooldown=3)
    steps = [1, 2, 3, 4, 10, 100, 1000]
    line = curve(run, "T", steps, ["sharp", "composition"])
    for bound in line:
        alone = [epsilon(run.replace(T=T), bound) for T in steps]
        np.testing.assert_allclose(line[bound], alone, rtol=3e-3)


def test_what_a_cooldown_is_not_covered_by_says_so():
    run = ALONG.replace(cooldown=3)
    assert (
        "another share" in guarantee(run, "theorem").reason
        and "another share" in guarantee(run, "corollary").reason
    )
    assert "cool-down" in guarantee(run, "sharp", Accounting(schedule="optimal")).reason
    assert epsilon(run.replace(releases=2), "sharp") == epsilon(
        run.replace(releases=2), "composition"
    )
    assert epsilon(run.replace(batch=2000, sampling="cyclic"), "sharp") <= epsilon(
        run.replace(batch=2000, sampling="cyclic"), "composition"
    )


@pytest.mark.parametrize(
    ("K", "known"),
    [
        (260, {0: 0.9188, 2: 0.6167, 10: 0.0734, 20: 0.0042}),
        (52, {0: 2.428, 2: 2.277, 10: 1.708, 20: 1.151}),
    ],
)
def test_a_record_is_forgotten_step_by_step(K, known):
    found = {N: forgetting(ACTING.replace(K=K), N).epsilon for N in known}
    assert all(found[N] <= known[N] * 1.001 for N in known)
    assert sorted(found.values(), reverse=True) == list(found.values())
    assert found[0] == epsilon(ACTING.replace(K=K), "sharp") and found[20] > 0


def exact_on_a_line(run, N):
    """delta at every epsilon of two linear runs in one dimension whose gradients differ in the
    first T steps: Gaussians.
    """
    r, noise = 1 - run.eta * run.ridge, run.eta * run.sigma
    shift = sum(r ** (N + t) for t in range(run.T)) * run.eta * 2 * run.clip / run.n
    deviation = noise * np.sqrt(sum(r ** (2 * t) for t in range(run.T + N)))
    return shift / deviation


@pytest.mark.parametrize("N", [1, 4, 12])
def test_what_is_forgotten_on_a_line_is_not_below_the_truth(N):
    run = Setting(
        n=10,
        d=1,
        K=1,
        T=20,
        sigma=0.4,
        beta=0.5,
        regime="convex",
        M=1.0,
        m=0.2,
        ridge=0.2,
        eta=0.5,
        clip=1.0,
        delta=1e-3,
    )
    mu = exact_on_a_line(run, N)
    assert forgetting(run, N).epsilon >= float(epsilon_of(mu**2 / 2, run.delta)) * (1 - 1e-6)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"releases": 2}, "released before the end"),
        ({"batch": 100}, "batches are not covered"),
        ({"cooldown": 2}, "cool-down"),
        ({"beta": 1.0}, "all noise along the directions"),
    ],
)
def test_what_is_not_forgotten_says_why(changes, words):
    found = forgetting(ACTING.replace(**changes), 5)
    assert found.epsilon == inf and words in found.reason
    with pytest.raises(ValueError, match="steps"):
        forgetting(ACTING, -1)


def test_each_step_has_its_share():
    run = ALONG.replace(T=5, cooldown=2, cooldown_beta=0.25)
    assert [run.beta_at(t) for t in range(5)] == [1.0, 1.0, 1.0, 0.25, 0.25]
    assert [ALONG.replace(T=2, cooldown=9).beta_at(t) for t in range(2)] == [0.5, 0.5]
