"""Runs that break what a bound assumes, in ways that the code can see: no finite epsilon may rest
on it.
"""

import numpy as np
import pytest
import torch

from tests.convention import DEMONSTRATION, Accounting, calibrate, epsilon, guarantee
from tests.effort import proof
from zoexplore.mechanism import Declared, NoisyZOGD, Sources
from zoexplore.questions import recommend
from zoexplore.training.data import Data


@pytest.mark.parametrize("length", [1.001, 100.0, np.nan])
def test_rows_longer_than_the_proofs_take_them_to_be_are_refused(length):
    rows = np.eye(3)
    rows[1, 1] = length
    with pytest.raises(ValueError, match="give rows of length at most 1"):
        Data(rows, np.array([0, 1, 0]), np.eye(3), np.array([0, 1, 0]), 2)


def steep(declared, slope, clipping="each"):
    """A linear loss of a slope along the first axis, in all records, declared to be 1-Lipschitz."""
    setting = DEMONSTRATION.replace(
        n=20, d=3, K=2, T=5, sigma=1.0, R=5.0, clip=1.0, M=1.0, m=0.5, ridge=0.5, eta=2.0
    ).replace(clipping=clipping)
    records = torch.zeros(20, 3, dtype=torch.float64)
    records[:, 0] = slope
    start = torch.zeros(3, dtype=torch.float64)
    made = NoisyZOGD(start, lambda w, X: X @ w, setting, sources=Sources(1, 2), declared=declared)
    return made, records


DECLARED = Declared("strongly-convex", M=1.0, m=0.5, lipschitz=1.0)


@pytest.mark.parametrize("clipping", ["each", "joint"])
def test_a_declaration_is_no_leave_for_steeper_losses(clipping):
    """The clip acts, and disproves what was declared."""
    made, records = steep(DECLARED, 1.0, clipping=clipping)
    made.step(made.batch(records))
    assert {"composition", "sharp"} <= {
        bound for bound, g in made.privacy_report().guarantees.items() if g.valid
    }
    made.step(made.batch(1000 * records))
    assert made.counts.clipped > 0
    found = made.privacy_report().guarantees
    assert {bound for bound in found if found[bound].valid} == {
        "composition",
        "output-perturbation",
    }


@pytest.mark.parametrize("bound", ["theorem", "sharp"])
def test_an_epsilon_for_other_shares_than_the_runs_says_so(bound):
    """schedule="optimal" counts shares of the accountant's choice: at the setting's own the loss is
    larger.
    """
    optimal, setting = Accounting(schedule="optimal"), DEMONSTRATION.replace(beta=0.05)
    g = guarantee(setting, bound, optimal)
    assert g.epsilon < epsilon(setting, bound)
    assert "not for this run's β = 0.05" in g.note
    assert guarantee(setting, bound).note == "" == guarantee(setting, "composition", optimal).note


@pytest.mark.parametrize("bound", ["theorem", "sharp"])
@pytest.mark.parametrize("K", [4, 100])
def test_a_plan_meets_its_target_as_it_is_run(bound, K):
    """Whoever runs the plan runs it at the plan's share: the number that was promised is that
    run's.
    """
    plan = recommend(
        DEMONSTRATION,
        epsilon=1.0,
        K=K,
        T=200,
        bound=bound,
        accounting=Accounting(schedule="optimal"),
    )
    assert guarantee(plan.setting, bound).epsilon <= 1.0


ON_BATCHES = DEMONSTRATION.replace(K=52, batch=2000, n=100_000)


@pytest.mark.parametrize(
    "run",
    [
        DEMONSTRATION.replace(K=4),
        ON_BATCHES.replace(T=50, sampling="cyclic"),
        proof(ON_BATCHES),  # each of its tries takes a second
    ],
)
def test_a_calibrated_run_has_the_share_that_was_counted(run):
    found = calibrate(run, "sigma", epsilon=1.0, accounting=Accounting(schedule="optimal"))
    assert guarantee(found, "sharp").epsilon <= 1.0


@pytest.mark.parametrize("bound", ["theorem", "sharp"])
@pytest.mark.parametrize("changes", [{}, {"batch": 2000}, {"beta": 0.05, "K": 52}])
def test_every_guarantee_tells_the_share_it_is_for(bound, changes):
    """Run at the share that is reported, the loss is the one that was counted; the run's own share
    may have another.
    """
    run = DEMONSTRATION.replace(**changes)
    said = guarantee(run, bound, Accounting(schedule="optimal"))
    assert guarantee(run, bound).beta == run.beta
    if isinstance(said.beta, float):
        as_run = epsilon(run.replace(beta=said.beta), bound)
        assert as_run == pytest.approx(said.epsilon, rel=5e-3)
    else:
        assert said.beta.shape == (said.N,) and ((said.beta >= 0) & (said.beta <= 1)).all()


def test_a_start_that_may_have_seen_the_data_is_the_users_to_vouch_for():
    """A second run that goes on from a first one's outcome is covered by neither report alone."""
    made, records = steep(DECLARED, 1.0)
    made.step(made.batch(records))
    assert "[yours to vouch for] Start: neither the parameters at the start" in repr(
        made.privacy_report()
    )
