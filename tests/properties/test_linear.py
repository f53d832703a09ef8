"""What is known of linear models makes no bound larger, changes "sharp" alone, and bounds go the
way they must with it, too.
"""

from math import inf

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.bounds.strategies import powers, whole_powers
from tests.convention import DEMONSTRATION, Accounting, curve, epsilon, guarantee
from tests.effort import examples, proof
from tests.properties.runs import IDS, accountings, lively, slack
from tests.properties.test_slopes import SLOPES, check, runs_for

CLIPS = st.sampled_from([None, inf])
WORDS = "a function of one linear form"
ACTING = DEMONSTRATION.replace(
    n=1000, sigma=0.1, T=150, M=1.1, m=0.1, ridge=0.1, R=inf, lipschitz=inf
)


@given(lively(xi=st.one_of(st.just(0.0), powers(-8, -2))), accountings, CLIPS)
@examples(25)
def test_it_never_costs_anything(run, accounting, lipschitz):
    run = run.replace(lipschitz=lipschitz)
    T = np.unique(np.geomspace(1, 10 * run.T, 7).round())
    without, with_it = (
        curve(run.replace(linear=linear), "T", T, accounting=accounting) for linear in (False, True)
    )
    for bound in IDS:
        if bound in (
            "composition",
            "sharp",
        ):  # whose two points add nothing to one form's quotients
            assert (with_it[bound] <= without[bound] * (1 + slack(bound, run)) + 1e-9).all()
        else:
            np.testing.assert_array_equal(with_it[bound], without[bound], err_msg=bound)


@pytest.mark.parametrize("field", [proof("sigma"), "delta", "n", "R", "T", "xi"])
@given(st.data(), accountings, CLIPS)
@examples(10)
def test_slopes_are_as_without_it(field, data, accounting, lipschitz):
    run = data.draw(runs_for(lively, field)).replace(linear=True, lipschitz=lipschitz)
    check(run, field, data.draw(SLOPES[field].spread), accounting, ["sharp"])


@given(lively(T=whole_powers(0, 4)), accountings)
@examples(20)
def test_a_clip_that_may_act_never_costs_less_than_an_idle_one(run, accounting):
    accounting = accounting.replace(sensitivity="clip")
    idle, acting = (
        epsilon(run.replace(linear=True, lipschitz=L), "sharp", accounting) for L in (None, inf)
    )
    assert idle <= acting * (1 + slack("sharp", run)) + 1e-9


CHANGES = [
    {},
    {"xi": 1e-3},
    {"K": 1, "eta": 1.0},
    {"K": 520},
    {"regime": "non-convex", "ridge": 1.0, "m": 1.0, "M": 1.8},
    {"R": 0.5},
    {"batch": 100, "T": 30},
    {"batch": 100, "sampling": "cyclic", "T": 30},
    {"releases": 5},
    {"neighbours": "add-remove"},
    {"records_per_person": 3},
    {"eta": 700.0},
    {"d": 2, "K": 1},
]
OPTIONS = [{}, {"schedule": "optimal"}, {"sensitivity": "least"}, {"printed": True}]
# By default every run as it is counted by default, and in every other way the plain one and one on
# batches.
ASKED = [
    proof(changes, options)
    if options and changes not in (CHANGES[0], CHANGES[6])
    else (changes, options)
    for changes in CHANGES
    for options in OPTIONS
]


@pytest.mark.parametrize("changes, options", ASKED, ids=str)
def test_whatever_the_run_it_is_used_and_listed(changes, options):
    run = ACTING.replace(**changes)
    without, with_it = (
        guarantee(run.replace(linear=linear), "sharp", Accounting(**options))
        for linear in (False, True)
    )
    assert with_it.epsilon <= without.epsilon * (1 + 1e-3)
    assert WORDS in " ".join(c.words for c in with_it.checks) and WORDS not in " ".join(
        c.words for c in without.checks
    )


def test_where_it_says_nothing_it_is_not_listed():
    """An idle clip without two points, one dimension, where every loss is of one linear form, and
    losses without curvature.
    """
    for run in (ACTING.replace(lipschitz=None), ACTING.replace(d=1, K=1), ACTING.replace(M=0.1)):
        found = guarantee(run.replace(linear=True), "sharp")
        assert found.epsilon == epsilon(run, "sharp") and WORDS not in " ".join(
            c.words for c in found.checks
        )


def test_a_loss_that_is_strongly_convex_besides_is_not_of_one_linear_form():
    """Beyond the form it is flat: with a regulariser inside the clip it is another loss, and the
    bound says so.
    """
    run = ACTING.replace(m=0.2)
    found = guarantee(run.replace(linear=True), "sharp")
    assert (
        found.epsilon == epsilon(run, "sharp") and "no function of one linear form is" in found.note
    )
    assert WORDS not in " ".join(c.words for c in found.checks)


@pytest.mark.parametrize("changes", [{}, {"xi": 1e-3}, {"xi": 1e-3, "lipschitz": None}, {"K": 52}])
def test_the_steps_shown_add_up(changes):
    found = guarantee(ACTING.replace(linear=True, **changes), "sharp")
    inside = found.trajectory
    assert inside.rho.sum() == pytest.approx(found.rho, rel=1e-3) and inside.z[-1] == 0
