"""Random runs, over ranges wider than any page offers."""

from math import inf

from hypothesis import strategies as st

from tests.convention import Accounting, Setting
from zoexplore.run.setting import CONVERSIONS, REGIMES, SCHEDULES

FULL_CARE = st.just(False)  # the paper's constants as they should be, not as printed


def powers(low, high):
    """10**x for x in [low, high], so that every order of magnitude is as likely."""
    return st.floats(low, high).map(lambda x: 10.0**x)


def whole_powers(low, high):
    return powers(low, high).map(round)


@st.composite
def settings_of_runs(draw, **fixed):
    """A run; the fields in `fixed` are strategies that take the place of the usual ones."""

    def of(name, usual):
        return draw(fixed.get(name, usual))

    d = of("d", whole_powers(0, 6))
    K = of(
        "K",
        st.one_of(st.integers(1, d), st.floats(0, 1).map(lambda x: max(1, min(d, round(d**x))))),
    )
    M = of("M", powers(-2, 2))
    m = M * of("m", st.one_of(st.sampled_from([0.0, 1.0]), powers(-6, 0)))
    ridge = m * of("ridge", st.one_of(st.just(1.0), st.floats(0, 1)))
    return Setting(
        n=of("n", whole_powers(0, 9)),
        d=d,
        K=K,
        T=of("T", whole_powers(0, 6)),
        sigma=of("sigma", powers(-5, 2)),
        beta=of("beta", st.one_of(st.sampled_from([0.0, 0.5, 1.0]), st.floats(0, 1))),
        regime=of("regime", st.sampled_from(REGIMES)),
        R=of("R", st.one_of(st.just(inf), powers(-3, 3))),
        clip=of("clip", powers(-2, 2)),
        M=M,
        m=m,
        ridge=ridge,
        eta=of("eta", st.one_of(st.none(), powers(-4, 3))),
        xi=of("xi", st.one_of(st.just(0.0), powers(-9, 0))),
        delta=of("delta", powers(-12, -0.3)),
        batch=of("batch", st.none()),
    )


def accountings(printed=FULL_CARE):
    return st.builds(
        Accounting,
        conversion=st.sampled_from(CONVERSIONS),
        schedule=st.sampled_from(SCHEDULES),
        printed=printed,
    )
