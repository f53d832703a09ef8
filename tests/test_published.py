"""Published runs: the documentation's table is what the code says, and reproduces their claims by
another accountant.
"""

import re
from pathlib import Path

import pytest
from dp_accounting import (
    GaussianDpEvent,
    NeighboringRelation,
    PoissonSampledDpEvent,
    SelfComposedDpEvent,
)
from dp_accounting.pld import PLDAccountant

from benchmarks.plans import HEADER
from benchmarks.published import by_fresh_batches, by_theirs, markdown
from zoexplore import epsilon
from zoexplore.run.formatting import round_up
from zoexplore.run.presets import PRESETS
from zoexplore.run.published import FIGURES, RUNS

PAGE = Path(__file__).parents[1] / "docs" / "published.md"


def test_the_page_has_the_table_as_it_comes_out():
    """Rounded up: 115.0376, 1.900022 and 74.1192 were 115.0, 1.90 and 74.1."""
    runs, plans = (
        table.splitlines()
        for table in re.findall(r"(?:^\|.*\n)+", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    )
    assert runs == markdown()
    assert plans[0] == f"| {' | '.join(HEADER)} |"


@pytest.mark.parametrize("run", RUNS.values(), ids=RUNS)
def test_their_convention_gives_their_claim(run):
    assert by_theirs(run) == pytest.approx(run.trained, rel=1e-3)
    assert 0.94 * run.claimed <= by_theirs(run) <= 1.01 * run.claimed
    assert by_theirs(run) < by_fresh_batches(run)


@pytest.mark.proof
@pytest.mark.parametrize("run", RUNS.values(), ids=RUNS)
def test_others_accountant_gives_it_too(run):
    event = PoissonSampledDpEvent(run.batch / run.n, GaussianDpEvent(run.z))
    accountant = PLDAccountant(NeighboringRelation.ADD_OR_REMOVE_ONE)
    theirs = accountant.compose(SelfComposedDpEvent(event, run.T)).get_epsilon(run.delta)
    assert by_theirs(run) == pytest.approx(theirs, rel=1e-2)


@pytest.mark.parametrize("key", RUNS)
def test_each_is_a_preset_whose_number_is_the_one_it_states(key):
    run, preset = RUNS[key], PRESETS[key]
    assert preset.setting == run.setting and preset.setting.beta == 1
    for stated, computed in (
        (run.ours, epsilon(run.setting, "composition")),
        (run.fresh, by_fresh_batches(run)),
    ):
        assert stated == round_up(computed, FIGURES) >= computed
    assert run.setting.noise_multiplier == pytest.approx(run.z * (2 if run.doubled else 1))
    assert (
        f"Claimed: ε = {run.claimed:g}" in preset.summary
        and "Hidden states gain nothing" in preset.summary
    )
    assert all(
        epsilon(run.setting, bound) >= epsilon(run.setting, "composition")
        for bound in ("sharp", "theorem")
    )


def test_a_head_with_a_ridge_gains_though_its_clip_acts():
    run = PRESETS["linear-head"].setting
    assert run.lipschitz > run.clip
    assert epsilon(run, "sharp") < 0.5 * epsilon(run.replace(beta=1.0), "composition")
    assert epsilon(run.replace(m=0.0, ridge=0.0, M=0.25), "sharp") > 2 * epsilon(run, "sharp")
