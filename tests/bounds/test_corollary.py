"""The closed form: its number, and the runs for which it may be used."""

from math import ceil, floor, inf, log, sqrt

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.bounds import reference
from tests.bounds.strategies import powers, settings_of_runs, whole_powers
from tests.convention import DEMONSTRATION, Accounting, epsilon, guarantee
from zoexplore.bounds.contraction import k_min
from zoexplore.bounds.run_arrays import RunArrays

PAPER = DEMONSTRATION.replace(
    n=1000, d=1000, K=200, sigma=0.1, m=0.9, ridge=0, M=1, R=1, xi=0, delta=1e-5, T=1000, beta=0.5
)


def test_the_reference_point():
    assert epsilon(PAPER, "corollary", Accounting(conversion="mironov")) == pytest.approx(
        4.53724, abs=5.1e-6
    )


def test_the_minimum_is_where_the_paper_says():
    g = guarantee(PAPER.replace(T=10**7, M=1, m=0.99, d=2000, K=400), "corollary")
    real = 1000 * 1 * sqrt(2 * 2000) / 400
    assert g.N in (floor(real), ceil(real))
    # twice the 8 that is printed
    assert g.rho == pytest.approx(16 * 1 * sqrt(2 * 2000) / (400 * 1000 * 0.01), rel=1e-4)
    assert g.delta_f == PAPER.delta / 2


@given(
    settings_of_runs(
        regime=st.just("strongly-convex"),
        T=whole_powers(0, 3.5),
        R=powers(-3, 2),
        ridge=st.just(1.0),
        m=powers(-0.7, 0),
        beta=st.floats(0.001, 0.999),
        d=whole_powers(1.5, 4),
        K=whole_powers(1, 3.5).map(lambda K: max(1, min(15, K))),
    )
)
def test_small_K_is_refused_or_right(run):
    compare(run)


