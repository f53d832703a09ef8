"""What is known of one record's gradient decides what every bound may count, and nothing else does."""

from math import inf

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.bounds.strategies import settings_of_runs
from tests.convention import DEMONSTRATION as BEFORE
from tests.effort import examples
from zoexplore import BOUNDS, Accounting, Setting, curve, epsilon, guarantee
from zoexplore.bounds.run_arrays import RunArrays
from zoexplore.run.presets import DEMONSTRATION, PAPER_CONVENTION

LOUD = BEFORE.replace(lipschitz=1.0)
NOTHING = LOUD.replace(lipschitz=inf)


@pytest.mark.parametrize(
    "run, accounting, composition, hidden",
    [
        (NOTHING, Accounting(), 7.81, 0.917),
        (LOUD, Accounting(), 0.2376, 0.0325),
        (LOUD, PAPER_CONVENTION, 7.81, 0.883),
        (DEMONSTRATION, Accounting(), 6.70, 0.863),
    ],
    ids=["nothing known", "at most the clip", "the paper's convention", "the run that is shown"],
)
def test_like_is_compared_with_like(run, accounting, composition, hidden):
    """Of hidden iterates from above: a sharper proof may say less."""
    assert epsilon(run, "composition", accounting) == pytest.approx(composition, rel=2e-3)
    assert 0.85 * hidden < epsilon(run, "sharp", accounting) <= hidden * 1.01


@given(settings_of_runs(), st.floats(0.01, 3.0))
@examples(40)
def test_more_known_is_never_more_lost_and_nothing_known_is_the_clip_alone(run, part):
    known = run.replace(lipschitz=part * run.clip)
    for bound in ("composition", "output-perturbation", "theorem", "corollary", "noisy-gd"):
        least, by_clip = (
            epsilon(known, bound, Accounting(sensitivity=s)) for s in ("least", "clip")
        )
        assert least <= by_clip, bound
        steep = known.replace(lipschitz=inf)
        assert epsilon(steep, bound) == epsilon(steep, bound, PAPER_CONVENTION), bound


@pytest.mark.parametrize("xi", [0.0, 0.3])
@pytest.mark.parametrize("clipping", ["each", "joint"])
def test_no_record_moves_a_step_further_than_is_counted(xi, clipping):
    """Quadratic losses of curvature up to M and gradients up to L, replaced, at random points and
    in random directions.
    """
    n, d, K, M, L, clip, eta = 7, 12, 5, 2.0, 1.0, 0.9, 0.7
    run = Setting(
        n=n,
        d=d,
        K=K,
        T=1,
        sigma=1.0,
        beta=0.5,
        M=M,
        eta=eta,
        xi=xi,
        clip=clip,
        clipping=clipping,
        lipschitz=L,
    )
    runs, rng = RunArrays.of(run), np.random.default_rng(5)
    farthest = 0.0
    for _ in range(400):
        U = np.linalg.qr(rng.normal(size=(d, K)))[0]
        moved = np.zeros(K)
        for sign in (1.0, -1.0):
            gradient = rng.normal(size=d) if rng.random() < 0.3 else U @ rng.choice([-1.0, 1.0], K)
            gradient *= L / np.linalg.norm(gradient)
            # a symmetric quotient is off by at most M xi/2 for a loss between -M and M: taken
            # whole, with the worst signs
            quotients = (
                sign * np.abs(U.T @ gradient) + sign * rng.choice([0.0, 1.0]) * 2 * M * xi / 4
            )
            short = min(1.0, clip / np.linalg.norm(quotients)) if clipping == "joint" else 1.0
            moved += sign * (
                quotients * short if clipping == "joint" else np.clip(quotients, -clip, clip)
            )
        farthest = max(farthest, eta / (K * n) * float(np.linalg.norm(moved)))
    assert 0.9 * float(runs.B * runs.unit) < farthest <= float(runs.B * runs.unit) * (1 + 1e-12)


