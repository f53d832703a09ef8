"""Published runs: the documentation's table is what the code says, and reproduces their claims by another accountant."""

from pathlib import Path

import pytest
from dp_accounting import GaussianDpEvent, NeighboringRelation, PoissonSampledDpEvent, SelfComposedDpEvent
from dp_accounting.pld import PLDAccountant

from benchmarks.published import RUNS, markdown

PAGE = Path(__file__).parents[1] / "docs" / "published.md"


def test_the_page_has_the_table_as_it_comes_out():
    shown = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("|")]
    assert shown == markdown()


@pytest.mark.parametrize("run", RUNS, ids=lambda run: f"{run.name}, K = {run.K}")
def test_their_convention_gives_their_claim(run):
    assert run.by_theirs() == pytest.approx(run.trained, rel=1e-3)
    assert 0.94 * run.claimed <= run.by_theirs() <= 1.01 * run.claimed
    assert run.by_theirs() < run.by_fresh_batches()


@pytest.mark.proof
@pytest.mark.parametrize("run", RUNS, ids=lambda run: f"{run.name}, K = {run.K}")
def test_others_accountant_gives_it_too(run):
    event = PoissonSampledDpEvent(run.batch / run.n, GaussianDpEvent(run.z))
    accountant = PLDAccountant(NeighboringRelation.ADD_OR_REMOVE_ONE)
    theirs = accountant.compose(SelfComposedDpEvent(event, run.T)).get_epsilon(run.delta)
    assert run.by_theirs() == pytest.approx(theirs, rel=1e-2)
