"""Along a curve every bound goes the way it must: down with noise, records and delta, up with
steps, the clip and the ball.
"""

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.bounds.strategies import powers, settings_of_runs, whole_powers
from tests.convention import curve
from tests.effort import examples, proof
from tests.properties.runs import IDS, accountings, lively, slack
from zoexplore.run.setting import INTEGER_FIELDS

HIDDEN = ["theorem", "sharp", "noisy-gd"]
POINTS = 12
FEWER = 5  # on batches, where a point takes ten times as long
ENDLESS = 1e25  # an epsilon beyond it is infinite to whoever reads it
# And on batches beyond this, where exact conversion gives way to one Renyi order for some runs and
# not for their neighbours.
GIVES_WAY = 100.0


@dataclass(frozen=True)
class Slope:
    """What a field does to the bounds named, whatever the rest: +1 where more of it never costs
    less, -1 never more.

    `spread` is the factor between the ends of a curve; `fixed` the fields that must be so for it to
    be true.
    """

    sign: int
    bounds: list[str]
    spread: st.SearchStrategy
    fixed: dict[str, st.SearchStrategy]


# a ridge that is all of m: the assumption that the clip is idle does not end along R
LIKE_ITSELF = st.just(1.0)
ANY = {}
SLOPES = {
    "sigma": Slope(-1, IDS, powers(0.1, 4), ANY),
    "delta": Slope(-1, IDS, powers(0.1, 4), {"delta": powers(-9, -4.5)}),
    # two-point remainders and the closed form's condition on xi are not about records
    "n": Slope(-1, IDS, powers(0.5, 4), {"xi": st.just(0.0)}),
    "clip": Slope(
        +1, ["composition", "output-perturbation", *HIDDEN], powers(0.1, 3), {"ridge": LIKE_ITSELF}
    ),
    "R": Slope(
        +1,
        ["output-perturbation", *HIDDEN],
        powers(0.1, 3),
        {"ridge": LIKE_ITSELF, "R": powers(-3, 2)},
    ),
    "T": Slope(+1, ["composition", *HIDDEN], powers(0.5, 5), {"T": whole_powers(0, 4)}),
    "xi": Slope(
        +1, ["composition", *HIDDEN], powers(0.5, 4), {"ridge": LIKE_ITSELF, "xi": powers(-8, -4)}
    ),
}


def along(run, field, spread):
    """Values from the run's own up to `spread` times it."""
    values = getattr(run, field) * spread ** np.linspace(0, 1, POINTS if run.full_batch else FEWER)
    return np.unique(values.round()) if field in INTEGER_FIELDS else values


def check(run, field, spread, accounting, bounds=IDS):
    slope = SLOPES[field]
    values = along(run, field, spread)
    for bound, line in curve(
        run, field, values, [b for b in slope.bounds if b in bounds], accounting
    ).items():
        assert not np.isnan(line).any() and (line >= 0).all()
        line = np.where(line < (ENDLESS if run.full_batch else GIVES_WAY), line, np.inf)
        ordered = line if slope.sign > 0 else line[::-1]
        so_far = np.maximum.accumulate(ordered)
        with np.errstate(invalid="ignore"):
            wrong = so_far > ordered * (1 + slack(bound, run)) + 1e-9
        assert not wrong.any(), (bound, values, line)


def runs_for(of_runs, field, **more):
    return of_runs(**SLOPES[field].fixed, **more)


@pytest.mark.parametrize("field", SLOPES)
@given(st.data(), accountings)
@examples(10)
def test_over_all_runs(field, data, accounting):
    run = data.draw(runs_for(settings_of_runs, field))
    check(run, field, data.draw(SLOPES[field].spread), accounting)


@pytest.mark.parametrize("field", SLOPES)
@given(st.data(), accountings)
@examples(12)
def test_where_something_is_hidden(field, data, accounting):
    run = data.draw(runs_for(lively, field))
    check(run, field, data.draw(SLOPES[field].spread), accounting)


# On batches composition alone has a slope, which along a clip is that along the noise, and knows of
# no ball and no perturbation; along delta it is that of the conversion, which
# tests/bounds/test_conversion.py has too.
ON_BATCHES = [proof(field) if field in ("clip", "R", "xi", "delta") else field for field in SLOPES]


@pytest.mark.parametrize("field", ON_BATCHES)
@given(st.data(), accountings)
@examples(6)
def test_on_batches(field, data, accounting):
    """The sharper bound's choices on batches settle in one of several optima: of it only that it is
    never above composition.
    """
    run = data.draw(runs_for(lively, field, batch=st.sampled_from([1, 10, 90])))
    spread = data.draw(SLOPES[field].spread)
    check(run, field, spread, accounting, ["composition", "output-perturbation", "theorem"])
    lines = curve(
        run, field, along(run, field, spread)[[0, -1]], ["composition", "sharp"], accounting
    )
    if np.isfinite(lines["sharp"]).any():
        assert (lines["sharp"] <= lines["composition"] * (1 + 1e-9)).all()


@given(lively(), accountings, powers(0.5, 5))
@examples(20)
def test_the_sharper_bound_never_falls_along_steps(run, accounting, spread):
    """Not by a rounding: a longer run's bound serves a shorter one."""
    line = curve(run, "T", along(run, "T", spread), ["sharp"], accounting)["sharp"]
    assert (line[:-1] <= line[1:] * (1 + 1e-12)).all()


@given(
    lively(n=st.just(10**6), batch=st.integers(1, 1000), sigma=powers(-1.5, 1)),
    st.sampled_from(["without-replacement", "poisson"]),
)
@examples(10)
def test_nor_does_composition_of_a_few_steps_that_hardly_hold_the_record(run, sampling):
    """Where some numbers of steps are converted more tightly than others."""
    run = run.replace(
        sampling=sampling, neighbours="add-remove" if sampling == "poisson" else "replace-one"
    )
    line = curve(run, "T", np.arange(1, 60), ["composition"])["composition"]
    assert (line[:-1] <= line[1:] * (1 + 1e-12)).all()
