"""Random runs within what a page offers and beyond, of all six bounds and every way to count."""

from math import inf

from hypothesis import strategies as st

from tests.bounds.strategies import powers, settings_of_runs, whole_powers
from tests.convention import Accounting
from zoexplore import BOUNDS
from zoexplore.run.setting import CONVERSIONS, SCHEDULES, SENSITIVITIES

IDS = list(BOUNDS)
# What a search may leave on the table, relative: the others are formulas.
SEARCHED = {"theorem": 0.002, "sharp": 0.01, "sharp, batches": 0.01}

accountings = st.builds(
    Accounting,
    conversion=st.sampled_from(CONVERSIONS),
    sensitivity=st.sampled_from(SENSITIVITIES),
    schedule=st.sampled_from(SCHEDULES),
)

# Few of these end at infinity, at zero or at composition: something is hidden, and a bound has
# something to search.
LIVELY = {
    "n": whole_powers(2, 6),
    "d": whole_powers(0.5, 5),
    "T": whole_powers(0, 5),
    "sigma": powers(-4, 0),
    "beta": st.one_of(st.just(0.0), st.floats(1e-6, 0.98)),
    "M": st.just(1.0),
    "m": st.sampled_from([0.1, 0.5, 1.0]),
    "ridge": st.just(1.0),
    "eta": st.none(),
    "R": st.one_of(st.just(inf), powers(-2, 1)),
    "xi": st.one_of(st.just(0.0), powers(-8, -4)),
    "delta": powers(-9, -1),
}


def lively(**fixed):
    """Runs that hide something; the fields in `fixed` are strategies that take the place of the
    usual ones.
    """
    return settings_of_runs(**(LIVELY | fixed))


def slack(bound, run):
    """By how much, relatively, two values of a bound may contradict each other."""
    batches = ", batches" if bound == "sharp" and not run.full_batch else ""
    return SEARCHED.get(bound + batches, 1e-9)
