"""The norm of a step whose joint clip may act is never below what the clip can do, and is the
page's.
"""

from math import pi, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.bounds.strategies import powers
from tests.effort import examples, usually
from tests.truth import joint as by_the_page
from tests.truth.statement import norm as idle_norm
from zoexplore.bounds.kernels.joint import joint_linear_norm, joint_norm
from zoexplore.bounds.kernels.norms import (
    EACH,
    JOINT,
    JOINT_LINEAR,
    RAYS,
    Change,
    Span,
    certain_constant,
    drift_constant,
    norm,
    tabled_norm,
)

SIZES = [(1, 2), (1, 3), (2, 3), (1, 4), (3, 4), (2, 5), (4, 5)]
STEPS = {  # of a step: r, and eta/K times the least and the largest curvature of what is clipped
    "convex": (0.8, 0.0, 0.6),
    "convex, all of the curvature": (0.6, 0.0, 0.6),
    "long": (0.3, 0.0, 1.5),
    "overshooting": (-0.4, 0.0, 0.5),
    "non-convex": (0.7, -0.3, 0.3),
    "weakly convex": (0.7, -0.1, 0.5),
    "strongly convex": (0.9, 0.2, 0.8),
    "no ridge": (1.0, 0.0, 1.0),
}


def ours(K, d, order, A, C, of_step, linear=False, slowest=1.0):
    span, change = Span(float(K), float(d), float(order)), Change(*of_step)
    if linear:
        table = joint_linear_norm(tabled_norm(*span), span, change, slowest, 1.0)
    else:
        table = joint_norm(span, change, slowest, 1.0)
    return norm(table, A, C)[0]


@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize(
    "name", usually(["convex", "overshooting", "non-convex", "strongly convex"], of=STEPS)
)
def test_no_clip_does_more_over_all_frames(name, size):
    K, d = size
    for order in (1, 3, 12):
        for C in (0.2, 2.0):
            found = ours(K, d, order, 1.0, C, STEPS[name])
            worst = by_the_page.worst_norm(K, d, order, 1.0, C, *STEPS[name])
            assert worst * (1 - 1e-9) <= found <= 3 * worst


@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("name", ["convex", "overshooting", "non-convex", "weakly convex"])
def test_no_clip_of_one_linear_form_does_more_over_all_frames(name, size):
    K, d = size
    for order in (1, 3, 12):
        for C in (0.2, 2.0):
            worst = by_the_page.worst_linear_norm(K, d, order, 1.0, C, *STEPS[name])
            assert (
                worst * (1 - 1e-9)
                <= ours(K, d, order, 1.0, C, STEPS[name], linear=True)
                <= 4 * worst
            )


@given(
    st.sampled_from(
        [(1, 2), (2, 3), (4, 5), (8, 10), (52, 520), (519, 520), (200, 1000), (3, 10**6)]
    ),
    st.sampled_from([1, 2, 7, 40, 150]),
    powers(-2, 2),
    st.sampled_from(list(STEPS)),
)
@examples(6)
def test_the_table_is_the_page_s_series_from_above(size, order, C, name):
    exact = by_the_page.norm(*size, order, 1.0, C, *STEPS[name])
    found = ours(*size, order, 1.0, C, STEPS[name])
    assert found <= exact * (1 + 3e-3)
    assert found >= exact * (1 - 1e-6) or found >= by_the_page.hull(
        *size, order, 1.0, C, *STEPS[name]
    ) * (1 - 1e-3)


