"""Attack says what a guarantee leaves to an attacker: the accountant's numbers, live."""

import re

import numpy as np
import panel as pn
import pytest

from tests.views.drawn import at, drag, lines, y
from zoexplore import BOUNDS, guarantee
from zoexplore.run.formatting import THIN, format_percent
from zoexplore.run.presets import DEMONSTRATION
from zoexplore.views import Attack, State
from zoexplore.views.figures.attack import GUESSING


def found(view):
    """Title -> number, as the table shows them."""
    return {each["title"]: each["number"] for each in view.legend.entries}


def measures(view):
    """The numbers that are said of the least bound."""
    return re.findall(r"<td>(.*?)</td>", view.measures.object)


def expected(g, fpr=0.01, prior=0.5, guess=0.001):
    return [
        format_percent(float(risk), 3)
        for risk in (g.advantage, g.posterior(prior, fpr), g.reconstruction(guess))
    ]


def test_every_bounds_number_is_the_guarantees_or_there_is_none():
    run = DEMONSTRATION.replace(K=300)
    view = Attack(State(run))
    for bound in BOUNDS:
        g = guarantee(run, bound)
        assert found(view)[g.title] == (
            format_percent(float(g.true_positive_rate(0.01)), 3) if g.valid else "–"
        )
    assert not guarantee(run, "theorem").valid
    assert measures(view) == expected(guarantee(run, "sharp"))


def test_the_curves_are_the_guarantees_and_follow_the_sliders():
    view = Attack()
    for sigma in (DEMONSTRATION.sigma, 2e-3):
        view.state.ask(sigma=sigma)
        g, drawn = guarantee(DEMONSTRATION.replace(sigma=sigma), "sharp"), lines(view)["sharp"]
        np.testing.assert_array_equal(drawn["y"], g.true_positive_rate(drawn["x"]))
        # no bound promises more than that blind guessing finds
        assert (drawn["y"] >= y(view, GUESSING)).all()


def test_the_rate_can_be_chosen():
    view = Attack(fpr=0.05)
    g = guarantee(DEMONSTRATION, "sharp")
    assert measures(view) == expected(g, 0.05)
    assert found(view)["Sharper bound"] == format_percent(float(g.true_positive_rate(0.05)), 3)
    assert view.legend.title == f"Caught, at 5{THIN}% of outsiders accused"


def test_the_handle_and_a_click_set_the_rate():
    view = Attack()
    drag(view, 0.0312)
    said = f"Accusing 3.1{THIN}% of outsiders catches at most {found(view)['Sharper bound']}"
    assert said in view.says.object
    assert view.fpr == 0.031 == at(view) and view.chart.given["handle"]["label"] == f"3.1{THIN}%"
    drag(view, 5.0, held=False)
    assert view.fpr == 0.99, "no rate is 1"


def test_a_curve_is_switched_off_in_the_table():
    view = Attack()
    assert "corollary" in view.chart.muted and "theorem" not in view.chart.muted
    view.legend.muted = ["theorem"]
    assert view.chart.muted == ["theorem"]


def test_it_renders_alone():
    view = Attack(State(DEMONSTRATION.replace(regime="non-convex", neighbours="add-remove")))
    assert pn.panel(view).get_root() is not None


@pytest.mark.parametrize(
    ("x", "shown"),
    [(0.01831, "1.9\u202f%"), (0.07, "7.0\u202f%"), (1, "100\u202f%"), (0, "0\u202f%")],
)
def test_percentages_are_rounded_up(x, shown):
    assert format_percent(x) == shown
