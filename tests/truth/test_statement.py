"""What the accountant reports of the sharper bound is what its theorem says of the fractions that
it shows.
"""

from math import inf, isfinite, log

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.bounds import exact
from tests.bounds.strategies import powers, settings_of_runs, whole_powers
from tests.convention import DEMONSTRATION, Accounting, Setting, curve, epsilon, guarantee
from tests.effort import examples, proof, usually
from tests.truth.statement import exact_moments, log_chance_of_spans
from tests.truth.tails import check_tails
from zoexplore.bounds.kernels import norms as kernels
from zoexplore.bounds.run_arrays import RunArrays
from zoexplore.bounds.sharp import BY_COMPOSITION
from zoexplore.run.setting import CONVERSIONS, SCHEDULES, SENSITIVITIES

SLACK = 0.005  # what the accountant's search may give up in epsilon
SHOWN = 1e-6  # relative rounding between blocks of steps and single ones

SHORT_RUNS = settings_of_runs(T=st.one_of(st.integers(1, 40), whole_powers(0, 2.6)))
LIVELY_RUNS = settings_of_runs(  # few of these end at composition or at infinity
    T=whole_powers(0, 2.6),
    n=whole_powers(2, 5),
    d=whole_powers(0.5, 3),
    sigma=powers(-4, -0.5),
    beta=st.floats(0, 0.95),
    delta=powers(-8, -0.5),
    M=st.just(1.0),
    m=st.sampled_from([0.1, 0.5, 1.0]),
    ridge=st.just(1.0),
    eta=st.none(),
    R=st.one_of(st.just(inf), powers(-2, 0)),
    xi=st.one_of(st.just(0.0), powers(-8, -4)),
)
ACCOUNTINGS = st.builds(
    Accounting,
    conversion=st.sampled_from(CONVERSIONS),
    sensitivity=st.sampled_from(SENSITIVITIES),
    schedule=st.sampled_from(SCHEDULES),
)


def check_certificate(s, accounting):
    """Whether the bound was a plan's own (and not composition or K = d), once all that it reports
    is checked.
    """
    g = guarantee(s, "sharp", accounting)
    if not g.valid:
        return False
    inside = g.trajectory
    assert g.N == len(inside.p) <= s.T and g.start in (0.0, 2 * s.R)
    assert inside.rho.sum() <= g.rho * (1 + SHOWN)
    if g._solved.kind == BY_COMPOSITION and g.delta_f > 0:  # its data are random
        runs = RunArrays.of(s).counted_by(accounting)
        S = runs.s1 + runs.s2 if accounting.schedule == "constant" else 1 / runs.K
        # in the span, at most
        length = (np.sqrt(2 * g.rho * S / s.T) - runs.quotient_bias_at_zero) / runs.B_lipschitz
        assert (
            log(g.delta_f)
            >= log_chance_of_spans(s.K, s.d, s.T, float(length) ** 2 * s.T) * (1 + 1e-6) - 1e-6
        )
    at_least = (
        float(exact.EXACT[accounting.conversion](g.rho, s.delta - g.delta_f)) if g.rho > 0 else 0.0
    )
    # whose tail says more than one budget
    assert g.epsilon >= at_least * (1 - 1e-9) or accounting.conversion == "gaussian"
    return check_tails(s, accounting)


@given(SHORT_RUNS, ACCOUNTINGS)
@examples(20)
def test_the_tails_are_the_theorems_for_the_fractions_shown(s, accounting):
    check_certificate(s, accounting)


@given(LIVELY_RUNS, ACCOUNTINGS)
@examples(25)
def test_the_tails_are_the_theorems_where_hiding_pays(s, accounting):
    assume(check_certificate(s, accounting))


@pytest.mark.parametrize(
    "changes",
    [{}, {"xi": 1e-4}, {"regime": "non-convex", "m": 0.9, "ridge": 0.9, "xi": 1e-6}, {"R": 0.02}],
)
@pytest.mark.parametrize("T", [3, proof(40), 300])
@pytest.mark.parametrize("lipschitz", [None, inf])
@pytest.mark.parametrize("sensitivity", SENSITIVITIES)
def test_the_tails_are_the_theorems_for_linear_models(changes, T, lipschitz, sensitivity):
    run = Setting(
        n=1000,
        d=520,
        K=260,
        T=T,
        sigma=0.1,
        beta=0.5,
        regime="strongly-convex",
        M=1.1,
        m=0.1,
        ridge=0.1,
        linear=True,
    )
    check_certificate(
        run.replace(lipschitz=lipschitz, **changes), Accounting(sensitivity=sensitivity)
    )


@pytest.mark.parametrize("T", usually([1, 3, 1000], of=[1, 2, 3, 13, 40, 200, 1000]))
@pytest.mark.parametrize(
    "changes", [{}, {"K": 52}, {"K": 1}, {"K": 519}, {"R": inf}, {"xi": 1e-6}, {"beta": 0.0}]
)
def test_the_tails_are_the_theorems_at_the_reference_settings(T, changes):
    for sensitivity in SENSITIVITIES:
        check_certificate(
            DEMONSTRATION.replace(T=T, **changes), Accounting(sensitivity=sensitivity)
        )


@pytest.mark.parametrize("d", [2, 3, 7, 520, 10**5, 10**9])
def test_moments_are_those_of_the_beta_law_and_never_below(d):
    for K in sorted({1, 2, max(1, d // 10), d // 2, d - 1}):
        for order in (1, 2, 3, 17, 100, 3000):
            if K < d:
                o, g = exact_moments(K, d, order)
                ours = kernels.moment(float(d - K), float(d), float(order))
                assert o <= ours <= o * (1 + 1e-12 + 0.001 * (order > 16))
                ours = kernels.moment(float(K), float(d), float(order))
                assert g <= ours <= g * (1 + 1e-12 + 0.001 * (order > 16))


@given(SHORT_RUNS, ACCOUNTINGS)
@examples(20)
def test_never_above_composition(s, accounting):
    composed = epsilon(s, "composition", accounting)
    if guarantee(s, "sharp", accounting).valid:
        assert epsilon(s, "sharp", accounting) <= composed * (1 + 1e-9)


@given(
    LIVELY_RUNS,
    ACCOUNTINGS,
    st.sampled_from(["sigma", "n", "clip", "R", "delta", "T"]),
    st.floats(1.05, 4),
)
@examples(30)
def test_more_of_what_hides_never_costs(s, accounting, field, factor):
    """Up to the search's slack: more noise, more records, a smaller clip or ball, more delta, fewer
    steps.
    """
    grows = field in ("clip", "R", "T")
    value = getattr(s, field) * factor
    if field in ("n", "T"):
        value = int(np.ceil(value))
    assume(field != "delta" or value < 1)
    more = s.replace(**{field: value})
    before, after = (epsilon(x, "sharp", accounting) for x in ((s, more) if grows else (more, s)))
    assume(isfinite(before))
    assert before <= after * (1 + SLACK) + 1e-9


@given(LIVELY_RUNS, ACCOUNTINGS, st.lists(whole_powers(0, 4), min_size=1, max_size=12))
@examples(15)
def test_a_curve_over_steps_is_its_points(s, accounting, steps):
    line = curve(s, "T", steps, ["sharp"], accounting)["sharp"]
    points = [epsilon(s.replace(T=T), "sharp", accounting) for T in steps]
    np.testing.assert_allclose(line, points, rtol=SLACK)
