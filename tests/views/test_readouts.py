"""The read-outs say the accountant's numbers: epsilon, the odds, and behind "More" why and on what
they rest.
"""

import re

import pytest

from tests.convention import DEMONSTRATION as BEFORE
from zoexplore import BOUNDS, Accounting, epsilon, guarantee
from zoexplore.compute.computations import guarantees, smallest
from zoexplore.questions.statement import statement
from zoexplore.run.formatting import THIN, format_number, format_percent
from zoexplore.run.presets import DEMONSTRATION, PAPER_CONVENTION
from zoexplore.views import Explorer, Helps, Publish, State
from zoexplore.views.figures.attack import Attack
from zoexplore.views.figures.curves import Curves
from zoexplore.views.figures.game import Game
from zoexplore.views.html import written
from zoexplore.views.panels.readouts import MARKS, Headline, More, Warnings, odds, times


def opened(setting=DEMONSTRATION, accounting=None):
    """What stands behind the number of a run."""
    view = More(State(setting, accounting or Accounting()))
    view.fold.collapsed = False
    return view


def test_the_number_is_the_least_guarantee_and_says_what_publishing_costs():
    view = Headline(State())
    best = smallest(guarantees(DEMONSTRATION, Accounting()))
    # the comparator is smaller, and another mechanism
    assert guarantee(DEMONSTRATION, "noisy-gd").epsilon < best.epsilon
    now, every = (
        format_number(best.epsilon),
        format_number(guarantee(DEMONSTRATION, "composition").epsilon),
    )
    assert (
        f"publish only the last model: ε falls from <b>{every}</b> to <b>{now}</b>."
        in view.number.object
    )
    view.by = "composition"
    assert (
        f"</i> = <b>{every}</b>" in view.number.object
        and f"ε falls to <b>{now}</b>" in view.number.object
    )


@pytest.mark.parametrize(
    ("before", "now", "said"),
    [
        (8.0, 1.0, f"÷{THIN}8"),
        (1.0, 8.0, f"×{THIN}8"),
        (1.0, 1.01, ""),
        (0.0, 1.0, ""),
        (float("inf"), 1.0, ""),
    ],
)
def test_ratios(before, now, said):
    assert times(before, now) == said


@pytest.mark.parametrize(
    "changes", [{}, {"regime": "non-convex"}, {"K": 52, "T": 10}, {"releases": 5}], ids=str
)
def test_the_odds_are_of_the_smallest_guarantees_whole_curve(changes):
    run = DEMONSTRATION.replace(**changes)
    best = smallest(guarantees(run, Accounting()))
    most = format_percent(float(best.true_positive_rate(0.01)), 3).removesuffix(f"{THIN}%")
    assert f"catches at most {most} in 100 members" in Headline(State(run)).odds.object


def test_where_epsilon_is_0_one_in_a_hundred_is_caught():
    g = guarantee(DEMONSTRATION.replace(sigma=100.0), "sharp")
    assert g.epsilon == 0 and "no more than 1 in 100" in odds(g.risk, g.setting.delta)


def test_no_odds_are_given_where_nothing_is_known_or_guaranteed():
    assert (
        "rules nothing out"
        in Headline(State(BEFORE.replace(sigma=1e-5), PAPER_CONVENTION)).odds.object
    )
    assert Headline(State(DEMONSTRATION.replace(sigma=1e-300))).odds.object == "<p></p>"
    printed = State(BEFORE.replace(R=1e-3, beta=0.0), PAPER_CONVENTION.replace(printed=True))
    view = Headline(printed)
    assert view.odds.object == "<p></p>"


def test_the_number_follows_a_held_slider_and_the_odds_its_release():
    view = Headline(State())
    shown = dict(view.odds.styles)
    view.state.slide(sigma=0.002)
    assert format_number(epsilon(DEMONSTRATION.replace(sigma=0.002), "sharp")) in view.number.object
    assert view.odds.styles != shown and not view.waiting, (
        "which are marked as those of an earlier run"
    )
    view.state.moving = False
    run = DEMONSTRATION.replace(sigma=0.002)
    assert (
        odds(smallest(guarantees(run, Accounting())).risk, run.delta) in view.odds.object
        and view.odds.styles == shown
    )


def test_what_is_behind_the_number_is_written_while_it_is_open_and_follows():
    view = More(State())
    assert view.verdict.object == ""
    view.fold.collapsed = False
    assert "<b>Sharper bound</b> gives the least ε" in view.verdict.object
    view.state.ask(T=20)
    expected = statement(DEMONSTRATION.replace(T=20), "sharp")
    assert view.copier.tags == [str(expected)]
    view.by = "composition"
    assert "<b>Composition</b> gives ε if every step is published" in view.verdict.object
    assert "gives less" not in view.verdict.object, "since what hides iterates does"
    assert view.copier.tags == [str(statement(DEMONSTRATION.replace(T=20), "composition"))]
    view.by, view.fold.collapsed = "", True
    view.state.ask(T=30)
    assert view.copier.tags == [str(expected)]


