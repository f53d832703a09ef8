"""The tabs and what they show: the accountant's numbers, step by step, in words and in TeX."""

import re

import numpy as np
import panel as pn
import pytest

from zoexplore import BOUNDS, Accounting, guarantee
from zoexplore.compute.computations import guarantees
from zoexplore.run.formatting import format_number, format_tex
from zoexplore.run.presets import DEMONSTRATION
from zoexplore.run.setting import SCHEDULES
from zoexplore.views import Inside, State, Tabs, Theory
from zoexplore.views.figures.inside import describe_trajectory, thinned
from zoexplore.views.panels.theory import Errata, _proofs, substituted
from zoexplore.views.tabs import VIEWS

CHANGES = [
    {},
    {"K": 300},
    {"beta": 1.0},
    {"T": 1},
    {"d": 1, "K": 1},
    {"regime": "non-convex"},
    {"R": float("inf")},
    {"sigma": 1e-6},
    {"T": 10**6},
    {"K": 520, "xi": 1e-6},
    {"M": float("inf"), "m": 0, "ridge": 0, "regime": "convex"},
]
SETTINGS = [DEMONSTRATION.replace(**changes) for changes in CHANGES]


@pytest.mark.parametrize("view", [Inside, Theory, Tabs])
def test_every_view_renders_alone(view):
    assert pn.panel(view()).get_root() is not None


@pytest.fixture(scope="module", params=[Inside, Theory])
def shown(request):
    """A view that goes from one setting to the next."""
    return request.param(State())


@pytest.mark.parametrize("setting", SETTINGS, ids=str)
def test_every_view_stands_every_setting(shown, setting):
    shown.state.ask(**setting.as_dict())
    assert shown.state.setting == setting


def test_a_tab_is_built_when_shown_and_sleeps_when_not():
    tabs = Tabs()
    assert set(tabs.views) == {"publish"}
    tabs.bar.selected = "What ε means"
    assert tabs.selected == "game" and [name for name, _ in tabs.parts.titles] == ["game", "attack"]
    tabs.parts.selected = "attack"
    assert tabs.selected == "attack" and set(tabs.views) == {"publish", "game", "attack"}
    assert not tabs["publish"].active and tabs["attack"].active
    before = tabs["publish"].chart.lines
    tabs.state.ask(sigma=0.5)
    assert tabs["publish"].chart.lines is before
    tabs.bar.selected = "Publish or hide"
    assert tabs["publish"].chart.lines is not before


def test_every_view_of_the_tabs_can_be_shown():
    tabs = Tabs()
    for name in VIEWS:
        tabs.selected = name
    assert list(tabs.built) and set(tabs.views) == {*VIEWS}


@pytest.mark.parametrize("bound", ["theorem", "sharp"])
def test_inside_draws_the_trajectory(bound):
    view, g = Inside(bound=bound), guarantee(DEMONSTRATION, bound)
    lengths, cost = ({line["key"]: line for line in chart.lines} for chart in view.charts)
    left = cost["rho"]["x"]
    assert cost["rho"]["y"].sum() == pytest.approx(g.rho, rel=1e-3) and left[-1] == 1
    z, drawn = g.trajectory.z[(g.N - left).astype(int)], lengths["z"]["y"]
    np.testing.assert_array_equal(drawn, z)
    assert drawn.max() <= view.charts[0].given["up"]["end"], "it begins inside"
    cut = f"last {left[0]:.0f} steps, which begin {format_number(drawn[0])} apart"
    assert (cut in view.below[0].object) == (left[0] < g.N)
    assert left[0] < g.N or z[0] == pytest.approx(g.start)
    late = int(re.search(r"from the last (?:(\d+) steps|step)\.", view.words.object)[1] or 1)
    rho = g.trajectory.rho
    assert rho[-late:].sum() >= rho.sum() / 2 > rho[len(rho) - late + 1 :].sum()


def test_long_runs_are_thinned_to_their_last_steps():
    path = guarantee(DEMONSTRATION.replace(T=10**5, sigma=1e-5), "sharp").trajectory
    columns = thinned(path)
    assert 60 < len(columns["left"]) < path.rho.size
    np.testing.assert_array_equal(columns["rho"][-20:], path.rho[-20:])