@pytest.mark.parametrize("d", [2, 5, 520])
def test_all_directions_have_a_closed_form(d):
    """2r/sqrt(4 - tau) up to tau = 3 for convex losses, |r - sM'| beyond; |r| + sM' where r < 0 and
    for non-convex losses.
    """
    found = {
        (1.0, 0.0, 1.0): 2 / sqrt(3),
        (0.5, 0.0, 0.2): 1 / sqrt(3.6),
        (0.4, 0.0, 1.2): 0.8,
        (0.4, 0.0, 2.0): 1.6,
        (-0.3, 0.0, 0.5): 0.8,
        (0.7, -0.3, 0.3): 1.0,
    }
    for of_step, c in found.items():
        assert certain_constant(Change(*of_step), 1.0, JOINT) == pytest.approx(c, rel=1e-7)
        assert by_the_page.constant(*of_step) <= certain_constant(Change(*of_step), 1.0, JOINT)
        assert drift_constant(Change(*of_step), float(d), 30.0, JOINT, True) == pytest.approx(
            c * c, rel=1e-6
        )
    assert certain_constant(Change(0.9, 0.0, 1.0), 1.0, JOINT_LINEAR) == pytest.approx(0.9)
    assert certain_constant(Change(0.7, -0.3, 0.3), 1.0, JOINT_LINEAR) == pytest.approx(1.0)


def test_the_constant_of_a_clip_on_each_quotient_does_not_hold():
    """A gradient just beyond the clip, all directions seen: D = I - uu'. Convex losses, tau = 1:
    4/3 against 1.174.
    """
    a, b = np.meshgrid(np.linspace(0, pi, 361), np.linspace(0, pi, 361))
    x, u, drifted = (
        np.array([np.cos(a), np.sin(a)]),
        np.array([np.cos(b), np.sin(b)]),
        np.array([np.cos(a), 0 * a]),
    )
    worst = float(np.linalg.norm(x - (drifted - u * (u * drifted).sum(axis=0)), axis=0).max()) ** 2
    each = drift_constant(Change(1.0, 0.0, 1.0), 520.0, 1.0, EACH, False)
    together = drift_constant(Change(1.0, 0.0, 1.0), 520.0, 1.0, JOINT, True)
    assert each == pytest.approx(1.174, rel=2e-3)
    assert 4 / 3 * (1 - 1e-3) < worst <= together == pytest.approx(4 / 3, rel=1e-7) and worst > each
    of_each = idle_norm(
        58, 60, 1, 1.0, 2.0 * drift_constant(Change(1.0, 0.0, 1.0), 60.0, 1.0, EACH, False)
    )[0]
    assert (
        1.05 * of_each
        < by_the_page.worst_norm(58, 60, 1, 1.0, 2.0, 1.0, 0.0, 1.0)
        < ours(58, 60, 1, 1.0, 2.0, (1.0, 0.0, 1.0))
    )


@pytest.mark.parametrize(
    "of_step", [STEPS["convex"], STEPS["non-convex"], STEPS["overshooting"]], ids=str
)
def test_steps_of_many_sizes_are_covered_by_both_ends(of_step):
    r, low, top = of_step
    whole = ours(20, 60, 30, 1.0, 1.5, of_step, slowest=0.3)
    for part in (1.0, 0.8, 0.5, 0.3):
        smaller = (1 - part * (1 - r), part * low, part * top)
        assert ours(20, 60, 30, 1.0, 1.5, smaller) <= whole * (1 + 1e-9)


def test_the_table_is_convex():
    for of_step in STEPS.values():
        table = joint_norm(Span(52.0, 520.0, 129.0), Change(*of_step), 1.0, 1.0)
        t = RAYS[0]
        chords = table[:-2] + (table[2:] - table[:-2]) * (t[1:-1] - t[:-2]) / (t[2:] - t[:-2])
        assert (table[1:-1] <= chords * (1 + 1e-12)).all()


@pytest.mark.parametrize("d, K, order", [(520, 52, 120), (520, 260, 320), (10**9, 10**3, 400)])
def test_a_linear_model_loses_next_to_nothing(d, K, order):
    """A factor of at most 2^(1/order) against an idle clip."""
    r, low, top = STEPS["convex"]
    idle = idle_norm(K, d, order, 1.0, 1.3 * max(r, abs(r - top)) ** 2)[0]
    assert (
        idle * (1 - 1e-9)
        <= ours(K, d, order, 1.0, 1.3, (r, low, top), linear=True)
        <= idle * (2 ** (1 / order) + 1e-3)
    )
