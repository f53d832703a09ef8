"""Runs that break what a bound assumes, in ways that the code can see: no finite epsilon may rest on it."""

from math import inf

import numpy as np
import pytest
import torch

from tests.training.small import small_task
from zoexplore import Accounting, Setting, epsilon, guarantee
from zoexplore.mechanism import Declared, NoisyZOGD, Sources
from zoexplore.planning import recommend
from zoexplore.training import train
from zoexplore.training.data import Data


@pytest.fixture(autouse=True)
def _one_thread():
    torch.set_num_threads(1)


@pytest.mark.parametrize("xi, finite", [(0.0, True), (5.0, False)])
def test_two_points_along_every_axis_are_no_gradient_descent(xi, finite):
    """Their map is no gradient's, so that neither its contraction nor a sensitivity without ξ holds."""
    point = train(small_task(), method="noisy-gd", sigma=0.1, T=3, xi=xi)
    assert (point.epsilon["noisy-gd"] < inf) == finite
    assert bool(point.reason["noisy-gd"]) != finite


@pytest.mark.parametrize("length", [1.001, 100.0, np.nan])
def test_rows_longer_than_the_proofs_take_them_to_be_are_refused(length):
    rows = np.eye(3)
    rows[1, 1] = length
    with pytest.raises(ValueError, match="give rows of length at most 1"):
        Data(rows, np.array([0, 1, 0]), np.eye(3), np.array([0, 1, 0]), 2)


def steep(declared, slope, **options):
    """A linear loss of a slope along the first axis, in all records, declared to be 1-Lipschitz."""
    setting = Setting(n=20, d=3, K=2, T=5, sigma=1.0, R=5.0, clip=1.0, M=1.0, m=0.5, ridge=0.5, eta=2.0)
    records = torch.zeros(20, 3, dtype=torch.float64)
    records[:, 0] = slope
    start = torch.zeros(3, dtype=torch.float64)
    made = NoisyZOGD(start, lambda w, X: X @ w, setting, sources=Sources(1, 2), declared=declared, **options)
    return made, records


DECLARED = Declared("strongly-convex", M=1.0, m=0.5, lipschitz=1.0)


@pytest.mark.parametrize("clipping", ["each", "joint"])
def test_a_skipped_clip_is_no_leave_for_steeper_losses(clipping):
    """The one gradient that is taken in place of clipped quotients shows that the declaration is false."""
    made, records = steep(DECLARED, 1.0, clipping=clipping)
    made.step(records)
    assert made.skips_clip and made.privacy_report().epsilon < inf
    before = made.w.clone()
    with pytest.raises(ValueError, match="lipschitz = 1 is not true: at step 1"):
        made.step(1000 * records)
    with pytest.raises(RuntimeError, match="lipschitz was disproved"):
        made.step(records)
    assert torch.equal(made.w, before) and made.counts.steps == 1
    report = made.privacy_report()
    assert report.epsilon == inf
    for found in report.guarantees.values():
        assert "Lipschitz constant of the clipped loss is not declared" in found.reason
    for bound in ("composition", "output-perturbation"):
        assert report.guarantees[bound].reason.startswith("the clip was skipped")


def test_a_kept_clip_needs_no_declaration():
    made, records = steep(DECLARED, 1000.0, skip_idle_clip=False)
    for _ in range(5):
        made.step(records)
    found = {bound: g.epsilon for bound, g in made.privacy_report().guarantees.items()}
    assert {bound for bound in found if found[bound] < inf} == {"composition", "output-perturbation"}


def test_output_perturbation_too_says_that_the_clip_was_skipped():
    made, records = steep(DECLARED, 1.0)
    made.step(records)
    assert "the clip was skipped" in made.privacy_report().guarantees["output-perturbation"].note


@pytest.mark.parametrize("bound", ["theorem", "sharp"])
def test_an_epsilon_for_other_shares_than_the_runs_says_so(bound):
    """schedule="optimal" counts shares of the accountant's choice: at the setting's own the loss is larger."""
    optimal, setting = Accounting(schedule="optimal"), Setting(beta=0.05)
    g = guarantee(setting, bound, optimal)
    assert g.epsilon < epsilon(setting, bound)
    assert "not for a run at β = 0.05" in g.note
    assert guarantee(setting, bound).note == "" == guarantee(setting, "composition", optimal).note


def test_a_plan_for_other_shares_warns_of_it():
    asked = {"n": 20_000, "d": 520, "T": 200, "regime": "strongly-convex", "epsilon": 1.0, "most_directions": 100}
    plan = recommend(**asked, bound="theorem", accounting=Accounting(schedule="optimal"))
    assert epsilon(plan.setting, "theorem") > 1.0  # so that the setting alone would not do
    assert any("not for a run at β = 0.5" in words for words in plan.warnings)


def test_a_start_that_may_have_seen_the_data_is_the_users_to_vouch_for():
    """A second run that goes on from a first one's outcome is covered by neither report alone."""
    made, records = steep(DECLARED, 1.0)
    made.step(records)
    assert "[yours to vouch for] The start did not depend on the data" in repr(made.privacy_report())
