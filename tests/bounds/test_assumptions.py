"""What a number rests on is listed with it: under every way to count, and nothing that it does not
rest on.
"""

import re
from itertools import product

import pytest

from tests.convention import DEMONSTRATION, Accounting, guarantee
from zoexplore import BOUNDS

SMOOTH, IDLE, LENGTH = "M-smooth", "(m − ridge)(R + ξ) ≤ Δ", "has length at most Δ"
LAST, DIRECTIONS = "Only the last iterate", "nobody who chooses the data knows the directions"
CLIP_ALONE = "Nothing is assumed of the loss"
HIDDEN = ("corollary", "theorem", "sharp", "noisy-gd")
RUN = DEMONSTRATION.replace(T=50, xi=1e-9, R=0.3)


def words(bound, run=RUN, **options):
    return " ".join(check.words for check in guarantee(run, bound, Accounting(**options)).checks)


@pytest.mark.parametrize("bound", BOUNDS)
@pytest.mark.parametrize(
    "options", [{}, {"sensitivity": "least"}, {"schedule": "optimal"}, {"printed": True}], ids=str
)
@pytest.mark.parametrize(
    "regime, batch", [*product(("strongly-convex", "convex", "non-convex"), (None, 100))]
)
def test_everything_that_a_bound_rests_on_is_listed(bound, options, regime, batch):
    found = words(bound, RUN.replace(regime=regime, batch=batch), **options).lower()
    assert "the start lies in the ball and does not depend on the data" in found
    hidden, by_length = bound in HIDDEN, options.get("sensitivity") == "least"
    assert (SMOOTH.lower() in found) == (hidden or by_length)
    assert (IDLE.lower() in found) == hidden
    assert (LENGTH.lower() in found) == (hidden or by_length)
    assert (DIRECTIONS.lower() in found) == (hidden or (by_length and bound == "composition"))
    assert (LAST.lower() in found) == (hidden or bound == "output-perturbation")
    assert (CLIP_ALONE.lower() in found) == (not hidden and not by_length)
    assert ("batch" in found) or "all n records" in found
    assert ("2K ≤ d".lower() in found) == (bound in ("theorem", "corollary"))


def test_composition_rests_on_the_length_of_gradients_where_that_is_counted():
    checks = guarantee(RUN, "composition", Accounting(sensitivity="least")).checks
    (met,) = (c.met for c in checks if LENGTH in c.words)
    assert met is None  # no number can decide it
    assert words("composition", sensitivity="least", printed=True) == words(
        "composition", printed=True
    )


def test_a_loss_that_cannot_be_is_not_counted_on():
    """Nothing is as strongly convex as this on so large a ball, and as flat; the clip bounds it all
    the same.
    """
    acts = RUN.replace(R=10.0, ridge=0.1)
    by_clip, least = (
        guarantee(acts, "composition", Accounting(sensitivity=s)) for s in ("clip", "least")
    )
    assert least.epsilon == by_clip.epsilon and CLIP_ALONE in " ".join(
        c.words for c in least.checks
    )
    assert "exceeds Δ" in guarantee(acts, "sharp", Accounting(sensitivity="least")).reason


@pytest.mark.parametrize(
    "changes",
    [
        {"n": 10**6, "d": 100_000, "K": 60_000, "batch": 12_345},
        {
            "d": 10**6,
            "K": 30_000,
            "regime": "convex",
            "records_per_person": 20_000,
            "n": 10**6,
            "batch": 10**5,
        },
        {"R": 1e6, "ridge": 0.0, "releases": 50_000, "T": 100_000, "lipschitz": 23_456.0},
    ],
    ids=str,
)
def test_large_numbers_in_reasons_are_grouped(changes):
    reasons = [guarantee(DEMONSTRATION.replace(**changes), bound).reason for bound in BOUNDS]
    assert any("\u202f" in reason for reason in reasons)
    assert not [reason for reason in reasons if re.search(r"\d{5}", reason)]
