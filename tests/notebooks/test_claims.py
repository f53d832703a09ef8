"""What the notebooks say is what comes out: claims in their prose that no cell of theirs checks."""

import contextlib
import io
import re
from math import inf

import nbformat
import numpy as np
import pytest

from tests.notebooks.conftest import SERIES
from tests.notebooks.test_series import solutions
from zoexplore import Accounting, guarantee
from zoexplore.bounds.conversion import epsilon_of
from zoexplore.run.presets import AS_PRINTED, DEMONSTRATION

PROSE = {path.stem.partition("-")[0]: path.read_text(encoding="utf-8") for path in SERIES}


def test_delta_is_nowhere_the_chance_that_the_promise_fails():
    misread = re.compile(
        r"(probability|chance) (with which|that|by which) (the|a|this) (promise|guarantee) (may |might )?fails?"
    )
    said = {number: [m.group() for m in misread.finditer(text)] for number, text in PROSE.items()}
    assert (
        said["0"] == ["chance that the promise fails"]
        and '*not* \\"the chance that the promise fails' in PROSE["0"]
    )
    assert not any(found for number, found in said.items() if number != "0")


def test_outcomes_beyond_epsilon_are_several_times_as_likely_as_delta():
    """Notebook 0: five times at mu = 1."""
    epsilon = float(epsilon_of(0.5, 1e-5))
    # from the world with the record
    draws = np.random.default_rng(1).standard_normal(4_000_000) + 1.0
    ratio = draws - 0.5  # its logarithm
    assert (ratio > epsilon).mean() == pytest.approx(5.2e-5, rel=0.25)
    assert "are five times as likely as $\\\\delta$" in PROSE["0"]


def test_the_lipschitz_push_is_shorter_by_the_root_of_d():
    """Notebook 6: the distance of two runs falls a little less than sqrt(d) times, epsilon more."""
    run = DEMONSTRATION.replace(T=600, sigma=1e-3)
    by_clip, by_slope = (
        guarantee(run, "sharp", Accounting(sensitivity=which)) for which in ("clip", "least")
    )
    nearer = np.sqrt(by_clip.rho / by_slope.rho)
    assert 0.8 * np.sqrt(run.d) < nearer <= np.sqrt(run.d) < by_clip.epsilon / by_slope.epsilon
    assert f"\\\\sqrt d\\\\approx{np.sqrt(run.d):.0f}" in PROSE["6"]


def printed_by(number, words, **names):
    """The numbers that a solution prints, the one that has these words."""
    path = next(path for path in SERIES if path.name.startswith(f"{number}-"))
    (code,) = [code for code in solutions(nbformat.read(path, as_version=4)) if words in code]
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(code, {"guarantee": guarantee, **names})
    return [float(word) for word in out.getvalue().split()]


def test_formulas_of_the_clip_are_held_against_numbers_that_count_by_the_clip():
    """They were held against numbers of gradients of length 1, after these had become the usual
    ones.
    """
    formula, counted = printed_by("1", "noise = s.sigma", run=DEMONSTRATION)
    assert formula == pytest.approx(counted, rel=1e-12)
    by_clip, by_length = printed_by("3", "across / along", run=DEMONSTRATION.replace(K=52))
    assert by_clip == pytest.approx(10, rel=1e-12) and 9 < by_length < 10
    assert printed_by("10", "two / one", unknown=DEMONSTRATION.replace(lipschitz=inf)) == [
        pytest.approx(2, rel=1e-12)
    ]


def test_nothing_but_misprints_parts_the_papers_figures():
    """Notebook 5 compared the paper's constants, by the clip, with a bound that counts the length
    of gradients.
    """
    (cell,) = (
        c.source for c in nbformat.read(SERIES[5], as_version=4).cells if "corrected = " in c.source
    )
    names = {"Accounting": Accounting}
    exec(
        "\n".join(line for line in cell.splitlines() if line.startswith(("printed", "corrected"))),
        names,
    )
    assert names["printed"] == AS_PRINTED and names["corrected"] == AS_PRINTED.replace(
        printed=False
    )


@pytest.mark.parametrize("number", PROSE)
def test_who_wins_is_not_decided_by_one_seed(number):
    seeds = [int(given) for given in re.findall(r"frontier\([^)]*seeds=(\d+)", PROSE[number])]
    assert all(count >= 3 for count in seeds), seeds
