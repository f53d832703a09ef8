"""What holds of every bound: numbers or reasons, the right slopes, and curves that are the points
they are made of.
"""

import re
import warnings
from math import inf, isnan

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.bounds.reference import variances
from tests.bounds.strategies import accountings, settings_of_runs, whole_powers
from tests.convention import DEMONSTRATION, Accounting, curve, epsilon, guarantee
from tests.effort import examples
from zoexplore import BOUNDS, Guarantee
from zoexplore.bounds.words import words_of

IDS = ["composition", "output-perturbation", "corollary", "theorem", "noisy-gd"]
PAPER = DEMONSTRATION.replace(
    n=1000, d=1000, K=200, sigma=0.1, m=0.9, ridge=0, M=1, R=1, xi=0, delta=1e-5, T=1000, beta=0.5
)
SEARCHED = 2e-3  # what a search over steps and splits may leave on the table, relative
bounds = st.sampled_from(IDS)


def tolerance(bound):
    return SEARCHED if bound == "theorem" else 1e-9


def at_most(small, large, bound):
    assert small <= large * (1 + tolerance(bound)) + 1e-13, f"{bound}: {small} above {large}"


# ---------------------------------------------------------------- numbers or reasons


@given(
    settings_of_runs(batch=st.one_of(st.none(), st.just(1))),
    bounds,
    accountings(printed=st.booleans()),
)
@examples(100)
@example(PAPER.replace(beta=0.0), "corollary", Accounting())
@example(PAPER.replace(R=inf), "theorem", Accounting(schedule="optimal"))
@example(PAPER.replace(R=inf, ridge=0.9), "theorem", Accounting())
@example(PAPER.replace(R=inf, regime="convex"), "output-perturbation", Accounting(printed=True))
def test_every_answer_is_a_number_or_a_reason(run, bound, accounting):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        g = guarantee(run, bound, accounting)
        assert isinstance(g, Guarantee) and g.bound == bound and g.setting is run and g.source
        assert g.epsilon >= 0 and not isnan(g.epsilon)
        assert g.epsilon == epsilon(run, bound, accounting)
        assert g.valid == (g.epsilon < inf)
        if g.valid:
            assert (g.rho >= 0 and isnan(g.order)) or (
                isnan(g.rho) and (g.order > 1 or "privacy-loss" in g.note)
            )
            assert 0 <= g.delta_f < run.delta and 1 <= g.N <= run.T
        else:
            assert (
                re.search(r"\d|∞", g.reason)
                or "contract" in g.reason
                or "no choice of steps" in g.reason
            )
            assert g.trajectory is None
        marked = accounting.printed and bool(BOUNDS[bound].printed)
        assert ("as printed" in g.title) == marked == g.reason.startswith("as printed")
        if g.valid and not marked:
            assert g.reason == ""
        failed = [check for check in g.checks if check.met is False]
        assert all(check.shortfall in g.reason for check in failed) and (not failed or not g.valid)


EXTREMES = {
    "n": [1, 10**15, 2**53],
    "d": [1, 2, 3, 2**53],
    "K": [1, 2],
    "T": [1, 2, 2**53],
    "sigma": [5e-324, 1e-300, 1e-154, 1e154, 1e300],
    "beta": [0.0, 5e-324, 1e-16, 1 - 1e-16, 1.0],
    "R": [5e-324, 1e-300, 1e300, inf],
    "clip": [5e-324, 1e-300, 1e300],
    "eta": [5e-324, 1e-200, 1e-30, 1e30, 1e200],
    "xi": [5e-324, 1e-300, 1e10, 1e300],
    "delta": [1e-300, 0.5, 1 - 1e-12],
    "m": [0.0, 1e-12, 1.0],
    "ridge": [0.0],
    "regime": ["strongly-convex", "convex", "non-convex"],
}


@st.composite
def extreme_settings(draw):
    """A plain run with up to four fields at the ends of what is allowed."""
    fields = draw(st.lists(st.sampled_from(sorted(EXTREMES)), min_size=1, max_size=4, unique=True))
    plain = {
        "n": 1000,
        "d": 1000,
        "K": 200,
        "T": 100,
        "sigma": 0.1,
        "M": 1.0,
        "m": 0.5,
        "ridge": 0.5,
        "R": 1.0,
        "delta": 1e-5,
    }
    changes = {name: draw(st.sampled_from(EXTREMES[name])) for name in fields}
    run = plain | changes
    run["K"], run["ridge"] = min(run["K"], run["d"]), min(run["ridge"], run["m"])
    return DEMONSTRATION.replace(**run)


