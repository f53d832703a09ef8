"""Random runs whose divergence is known: no bound is ever below it.

Two kinds of truth, from tests/truth: linear steps with the directions revealed (a Gaussian given
the directions, met by adversaries who point the data), and a line, d = K = 1, with real losses,
clip, ball, two-point estimates and batches, by quadrature.
"""

from itertools import combinations
from math import exp, inf, sqrt

import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.special import ndtr

from tests.convention import Accounting, Setting, curve, epsilon
from tests.effort import examples
from tests.properties.runs import IDS, accountings
from tests.truth.hidden import Linear, Soft, Wave, mean_quotient, on_a_line
from tests.truth.revealed import UNLIKELY, Adversary, Run, Truth, mahalanobis
from zoexplore.run.setting import SCHEDULES

ERRORS = 4  # standard errors above the sampled average
DELTAS = (0.3, 0.05, 1e-2, 1e-3, 1e-5)
GRID = 2e-3  # of delta, that quadrature may be off by, beside 1e-7
# which is about another mechanism, unless K = d = 1
OF_THE_RUN = [bound for bound in IDS if bound != "noisy-gd"]


@st.composite
def linear_runs(draw):
    """A run whose drift has norm c: a ridge, or for c > 1 a concave quadratic, shared by all
    records.
    """
    d = draw(st.integers(2, 8))
    K = draw(st.integers(1, d))
    c = draw(st.sampled_from([0.1, 0.5, 0.9, 0.99, 1.0, 1.1]))
    T, n = draw(st.integers(1, 15)), draw(st.integers(2, 100))
    regime = "strongly-convex" if c < 1 else "convex" if c == 1 else "non-convex"
    m = 1.0 if c < 1 else 0.0
    sigma = 10 ** draw(st.floats(-0.7, 0.5)) * 2 * sqrt(T) / n
    return Setting(
        n=n,
        d=d,
        K=K,
        T=T,
        sigma=sigma,
        beta=draw(st.sampled_from([0.0, 0.1, 0.5, 0.9])),
        regime=regime,
        R=inf,
        clip=1.0,
        M=1.0,
        m=m,
        ridge=m,
        eta=K * (abs(1 - c) if c != 1 else 0.7),
        xi=draw(st.sampled_from([0.0, 0.1 / n])),
    )


@given(
    linear_runs(),
    accountings.filter(lambda a: a.schedule == "constant"),
    st.builds(
        Adversary,
        st.sampled_from(["shrink", "turn", "uneven"]),
        st.sampled_from([0.0, 1.0]),
        st.sampled_from([0, 2]),
    ),
    st.sampled_from(DELTAS),
    st.integers(0, 99),
)
@examples(60)
def test_no_adversary_who_sees_the_directions_gets_past_any_bound(
    run, accounting, adversary, delta, seed
):
    run = run.replace(delta=delta)
    losses = {bound: epsilon(run, bound, accounting) for bound in OF_THE_RUN}
    finite = {bound: loss for bound, loss in losses.items() if 0 < loss < inf}
    assume(finite)
    truth = Truth(
        mahalanobis(Run.of(run, accounting.sensitivity), adversary, 200, seed, 0.0, run.T)
    )
    for bound, loss in finite.items():
        mean, error = truth.delta(loss)
        unlikely = 4 * run.T * UNLIKELY * (1 + exp(min(loss, 700))) if run.xi > 0 else 0.0
        assert mean + ERRORS * error <= delta * (1 + 1e-9) + unlikely, (bound, loss, mean, error)


RECORDS = st.one_of(
    st.builds(Linear, st.floats(-1, 1)),
    st.builds(Soft, st.floats(-0.3, 0.3), st.sampled_from([0.05, 0.3])),
    st.builds(Wave, st.floats(-0.3, 0.3), st.sampled_from([0.05, 0.3])),
)


