"""What a number rests on is listed with it: under every way to count, and nothing that it does not rest on."""

import re
from itertools import product

import pytest

from zoexplore import BOUNDS, Accounting, guarantee
from zoexplore.presets import DEMONSTRATION

SMOOTH, IDLE = "M-smooth", "(m − ridge)(R + ξ) ≤ Δ"
LAST, DIRECTIONS = "Only the last iterate", "nobody who chooses the data knows the directions"
CLIP_ALONE = "Nothing is assumed of the loss"
HIDDEN = ("corollary", "theorem", "sharp", "noisy-gd")
RUN = DEMONSTRATION.replace(T=50, xi=1e-9, R=0.3)


def words(bound, run=RUN, **options):
    return " ".join(check.words for check in guarantee(run, bound, Accounting(**options)).checks)


@pytest.mark.parametrize("bound", BOUNDS)
@pytest.mark.parametrize("options", [{}, {"sensitivity": "lipschitz"}, {"schedule": "optimal"}, {"printed": True}], ids=str)
@pytest.mark.parametrize("regime, batch", [*product(("strongly-convex", "convex", "non-convex"), (None, 100))])
def test_everything_that_a_bound_rests_on_is_listed(bound, options, regime, batch):
    found = words(bound, RUN.replace(regime=regime, batch=batch), **options).lower()
    assert "the start lies in the ball and does not depend on the data" in found
    hidden = bound in HIDDEN
    trusts = hidden or (bound == "composition" and options.get("sensitivity") == "lipschitz")
    for assumed in (SMOOTH, IDLE, "Δ-Lipschitz", DIRECTIONS):
        assert (assumed.lower() in found) == trusts, assumed
    assert (LAST.lower() in found) == (hidden or bound == "output-perturbation")
    assert (CLIP_ALONE.lower() in found) == (not trusts)
    assert ("batch" in found) or "all n records" in found
    assert ("2K ≤ d".lower() in found) == (bound in ("theorem", "corollary"))


def test_composition_trusts_the_loss_with_the_lipschitz_sensitivity_alone():
    checks = guarantee(RUN, "composition", Accounting(sensitivity="lipschitz")).checks
    (met,) = (c.met for c in checks if "Δ-Lipschitz" in c.words)
    assert met is None  # no number can decide it
    assert words("composition", sensitivity="lipschitz", printed=True) == words("composition", printed=True)


def test_a_clip_that_must_act_matters_to_composition_with_the_lipschitz_sensitivity_alone():
    acts = RUN.replace(R=10.0, ridge=0.1)
    assert guarantee(acts, "composition").valid
    refused = guarantee(acts, "composition", Accounting(sensitivity="lipschitz"))
    assert not refused.valid and "exceeds Δ" in refused.reason


@pytest.mark.parametrize(
    "changes",
    [
        {"n": 10**6, "d": 100_000, "K": 60_000, "batch": 12_345},
        {"d": 10**6, "K": 30_000, "regime": "convex", "records_per_person": 20_000, "n": 10**6, "batch": 10**5},
        {"R": 1e6, "ridge": 0.0, "releases": 50_000, "T": 100_000, "lipschitz": 23_456.0},
    ],
    ids=str,
)
def test_large_numbers_in_reasons_are_grouped(changes):
    reasons = [guarantee(DEMONSTRATION.replace(**changes), bound).reason for bound in BOUNDS]
    assert any("\u202f" in reason for reason in reasons)
    assert not [reason for reason in reasons if re.search(r"\d{5}", reason)]