@given(extreme_settings(), bounds, accountings())
@examples(150)
def test_the_ends_of_what_is_allowed_give_numbers_or_reasons(run, bound, accounting):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        g = guarantee(run, bound, accounting)
        assert g.epsilon >= 0
        assert g.valid or g.reason
        if g.valid and g.N < 10**5:
            path = g.trajectory
            assert path is None or not np.isnan(path.rho).any()


@pytest.mark.parametrize("bound", IDS)
@pytest.mark.parametrize("scale", [1e-160, 1e-100, 1e100, 1e160])
def test_only_ratios_of_lengths_matter(bound, scale):
    """A loss in other units scales clip, M, m, sigma and 1/eta; longer weights scale R, xi, eta,
    1/M and 1/m.
    """
    run = PAPER.replace(ridge=0.9, xi=1e-7, eta=200.0)
    louder = run.replace(
        clip=scale, M=scale, m=0.9 * scale, ridge=0.9 * scale, sigma=0.1 * scale, eta=200 / scale
    )
    assert epsilon(louder, bound) == pytest.approx(epsilon(run, bound), rel=tolerance(bound))
    longer = run.replace(
        R=scale, xi=1e-7 * scale, eta=200.0 * scale, M=1 / scale, m=0.9 / scale, ridge=0.9 / scale
    )
    assert epsilon(longer, bound) == pytest.approx(epsilon(run, bound), rel=tolerance(bound))


# ---------------------------------------------------------------- slopes that tests/properties/test_slopes.py has not


@given(settings_of_runs(), accountings(), whole_powers(0, 4))
def test_the_closed_form_falls_until_enough_steps_are_made(run, accounting, factor):
    """It always starts from the diameter, and so gains by steps; with few, it is far above
    composition.
    """
    at_most(
        epsilon(run.replace(T=run.T * factor), "corollary", accounting),
        epsilon(run, "corollary", accounting),
        "corollary",
    )


@given(settings_of_runs(ridge=st.just(1.0)), accountings())
@examples(50)
def test_knowing_more_of_the_loss_never_costs_more(run, accounting):
    for bound in ("theorem", "noisy-gd"):
        strong, convex, any_loss = (
            epsilon(run.replace(regime=regime), bound, accounting)
            for regime in ("strongly-convex", "convex", "non-convex")
        )
        at_most(strong, convex, bound)
        at_most(convex, any_loss, bound)


# ---------------------------------------------------------------- curves


def test_without_a_list_a_curve_has_every_bound():
    assert list(curve(PAPER, "T", [1])) == list(BOUNDS)


def test_a_curve_takes_any_collection_of_numbers():
    want = curve(PAPER, "T", [1, 10, 100], ["composition"])["composition"]
    for values in (
        (1, 10, 100),
        np.array([1, 10, 100]),
        np.array([1, 10, 100], np.float32),
        (v for v in (1, 10, 100)),
        range(1, 101, 1),
    ):
        got = curve(PAPER, "T", values, ["composition"])["composition"]
        assert np.array_equal(got if len(got) == 3 else got[[0, 9, 99]], want)


@pytest.mark.parametrize(
    ("field", "values", "message"),
    [
        ("regime", [1], "regime"),
        ("momentum", [1], "momentum"),
        ("T", [1, 0, 5], "T = 0.0"),
        ("T", [1, 2.5, 5], "T = 2.5"),
        ("T", [float("nan")], "T = nan"),
        ("T", [inf], "T = inf"),
        ("K", [1, 1001], "K = 1001.0 .* 1 to d = 1000"),
        ("d", [1000, 199], "K = 200 .* 1 to d = 199"),
        ("sigma", [1.0, -1.0], "sigma = -1.0"),
        ("sigma", [1.0, float("nan")], "sigma = nan"),
        ("beta", [0.5, 1.5], "beta = 1.5"),
        ("m", [0.5, 1.5], "m = 1.5"),
        ("M", [0.5], "m = 0.9"),
        ("delta", [1e-5, 1.0], "delta = 1.0"),
        ("T", [], "T"),
        ("T", [[1, 2]], "T"),
        ("T", ["many"], "T"),
        ("T", [None], "T"),
        ("T", [1j], "T"),
    ],
)
def test_a_curve_refuses_what_a_setting_would(field, values, message):
    with pytest.raises(ValueError, match=message):
        curve(PAPER, field, values)


def test_unknown_bounds_are_refused_with_those_that_exist():
    for ask in (
        lambda: guarantee(PAPER, "rdp"),
        lambda: epsilon(PAPER, "rdp"),
        lambda: curve(PAPER, "T", [1], ["rdp"]),
    ):
        with pytest.raises(ValueError, match=r"'rdp'.*'composition'"):
            ask()