@st.composite
def lines(draw, batches=False):
    """A run with d = K = 1 and its two datasets: random losses, of which one is replaced."""
    shared = draw(st.lists(RECORDS, min_size=1, max_size=3))
    pair = draw(st.tuples(RECORDS, RECORDS).filter(lambda two: two[0] != two[1]))
    records = [*shared, *pair]
    steepest, n = max(loss.smoothness for loss in records), len(shared) + 1
    ridge = draw(st.sampled_from([0.0, 0.5]))
    M = max(steepest, 1e-3) + ridge
    wavy = any(isinstance(loss, Wave) for loss in records)
    regime = (
        "non-convex"
        if wavy
        else draw(st.sampled_from(["convex", "strongly-convex"]))
        if ridge
        else "convex"
    )
    run = Setting(
        n=n,
        d=1,
        K=1,
        T=draw(st.integers(1, 8)),
        sigma=10 ** draw(st.floats(-0.2, 0.5)),
        beta=draw(st.sampled_from([0.0, 0.4])),
        regime=regime,
        R=draw(st.sampled_from([inf, 0.05, 0.3])),
        clip=draw(st.sampled_from([0.3, 1.0, 2.0])),
        M=M,
        m=ridge,
        ridge=ridge,
        lipschitz=1.0,
        eta=10 ** draw(st.floats(-1.5, 0.0)),
        xi=draw(st.sampled_from([0.0, 0.02])),
        batch=draw(st.integers(1, n - 1)) if batches else None,
    )
    return run, tuple([*shared, record] for record in pair)


def check(run, density, bounds):
    assert abs(density.one.sum() - 1) < 1e-6 and abs(density.other.sum() - 1) < 1e-6
    for sensitivity in ("clip", "least"):
        for bound, losses in curve(
            run, "delta", DELTAS, bounds, Accounting(sensitivity=sensitivity)
        ).items():
            for delta, loss in zip(DELTAS, losses, strict=True):
                if loss < 700:
                    assert density.delta(loss) <= delta * (1 + GRID) + 1e-7, (
                        bound,
                        sensitivity,
                        delta,
                        loss,
                    )


@given(lines())
@examples(12)
def test_on_a_line_every_bound_is_above_the_exact_divergence(line):
    """Where d = K = 1 noisy gradient descent is the same mechanism, and its bound one of this
    run's.
    """
    run, datasets = line
    check(run, on_a_line(run, datasets, nodes=400), IDS)


class Batched:
    """w_T on a line when every step draws a batch that nobody sees: the mean of the batches'
    transitions, on cells.
    """

    def __init__(self, run, records, cells=401):
        self.one = self.other = None
        self.masses = [self._last(run, dataset, cells) for dataset in records]
        self.one, self.other = self.masses

    @staticmethod
    def _last(run, dataset, cells):
        edges = np.linspace(-run.R, run.R, cells + 1)
        centres, noise = (edges[1:] + edges[:-1]) / 2, run.eta * run.sigma
        batches = list(combinations(dataset, run.batch))
        transition = 0.0
        for batch in batches:
            slope = mean_quotient(batch, centres, 1.0, run.xi, run.clip) + run.ridge * centres
            below = ndtr((edges[None, 1:-1] - (centres - run.eta * slope)[:, None]) / noise)
            ends = (np.zeros((cells, 1)), below, np.ones((cells, 1)))
            transition = transition + np.diff(np.concatenate(ends, axis=1), axis=1) / len(batches)
        mass = (np.abs(centres) == np.abs(centres).min()).astype(float)
        for _ in range(run.T):
            mass = mass @ transition
        return mass

    def delta(self, loss):
        """The larger of the two divergences."""
        return max(
            np.maximum(p - exp(loss) * q, 0).sum()
            for p, q in ((self.one, self.other), (self.other, self.one))
        )


@given(lines(batches=True))
@examples(8)
def test_on_a_line_batches_too(line):
    """Cells are a post-processing of a step that starts at a cell's centre: the bounds hold for
    that run exactly.
    """
    run, datasets = line
    run = run.replace(R=0.3 if run.R == inf else run.R)
    check(run, Batched(run, datasets), ["composition", "output-perturbation", "theorem", "sharp"])


@given(lines(), st.sampled_from(SCHEDULES))
@examples(20)
def test_a_free_share_changes_nothing_where_all_noise_is_along_the_line(line, schedule):
    """With d = K = 1 the share has no meaning: the same number for every beta and schedule, of the
    bounds that know K = d.
    """
    run, _ = line
    for bound in ("composition", "output-perturbation", "sharp", "noisy-gd"):
        numbers = {
            epsilon(run.replace(beta=beta), bound, Accounting(schedule=schedule))
            for beta in (0.0, 0.3, 1.0)
        }
        assert max(numbers) == min(numbers) or max(numbers) <= min(numbers) * (1 + 1e-9)