@given(st.data())
def test_the_budget_is_the_least_over_the_steps_that_delta_allows(data):
    d = data.draw(whole_powers(1.5, 4))
    run = data.draw(
        settings_of_runs(
            regime=st.just("strongly-convex"),
            T=whole_powers(0, 3.5),
            R=powers(-3, 2),
            ridge=st.just(1.0),
            m=powers(-0.3, 0),
            beta=st.floats(0.001, 0.999),
            d=st.just(d),
            K=st.integers(max(1, d // 5), d // 2),
            xi=st.just(0.0),
            eta=st.none(),
        )
    )
    compare(run)


def compare(run):
    c = reference.lipschitz(run, run.eta / run.K)
    g = guarantee(run, "corollary")
    if (
        c >= 1
        or 2 * run.K > run.d
        or run.xi
        > sqrt((1 - run.beta) / run.beta) * 2 * run.clip / (run.n * run.M * sqrt(2 * run.d))
    ):
        assert g.epsilon == inf and g.reason
        return
    p = reference.tail((1 - c * c) / (1 + c * c), run.K, run.d)
    # else rounding decides
    assume(p == 0 or abs(run.delta / 2 / p % 1 - 0.5) < 0.499 or run.delta / 2 / p > 1e6)
    true = reference.corollary_rho(run)
    assert (true == inf) == (g.epsilon == inf)
    if true < inf:
        assert g.rho == pytest.approx(true, rel=1e-9)
        assert g.N * p <= run.delta / 2 * (1 + 1e-9) and 1 <= g.N <= run.T
    else:
        assert f"K = {run.K} " in g.reason


def test_it_is_never_below_the_theorem_whose_special_case_it_is():
    for K in (100, 200, 400, 500):
        for xi in (0.0, 1e-6):
            run = PAPER.replace(K=K, xi=xi)
            assert epsilon(run, "theorem") <= epsilon(run, "corollary")


def test_both_forms_of_the_sufficient_number_of_directions():
    """(20/3) ((1+c^2)/(1-c^2))^2 ln((4/delta) ceil(...)), and it does suffice."""
    c = 0.1
    factor = 20 / 3 * ((1 + c * c) / (1 - c * c)) ** 2
    main, appendix = ceil(1000 * sqrt(2000)), ceil(1000 * sqrt(2000) / 200)
    runs = RunArrays.of(PAPER)
    assert float(k_min(runs)) == pytest.approx(factor * log(4e5 * main), rel=1e-12)
    assert float(k_min(runs, per_step=True)) == pytest.approx(
        factor * log(4e5 * appendix), rel=1e-12
    )
    assert float(k_min(RunArrays.of(PAPER.replace(regime="convex")))) == inf


@given(st.integers(1, 3000), powers(-0.25, 0), powers(-12, -1), whole_powers(1, 6))
def test_K_min_suffices_for_the_minimum(extra, m, delta, n):
    run = DEMONSTRATION.replace(
        n=n, d=10**5, K=1, M=1, m=m, ridge=m, R=1, delta=delta, T=10**9, beta=0.5
    )
    K = min(ceil(float(k_min(RunArrays.of(run)))) + extra, run.d // 2)
    assume(float(k_min(RunArrays.of(run))) <= K)
    g = guarantee(run.replace(K=K), "corollary")
    best = max(1.0, n * sqrt(2 * run.d) / K)
    assert g.epsilon < inf and abs(g.N - best) <= 1


@pytest.mark.parametrize(
    ("change", "condition"),
    [
        ({"K": 501}, "2K = 1\u202f002 exceeds d = 1\u202f000"),
        ({"regime": "convex"}, "does not contract"),
        ({"regime": "non-convex"}, "does not contract"),
        ({"eta": 500.0}, "does not contract"),
        ({"R": inf, "ridge": 0.9}, "R = ∞"),
        ({"beta": 0.0}, "β = 0"),
        ({"beta": 1.0}, "β = 1"),
        ({"xi": 1e-3, "ridge": 0.9}, "ξ = 0.001 exceeds 4.47\u202f×\u202f10⁻⁵"),
        ({"R": 1.2}, "1.08 exceeds Δ = 1"),
        ({"batch": 10}, "b = 10 is below n"),
        (
            {"K": 10},
            "K = 10 is too small: the chance that a step fails exceeds δ/2 (the paper's K_min",
        ),
        ({"m": 0.1}, "K = 200 is too small"),
    ],
)
def test_every_condition_is_named_with_its_numbers(change, condition):
    g = guarantee(PAPER.replace(**change), "corollary")
    assert g.epsilon == inf and condition in g.reason


def test_the_largest_perturbation_is_the_one_that_the_proof_allows():
    largest = 2 / (1000 * sqrt(2000))
    assert epsilon(PAPER.replace(ridge=0.9, xi=largest * (1 - 1e-9)), "corollary") < inf
    assert epsilon(PAPER.replace(ridge=0.9, xi=largest * (1 + 1e-9)), "corollary") == inf


@given(st.integers(1, 200), st.floats(0.01, 0.99), powers(-3, 0))
def test_the_form_is_above_its_theorem_even_with_the_largest_perturbation(N, beta, sigma):
    run = PAPER.replace(ridge=0.9, beta=beta, sigma=sigma)
    run = run.replace(xi=sqrt((1 - beta) / beta) * 2 / (1000 * sqrt(2000)))
    a = 2 / N + run.eta * run.xi  # an equal share of the diameter, and the drift, at c1 = 1
    cost = N * (
        (2 / 1000) ** 2 / (2 * beta * sigma**2)
        + a**2 * run.d / (2 * run.eta**2 * (1 - beta) * sigma**2)
    )
    assert cost <= N * (2 / 1000) ** 2 / (beta * sigma**2) + 2 * 4 * run.d / (
        (1 - beta) * N * run.eta**2 * sigma**2
    )


def test_as_printed_the_minimum_has_half_its_own_two_terms():
    g = guarantee(PAPER, "corollary", Accounting(printed=True))
    assert g.rho == pytest.approx(
        min(1000 * 4e-6 / 0.02, 8 * sqrt(2000) / (200 * 1000 * 0.01)), rel=1e-12
    )
    assert g.valid


def test_reasons_name_the_condition_that_fails():
    """More than half of the directions are not too few; without a ball there is no K_min to speak
    of.
    """
    reason = guarantee(DEMONSTRATION.replace(K=520), "corollary").reason
    assert "2K = 1\u202f040 exceeds d = 520" in reason and "too small" not in reason
    reason = guarantee(DEMONSTRATION.replace(K=52, R=inf), "corollary").reason
    assert "inf" not in reason and "K_min" not in reason