def test_who_publishes_every_step_copies_a_statement_of_every_step():
    page = Explorer()
    page.more.fold.collapsed = False
    page.publish.publish = "every"
    assert page.more.copier.tags == [str(statement(DEMONSTRATION, "composition"))]
    page.all_bounds.clicks += 1
    assert page.more.copier.tags == [str(statement(DEMONSTRATION, "sharp"))]


def test_assumptions_are_met_not_met_or_assumed():
    met, failed = (
        guarantee(DEMONSTRATION, "sharp"),
        guarantee(DEMONSTRATION.replace(K=300), "theorem"),
    )
    text = written("readouts", "checks", met, MARKS) + written("readouts", "checks", failed, MARKS)
    assert 'aria-label="met"' in text and 'aria-label="assumed"' in text
    assert re.search(r'aria-label="not met">✗</span><span>At most half the dimension', text)


def test_the_least_bounds_assumptions_stand_beside_it_and_else_what_each_lacks():
    view, g = opened(), guarantee(DEMONSTRATION, "sharp")
    assert "What the sharper bound assumes" in view.assumptions.object
    assert view.assumptions.object.count("<li>") == len(g.checks)
    view.state.ask(sigma=1e-300)
    assert view.assumptions.object == "" and view.verdict.object.count("<li>") == len(BOUNDS)
    assert "No bound applies" in view.verdict.object


def test_printed_constants_mark_the_bounds_that_they_enter_and_no_other():
    state = State(DEMONSTRATION, Accounting(printed=True))
    shown, bars = Headline(state), Warnings(state)
    assert bars.printed.visible
    assert "<b>0.751</b>" in shown.number.object, "the smallest is as proved"
    assert "÷" not in shown.number.object and "falls" not in shown.number.object
    assert shown.odds.object == Headline(State()).odds.object
    bars.printed[0][1].clicks += 1
    assert not state.printed and not bars.printed.visible and "÷" in shown.number.object


def test_released_checkpoints_are_not_said_to_be_hidden():
    some, every = (opened(DEMONSTRATION.replace(releases=r)).verdict.object for r in (5, 10**6))
    assert "Of 200 iterates 5 are released" in some
    assert "last iterate" not in some and "last iterate" not in every


def test_mu_rho_and_z_are_the_smallest_guarantees():
    shown, g = (
        opened(DEMONSTRATION.replace(T=100)).verdict.object,
        guarantee(DEMONSTRATION.replace(T=100), "sharp"),
    )
    numbers = re.findall(r"(?:z|μ|ρ|δ_f) = (.*?)</li>", shown)
    assert numbers[1:] == [format_number(x) for x in (*g.gaussian_dp[:1], g.rho, g.delta_f)]
    z, replaced = re.findall(r"[\d.]+", numbers[0])
    assert float(z) == float(f"{g.setting.noise_multiplier:.4g}")
    assert float(replaced) == float(f"{g.setting.noise_multiplier / 2:.4g}")


def test_where_there_is_no_gaussian_budget_none_is_shown():
    run = DEMONSTRATION.replace(
        batch=1, T=1, sigma=0.01, sampling="poisson", neighbours="add-remove"
    )
    assert "neither μ nor ρ" in opened(run).verdict.object


def test_a_run_that_no_bound_covers_shows_why_nothing_drawn_and_the_cure(monkeypatch):
    for places in ("POINTS", "SHARES"):  # a map on batches takes seconds
        monkeypatch.setattr(f"zoexplore.views.figures.helps.{places}", 3)
    state = State(DEMONSTRATION.replace(batch=200, sampling="poisson"))
    bars, drawn, game, helps = (each(state) for each in (Warnings, Publish, Game, Helps))
    assert "No bound covers this run</b>: batches of 200" in bars.why.object
    assert not drawn.clouds.visible and not game.board.visible and not game.switch.visible
    for view in (drawn, Curves(state), Attack(state)):
        assert "There is no curve to draw" in view.chart.given["missing"]
    assert "No bound covers" in helps.words.object and "÷" not in helps.words.object
    bars.cure.clicks += 1
    assert state.neighbours == "add-remove" and not bars.lacking.visible
    assert drawn.clouds.visible and game.board.visible and "÷" in helps.words.object
    assert not drawn.chart.given["missing"]
    state.ask(records_per_person=3)
    assert bars.lacking.visible and bars.cure.visible
    bars.cure.clicks += 1
    assert state.records_per_person == 1 and not bars.lacking.visible