def test_a_step_size_left_to_follow_does_so_along_curves():
    for field, values in (("K", [10, 100, 400]), ("M", [1.0, 2.0, 30.0])):
        for bound in IDS:
            points = [epsilon(PAPER.replace(**{field: value}), bound) for value in values]
            assert curve(PAPER, field, values, [bound])[bound] == pytest.approx(points, rel=1e-9)


def test_all_records_stay_all_records_along_n():
    assert np.isfinite(curve(PAPER, "n", [10, 1000, 10**6], ["composition"])["composition"]).all()
    assert np.isinf(
        curve(PAPER.replace(batch=10), "n", [10**3, 10**6], ["corollary"])["corollary"]
    ).all()
    assert np.isfinite(curve(PAPER, "batch", [1000], ["corollary"])["corollary"]).all()


# ---------------------------------------------------------------- entries


@pytest.mark.parametrize("bound", BOUNDS)
def test_every_bound_says_what_it_is(bound):
    entry = BOUNDS[bound]
    assert (
        entry.id == bound
        and entry.title
        and entry.summary
        and entry.cites
        and words_of(bound).latex
    )
    assert entry.assumptions and all(
        assumption.words.endswith((".", "∞.")) for assumption in entry.assumptions
    )


@pytest.mark.parametrize("bound", ["theorem", "corollary", "noisy-gd"])
def test_a_clip_that_must_act_is_no_guarantee(bound):
    """(m - ridge)(R + xi) <= Delta, by its two cures: a ridge outside the clip, and a smaller ball."""
    acts = guarantee(PAPER.replace(R=1.2), bound)
    assert acts.epsilon == inf and "(m − ridge)(R + ξ) = 1.08 exceeds Δ = 1" in acts.reason
    assert (
        guarantee(PAPER.replace(R=1.2, ridge=0.9), bound).valid
        and guarantee(PAPER.replace(R=1.1), bound).valid
    )
    assert guarantee(PAPER.replace(R=1.0, xi=0.12), bound).epsilon == inf
    assert guarantee(PAPER.replace(R=inf), bound).epsilon == inf
    for regime in ("convex", "non-convex"):
        assert "clip" not in guarantee(PAPER.replace(R=1.2, regime=regime), bound).reason


def test_bounds_that_assume_nothing_of_the_loss_do_not_mind():
    for bound in ("composition", "output-perturbation"):
        assert guarantee(PAPER.replace(R=1.2), bound).valid


def test_more_than_half_of_the_directions_is_legal_and_said():
    run = PAPER.replace(K=501)
    assert "2K = 1\u202f002 exceeds d = 1\u202f000" in guarantee(run, "theorem").reason
    assert guarantee(run, "composition").valid and guarantee(run, "noisy-gd").valid


def test_no_directional_noise_leaves_the_theorem_nothing():
    assert "β = 0" in guarantee(PAPER.replace(beta=0.0), "theorem").reason
    assert guarantee(PAPER.replace(beta=0.0), "theorem", Accounting(schedule="optimal")).valid


def test_hidden_states_help_where_the_paper_says():
    """The published picture: composition grows, the theorem levels off, output perturbation is far
    above.
    """
    run, accounting = PAPER.replace(sigma=0.1), Accounting(conversion="mironov")
    lines = curve(run, "T", [10, 100, 1000, 10**4, 10**6], accounting=accounting)
    assert lines["theorem"][-1] == lines["theorem"][2] < lines["composition"][2] / 3
    assert lines["composition"][-1] > 100 * lines["theorem"][-1]
    assert (lines["output-perturbation"] > 10 * lines["theorem"]).all()
    assert lines["corollary"][-1] > 3 * lines["theorem"][-1]


def test_full_batches_written_out_are_full_batches():
    for bound in IDS:
        assert epsilon(PAPER.replace(batch=1000), bound) == epsilon(PAPER, bound)
    for bound in ("corollary", "noisy-gd"):
        assert "b = 999 is below n" in guarantee(PAPER.replace(batch=999), bound).reason


def test_the_same_noise_energy_for_every_share():
    """Total noise power a step, K (s1 + s2) + (d - K) s2, is (eta sigma)^2 whatever beta and K."""
    for beta in (0.0, 0.3, 1.0):
        for K in (1, 30, 1000):
            run = PAPER.replace(beta=beta, K=K)
            s1, s2 = variances(run)
            assert K * (s1 + s2) + (run.d - K) * s2 == pytest.approx((run.eta * run.sigma) ** 2)


def test_printed_constants_change_nothing_of_a_bound_that_has_none():
    proved, printed = (
        guarantee(PAPER, "sharp", Accounting(sensitivity="least", printed=p)) for p in (False, True)
    )
    assert printed.epsilon == proved.epsilon
    assert printed.true_positive_rate(0.01) == proved.true_positive_rate(0.01)