def test_the_words_say_where_counting_begins():
    g = guarantee(DEMONSTRATION, "theorem")
    assert f"Only the last {g.N:.0f} of 200 steps count" in describe_trajectory(g)[1]
    assert (
        "same point. All steps count."
        in describe_trajectory(guarantee(DEMONSTRATION.replace(T=20), "sharp"))[1]
    )
    assert (
        "2K = 600 exceeds d = 520"
        in describe_trajectory(guarantee(DEMONSTRATION.replace(K=300), "theorem"))[0]
    )


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("setting", SETTINGS, ids=str)
def test_formulas_have_the_numbers_where_they_apply(setting, schedule):
    for bound in BOUNDS:
        g = guarantee(setting, bound, Accounting(schedule=schedule))
        text = "".join(substituted(g))
        assert bool(text) == g.valid
        assert text.count("{") == text.count("}")
        assert "infty" not in text, "what is no number is written so, too"


@pytest.mark.parametrize("sigma", [1.1e-3, 1.3e-3])
@pytest.mark.parametrize("bound", BOUNDS)
def test_no_loss_in_a_formula_is_below_the_true_one(bound, sigma):
    g = guarantee(DEMONSTRATION.replace(sigma=sigma), bound)
    budget, epsilon = re.search(
        r"(?:= ([^=]*)\\quad\\Rightarrow\\ )?\\varepsilon = (.*)", substituted(g)[-1]
    ).groups()
    assert epsilon == rf"\text{{{format_number(g.epsilon)}}}", "as the table has it"
    # over what hiding may cost: epsilon is no consequence of one rho
    averaged = bound in ("composition", "sharp")
    assert averaged if budget is None else g.rho <= of_tex(budget) <= 1.001 * g.rho and not averaged
    if bound == "theorem":
        parts = [of_tex(part) for part in re.findall(r"underbrace{([^_]*)}_", substituted(g)[-1])]
        assert len(parts) == 2 and g.rho <= sum(parts) <= 1.002 * g.rho


def of_tex(text):
    """The number that a formula says."""
    return float(text.replace(r"\,", "").replace(r"\cdot 10^{", "e").replace("}", ""))


def test_a_bounds_proofs_are_one_menu_and_the_chosen_one_is_shown():
    (menu, text) = _proofs(BOUNDS["sharp"].proofs)
    assert len(menu.options) == len(BOUNDS["sharp"].proofs) + 1 and not text.visible
    menu.value = list(menu.options.values())[1]
    assert text.visible and len(text.object) > 1000
    menu.value = ""
    assert not text.visible


def test_misprints_are_the_proofs_own_table_with_its_formulas_drawn():
    shown = Errata().derived[0].object
    assert (
        shown.count("<tr>") > 10
        and "<math" in shown
        and "$" not in re.sub(r"<annotation.*?</annotation>", "", shown)
    )


def test_misprints_begin_with_what_they_cost_this_run():
    said = Errata().numbers.object
    assert "As printed, 3 of 4 bounds report less" in said
    for printed in (True, False):
        g = guarantee(DEMONSTRATION, "composition", Accounting(printed=printed, sensitivity="clip"))
        assert format_number(g.epsilon) in said
    assert BOUNDS["composition"].printed.partition(";")[0][1:] in said


def test_numbers_in_tex():
    shown = [format_tex(x) for x in (20_000.0, 0.5, 2.75e6, float("inf"))]
    assert shown == [r"20\,000", "0.5", r"2.75\cdot 10^{6}", r"\infty"]


def test_the_printed_constants_are_a_box_away():
    view = Errata()
    view.printed.value = True
    assert view.state.accounting.printed
    assert guarantees(view.state.setting, view.state.accounting)["corollary"].title.endswith(
        "(as printed)"
    )
    view.state.ask(printed=False)
    assert not view.printed.value


@pytest.mark.parametrize("bound", ["sharp", "theorem"])
def test_a_bound_that_applies_but_has_no_steps_to_draw_is_not_said_not_to_apply(bound):
    g = guarantee(DEMONSTRATION.replace(batch=2000), bound)
    assert g.valid and g.trajectory is None
    (said,) = describe_trajectory(g)
    assert (
        "mini-batches of 2\u202f000 records" in said
        and format_number(g.epsilon) in said
        and "does not apply" not in said
    )
    (said,) = describe_trajectory(guarantee(DEMONSTRATION.replace(K=300), "theorem"))
    assert "does not apply. 2K = 600 exceeds d = 520" in said


def test_panels_without_anything_to_draw_are_not_shown():
    inside = Inside(active=False)
    assert inside.grid.visible
    inside.active = True
    inside.state.ask(batch=2000)
    assert not inside.grid.visible
    inside.state.ask(batch=None)
    assert inside.grid.visible and "Half of the privacy loss" in inside.words.object


def test_inside_says_why_nothing_is_drawn():
    view = Inside(State(DEMONSTRATION.replace(K=300)), bound="theorem")
    assert not view.grid.visible and "2K = 600 exceeds d = 520" in view.words.object
