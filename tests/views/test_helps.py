"""When hiding helps: the map is the accountant's gain, the reader's run stands on it, and is moved
there.
"""

import re
from math import inf

import numpy as np
import pytest

from zoexplore import Accounting, curve
from zoexplore.bounds import BOUNDS
from zoexplore.questions.hiding import ALONG_ALL, gain_map
from zoexplore.run.axes import AXES, EDGE, T_VALUES
from zoexplore.run.formatting import THIN, format_number
from zoexplore.run.presets import DEMONSTRATION
from zoexplore.views import State
from zoexplore.views.figures.helps import LABELLED, POINTS, SHARES, Helps


@pytest.fixture(scope="module")
def view():
    return Helps(State())


def test_it_says_by_how_much_and_why_not(view):
    here = gain_map(
        DEMONSTRATION, "T", "beta", [DEMONSTRATION.T], [DEMONSTRATION.beta], Accounting()
    )
    before, now = (
        format_number(float(here.composition[0, 0])),
        format_number(float(here.least[0, 0])),
    )
    assert before in view.words.object and now in view.words.object
    assert view.map.given["told"] == f"T = 200, β = 0.5: ε {before} becomes {now}"
    view.state.ask(beta=1.0)
    assert "÷ <b>1</b>" in view.words.object and ALONG_ALL in view.beside.object
    view.state.ask(beta=0.5)


def test_the_table_is_what_the_map_draws_and_the_accountants():
    view = Helps(State())
    table = np.array(view.map.table)
    steps = AXES["T"].values(DEMONSTRATION, POINTS)
    betas = AXES["beta"].values(DEMONSTRATION, SHARES)
    assert len(table) == len(steps) * len(betas) and set(table[:, 1]) == {*betas}
    some = table[:: len(table) // 40]
    for T, beta, ratio in some:
        expected = gain_map(DEMONSTRATION, "T", "beta", [T], [beta]).ratio[0, 0]
        # along T a longer run's bound serves the shorter ones too
        assert expected * (1 - 1e-3) < ratio < expected * 1.02


def test_lines_pass_where_their_factor_is_and_bands_lie_in_the_square(view):
    given = view.map.given
    for at, factor in zip(given["labels"], (2, 10, 100), strict=True):
        ratio = gain_map(
            DEMONSTRATION, "T", "beta", [round(10 ** (at * given["decades"]))], [LABELLED]
        ).ratio[0, 0]
        assert ratio == pytest.approx(factor, rel=0.1)
    numbers = [float(x) for d in given["bands"] for x in re.findall(r"[\d.]+", d)]
    assert len(numbers) > 500 and min(numbers) >= 0 and max(numbers) <= 1000


def test_from_how_many_steps_on_it_pays_is_rounded_up(view):
    own = curve(
        DEMONSTRATION, "T", T_VALUES, [bound for bound in BOUNDS if BOUNDS[bound].of_this_run]
    )
    ratio = own["composition"] / np.minimum.reduce(list(own.values()))
    said = [
        float(x.replace("\u202f", "")) for x in re.findall(r"<td>(.*?)</td>", view.beside.object)
    ]
    for factor, T in zip((2, 10, 100, 1000), said, strict=True):
        assert (ratio[T >= T_VALUES][-1] >= factor) and not (
            ratio[T_VALUES < T][-2:] >= factor
        ).all()


@pytest.fixture
def few(monkeypatch):
    """A map of few places."""
    for places in ("POINTS", "SHARES"):
        monkeypatch.setattr(f"zoexplore.views.figures.helps.{places}", 6)


def test_moving_on_the_map_computes_no_other_map(few):
    view = Helps(State())
    before, place = view.map.given["bands"], AXES["beta"].place
    view.map.asked = [5000, float(place(0.9)), True, 1]
    assert (view.state.T, view.state.beta, view.state.moving) == (5000, 0.9, True)
    view.map.asked = [7000, float(place(EDGE)), False, 2]
    assert (view.state.T, view.state.beta, view.state.moving) == (7000, EDGE, False)
    assert view.map.given["bands"] is before and (view.map.given["T"], view.map.given["place"]) == (
        7000,
        place(EDGE),
    )
    for asked in ([1e300, 7.0, False, 3], ["x", None, False, 4]):
        view.map.asked = asked
    assert view.state.beta == 1.0, "what is beyond the map is its edge"


def test_where_no_bound_applies_the_map_is_empty_and_says_why():
    view = Helps(
        State(
            DEMONSTRATION.replace(
                M=inf, m=0.0, ridge=0.0, regime="non-convex", eta=300.0, sigma=1e-300
            )
        )
    )
    assert view.map.given["none"] and not any(view.map.given["bands"])
    assert "An assumption fails" in view.beside.object


def test_batches_and_a_cool_down_are_switched_and_composition_may_be_the_truth(few):
    view = Helps(State(DEMONSTRATION.replace(beta=1.0)))
    assert ALONG_ALL in view.beside.object and not view.limit.visible
    view.cooled.value = view.cooled.options["the last step with β = 0.5"]
    assert (
        view.state.setting == DEMONSTRATION.replace(beta=1.0, cooldown=1)
        and ALONG_ALL not in view.beside.object
    )
    assert view.map.given["cooled"] and "÷ <b>1</b>" not in view.words.object
    view.state.ask(cooldown=3)
    assert view.cooled.value == 3 and "the last 3 steps with β = 0.5" in view.cooled.options
    view.cooled.value = 0
    assert view.state.cooldown == 0
    view.batches.value = view.batches.options[f"batches of 2{THIN}000"]
    assert view.state.setting == DEMONSTRATION.replace(beta=1.0, batch=2000)
    view.batches.value = 0
    assert view.state.batch is None
    run = DEMONSTRATION.replace(
        d=10**9, K=1, T=1000, sigma=0.01, regime="convex", m=0.0, ridge=0.0, R=inf, lipschitz=inf
    )
    view.state.ask(**run.as_dict())
    assert (
        view.limit.visible
        and "KT ≪ d: composition is the truth, within the digits shown" in view.limit.object
    )