def test_without_smoothness_two_points_say_nothing_of_a_gradient():
    """What they add to a derivative is then unbounded; it was counted as nothing."""
    run = Setting(n=1000, d=100, K=20, T=10, sigma=0.1, beta=1.0, lipschitz=0.5, xi=0.1)
    assert epsilon(run, "composition") == epsilon(run.replace(lipschitz=inf), "composition")
    assert epsilon(run.replace(xi=0.0), "composition") < epsilon(run, "composition")


def test_the_closed_forms_condition_on_two_points_is_of_the_record_that_is_counted():
    """One that is added moves a step half as far as one that is replaced; what two points add may
    cost no more than it does.
    """
    run = BEFORE.replace(delta=1e-3, n=1000, sigma=0.1)
    allowed = 2 / (run.n * run.M * np.sqrt(2 * run.d))
    for neighbours, part in (("replace-one", 1.0), ("add-remove", 0.5)):
        near = [
            guarantee(
                run.replace(neighbours=neighbours, xi=allowed * part * by),
                "corollary",
                PAPER_CONVENTION,
            )
            for by in (0.99, 1.01)
        ]
        assert near[0].valid and "ξ" in near[1].reason


def test_batches_in_epochs_count_the_length_of_gradients_too():
    cyclic = DEMONSTRATION.replace(batch=2000, sampling="cyclic")
    # a record is met in 20 of 200 steps, which it moves ten times as far
    once = DEMONSTRATION.replace(n=2000, T=20)
    assert epsilon(cyclic, "composition") == pytest.approx(epsilon(once, "composition"), rel=1e-9)
    assert epsilon(cyclic, "composition") < epsilon(cyclic, "composition", PAPER_CONVENTION) / 10


class TestBest:
    def test_it_is_the_least_on_this_run_and_says_which(self):
        g = guarantee(DEMONSTRATION, "best")
        assert g.bound == "sharp" and g.epsilon == epsilon(DEMONSTRATION, "best") == epsilon(
            DEMONSTRATION, "sharp"
        )
        assert guarantee(DEMONSTRATION.replace(beta=1.0), "best").bound == "composition", (
            "nothing is hidden"
        )

    def test_no_comparator_and_no_printed_constant_is_the_best(self):
        least = min(
            epsilon(BEFORE, b, Accounting(sensitivity="clip"))
            for b in BOUNDS
            if BOUNDS[b].of_this_run
        )
        printed = PAPER_CONVENTION.replace(printed=True)
        assert (
            epsilon(BEFORE, "best", printed)
            == guarantee(BEFORE, "best", printed).epsilon
            == least
            > epsilon(BEFORE, "noisy-gd")
        )

    def test_along_a_field(self):
        found = curve(DEMONSTRATION, "T", [1, 10, 100], ["best", "composition", "sharp"])
        np.testing.assert_array_equal(
            found["best"], np.minimum(found["composition"], found["sharp"])
        )


class TestSupposes:
    def test_composition_rests_on_what_it_counts(self):
        assert any(
            "length at most Δ" in words
            for words in guarantee(DEMONSTRATION, "composition").supposes
        )
        assert any(
            "Nothing is assumed" in words for words in guarantee(NOTHING, "composition").supposes
        )
        by_clip = guarantee(LOUD, "composition", PAPER_CONVENTION).supposes
        assert any("Nothing is assumed" in words for words in by_clip), (
            "it is supposed, and not counted"
        )

    @pytest.mark.parametrize("bound", ["composition", "sharp", "theorem"])
    def test_only_what_this_run_is(self, bound):
        said = " ".join(guarantee(DEMONSTRATION.replace(R=inf), bound).supposes)
        assert (
            "ball" not in said
            and "batch" not in said
            and "as stated" not in said
            and "where the regime" not in said
        )
        drawn = " ".join(guarantee(DEMONSTRATION.replace(batch=100), bound).supposes)
        assert (
            "without replacement" in drawn and "Poisson" not in drawn and "partition" not in drawn
        )
