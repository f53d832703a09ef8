"""Presets are settings that make their figure: what the paper's text fixes is fixed, and the bound
compared applies.
"""

import pytest

from zoexplore import Accounting, epsilon
from zoexplore.run.presets import DEMONSTRATION, PRESETS

FIGURES = [preset for preset in PRESETS.values() if preset.pins]


def test_the_first_is_what_the_page_starts_with():
    first = next(iter(PRESETS.values()))
    assert (first.setting, first.accounting) == (DEMONSTRATION, Accounting())


@pytest.mark.parametrize("preset", PRESETS.values(), ids=lambda p: p.name)
def test_each_has_a_sentence_and_some_bound(preset):
    assert preset.name and preset.summary.endswith(".")
    assert epsilon(preset.setting, "composition", preset.accounting) < float("inf")


@pytest.mark.parametrize("preset", FIGURES, ids=lambda p: p.name)
def test_the_figures_have_what_the_text_fixes(preset):
    assert preset.accounting == Accounting(conversion="mironov", printed=True, sensitivity="clip")
    for _, setting in preset.pins:
        assert (setting.R, setting.M) == (1, 1)
        assert setting.eta == setting.K / setting.M
        assert setting.m == (0.9 if setting.regime == "strongly-convex" else 0)
        assert 0 < epsilon(setting, preset.compare, preset.accounting) < 100
    assert preset.setting in [setting for _, setting in preset.pins]


def test_what_the_figures_compare():
    compared = {key: [s for _, s in preset.pins] for key, preset in PRESETS.items() if preset.pins}
    assert len({s.K for s in compared["figure-1a"]}) > 2 and {
        s.clip for s in compared["figure-1a"]
    } == {1}
    assert len({s.clip for s in compared["figure-1b"]}) > 2 and {
        s.K for s in compared["figure-1b"]
    } == {1000}
    assert [s.n for s in compared["non-convex"]] == [1000, 2000]


def test_dpzero_isotropic_and_noisy_gd():
    assert (PRESETS["dpzero"].setting.K, PRESETS["dpzero"].setting.beta) == (1, 1)
    assert PRESETS["isotropic"].setting.beta == 0
    assert (PRESETS["noisy-gd"].setting.K, PRESETS["noisy-gd"].setting.beta) == (520, 0)
