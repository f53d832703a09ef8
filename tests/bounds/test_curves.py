"""A point of a curve is what its run costs alone: nodes hand over preferences, never what another
run may be counted by.
"""

from dataclasses import replace
from math import inf

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.bounds.strategies import powers
from tests.convention import Accounting, Setting, curve, epsilon
from tests.effort import examples
from zoexplore.bounds import hidden_cost, sharp, sharp_plans
from zoexplore.bounds.conversion import NUMBERS
from zoexplore.bounds.kernels.gaussian import GAUSSIAN
from zoexplore.bounds.run_arrays import RunArrays
from zoexplore.run.setting import INTEGER_FIELDS

JOINT = Setting(
    n=1000,
    d=1000,
    K=984,
    T=400,
    sigma=0.002,
    beta=0.5,
    regime="strongly-convex",
    M=1.0,
    m=0.2,
    ridge=0.2,
    clip=1.0,
    clipping="joint",
    lipschitz=None,
)
NEAR = {"gaussian": 3e-3, "cks": 1e-2, "mironov": 1e-2}  # what a curve may exceed the run alone by
FIELDS = [
    "K",
    "d",
    "n",
    "batch",
    "T",
    "releases",
    "lipschitz",
    "beta",
    "sigma",
    "delta",
    "eta",
    "ridge",
    "xi",
]
HUGE = 1000.0
AT_ONCE = 6  # points of a curve that are computed alone


@pytest.mark.parametrize("run", [JOINT, JOINT.replace(d=400, K=384, sigma=0.001)])
def test_a_joint_clip_on_a_curve_never_gets_the_cube_of_a_single_direction(run):
    by_clip = Accounting(sensitivity="clip")
    found = curve(run, "K", [1, *range(run.K, run.d + 1)], ["sharp"], by_clip)["sharp"][1]
    assert found >= epsilon(run, "sharp", by_clip) * (1 - 1e-9)


def test_the_engine_refuses_a_choice_that_a_run_may_not_make():
    rows, _ = hidden_cost._rows(RunArrays.of(JOINT), 0.5, GAUSSIAN)
    with pytest.raises(AssertionError):
        sharp_plans.plan(rows.changed(cube=1.0), 3)
    with pytest.raises(AssertionError):  # J is tabled from order 2 on
        sharp_plans.plan(rows.changed(order=1.0), 3)


@pytest.mark.parametrize("changes", [{}, {"lipschitz": inf}, {"K": 52, "R": inf}])
def test_all_records_among_cyclic_batches_are_counted_as_alone(changes):
    run = Setting(
        n=20_000,
        d=520,
        K=260,
        T=400,
        sigma=1e-3,
        beta=0.5,
        regime="strongly-convex",
        R=0.31,
        M=0.75,
        m=0.5,
        ridge=0.5,
        lipschitz=None,
        sampling="cyclic",
    ).replace(**changes)
    found = curve(run, "batch", [100, 5000, 15_000, 20_000], ["sharp"])["sharp"][-1]
    assert found == pytest.approx(epsilon(run, "sharp"), rel=1e-9)


def _values(field, run, points):
    """Values of a field that pass through its changes of kind."""
    whole = {
        "K": (
            np.r_[1, np.linspace(max(1, run.d - points), run.d, points)],
            np.linspace(1, run.d, points),
        ),
        "d": (np.geomspace(run.K, 20 * run.K + 5, points),),
        "n": (np.geomspace(run.batch or 50, 1e5, points),),
        "batch": (np.geomspace(max(1, run.n // 50), run.n, points),),
        "T": (np.geomspace(1, 3 * run.T + 30, points),),
        "releases": (np.geomspace(1, run.T, points),),
    }
    parts = {
        "lipschitz": run.clip * np.geomspace(0.05, 20, points),
        "beta": np.linspace(0, 1, points),
        "sigma": run.sigma * np.geomspace(0.1, 10, points),
        "delta": np.geomspace(1e-9, 0.1, points),
        "eta": run.eta * np.geomspace(0.05, 2.2, points),
        "ridge": np.linspace(0, run.m, points),
        "xi": np.r_[0, np.geomspace(1e-7, 0.1, points)],
    }
    return (
        parts[field]
        if field in parts
        else np.unique(np.round(whole[field][points % len(whole[field])]))
    )


@st.composite
def curves(draw):
    """A run, a field, and its values."""
    d = draw(st.sampled_from([2, 7, 20, 32, 100, 200, 1000]))
    K = max(1, round(d * draw(st.sampled_from([0.02, 0.3, 0.97, 1.0]))))
    n, T = round(draw(powers(2, 4.5))), round(draw(powers(0, 3.5)))
    m = draw(st.sampled_from([0.9, 0.5, 0.2, 0.05]))
    field = draw(st.sampled_from(FIELDS))
    cyclic = field == "batch" or draw(st.integers(0, 3)) == 0
    run = Setting(
        n=n,
        d=d,
        K=K,
        T=T,
        sigma=draw(powers(-1, 1.2)) * 2 / n * T**0.35,
        beta=draw(st.sampled_from([0.5, 0.1, 0.9, 0.0, 1.0])),
        regime=draw(st.sampled_from(["strongly-convex", "convex", "non-convex"])),
        M=1.0,
        m=m,
        ridge=draw(st.sampled_from([0.0, m, m / 2])),
        R=draw(st.sampled_from([inf, 0.3, 1.0])),
        lipschitz=draw(st.sampled_from([None, inf, 1.0, 0.3, 3.0])),
        clipping=draw(st.sampled_from(["each", "joint"])),
        linear=draw(st.booleans()),
        xi=draw(st.sampled_from([0.0, 0.0, 1e-4])),
        delta=draw(powers(-8, -2)),
        neighbours=draw(st.sampled_from(["replace-one", "add-remove"])),
        releases=draw(st.sampled_from([1, 1, 2, 5])),
        sampling="cyclic" if cyclic else "without-replacement",
        batch=max(1, n // draw(st.sampled_from([1, 2, 5, 20]))) if cyclic else None,
    )
    return run, field, _values(field, run, draw(st.integers(9, 24)))


def _replayed(run, accounting, solved):
    """epsilon of a run alone by the choices that a curve made for it."""
    runs = (
        RunArrays.of(run)
        .counted_by(accounting)
        .counted_by_linear_norm(bool(solved.by_linear_norm == 1))
    )
    rows, planned = hidden_cost._chosen(runs, accounting, solved)
    run_of_row = np.zeros(rows.size, int)
    counted = hidden_cost._count(rows, planned, NUMBERS[accounting.conversion], run_of_row)
    return counted["epsilon"][0]


@given(
    curves(),
    st.sampled_from(["least", "clip"]),
    st.sampled_from(["gaussian", "gaussian", "cks"]),
    st.randoms(),
)
@examples(40)
def test_every_point_is_that_of_its_run_alone_or_a_choice_which_serves_it_too(
    case, sensitivity, conversion, random
):
    run, field, values = case
    accounting = Accounting(sensitivity=sensitivity, conversion=conversion)
    found = sharp.solve(RunArrays.along(run, field, values).counted_by(accounting), accounting)
    for j in random.sample(range(values.size), min(AT_ONCE, values.size)):
        at = run.replace(**{field: (int if field in INTEGER_FIELDS else float)(values[j])})
        alone = epsilon(at, "sharp", accounting)
        here = replace(found, **{name: x[j] for name, x in vars(found).items() if x.ndim})
        if not alone < HUGE:  # what it assumes does not hold, or it says nothing
            continue
        assert here.epsilon <= alone * (1 + NEAR[conversion]) or here.epsilon == alone, (at, field)
        if here.kind == sharp.SPLIT and here.epsilon < inf:
            assert here.epsilon >= _replayed(at, accounting, here) * (1 - 1e-9), (at, field)
        else:
            assert here.epsilon >= alone * (1 - 1e-6), (at, field)


def test_a_longer_run_serves_a_shorter_one_only_where_nothing_else_differs():
    runs = RunArrays.along(JOINT, "T", np.array([50.0, 100.0])).counted_by(Accounting())
    alone = hidden_cost.solve(runs, JOINT.beta, Accounting()).epsilon[0]
    quieter = runs.changed(sigma=np.array([JOINT.sigma, 100 * JOINT.sigma]))
    assert hidden_cost.solve(quieter, JOINT.beta, Accounting()).epsilon[0] >= alone
