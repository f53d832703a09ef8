"""Attack says what a guarantee leaves to an attacker: the accountant's numbers, live, for pins too."""

import re

import numpy as np
import panel as pn
import pytest
from bokeh.models import HoverTool

from zoexplore import BOUNDS, Accounting, guarantee
from zoexplore.run.formatting import THIN, format_percent, format_share, parse_share
from zoexplore.run.presets import DEMONSTRATION
from zoexplore.views import Attack, State
from zoexplore.views.pins import Pin, Pins


def rows(view):
    """Title -> numbers, as the table shows them."""
    found = re.findall(r'<th scope="row"[^>]*>(.*?)</th>(.*?)</tr>', view.table.object)
    return {title: re.findall(r'<td class="number">(.*?)</td>', cells) for title, cells in found}


def expected(g, fpr=0.01, prior=0.5, guess=0.001):
    risks = g.true_positive_rate(fpr), g.advantage, g.posterior(prior, fpr), g.reconstruction(guess)
    return [format_percent(float(risk), 3) for risk in risks]


def test_the_table_has_every_bounds_numbers_and_none_for_what_does_not_apply():
    view = Attack(State(DEMONSTRATION.replace(K=300)))
    for bound in BOUNDS:
        g = guarantee(DEMONSTRATION.replace(K=300), bound)
        assert rows(view)[g.title] == (expected(g) if g.valid else ["–"] * 4)
    assert not guarantee(DEMONSTRATION.replace(K=300), "theorem").valid


def test_the_curves_are_the_guarantees_and_follow_the_sliders():
    view = Attack()
    for sigma in (DEMONSTRATION.sigma, 2e-3):
        view.state.ask(sigma=sigma)
        g, data = guarantee(DEMONSTRATION.replace(sigma=sigma), "sharp"), view.source.data
        np.testing.assert_array_equal(data["missed sharp"], g.tradeoff(data["x"]))
        np.testing.assert_array_equal(data["sharp"], g.true_positive_rate(data["x"]))
        assert (data["missed sharp"] <= 1 - data["x"]).all()  # no bound promises more than blind guessing misses


def test_what_hovering_names_are_columns_of_what_is_drawn():
    view = Attack()
    for fig in view.figures.values():
        named = re.findall(r"@\{(.+?)\}(?:\{(.+?)\})?", fig.select_one(HoverTool).tooltips)
        assert named and {name for pair in named for name in pair if name} <= set(view.source.data)


def test_rates_can_be_typed_and_what_cannot_be_is_refused():
    view = Attack()
    view.boxes["fpr"].text.value, view.boxes["prior"].text.value, view.boxes["guess"].text.value = "5 %", "0.1", "2%"
    assert rows(view)["Sharper bound"] == expected(guarantee(DEMONSTRATION, "sharp"), 0.05, 0.1, 0.02)
    assert f"finds, at 5{THIN}% false alarms" in view.table.object
    view.boxes["fpr"].text.value = "<b>120 %"
    assert (view.fpr, view.boxes["fpr"].text.value) == (0.05, "5 %")
    assert view.refused.visible and "above 0 and below 1" in view.refused.object and "<b>120" not in view.refused.object
    view.boxes["fpr"].text.value = "1 %"
    assert not view.refused.visible


def test_pins_have_their_numbers_by_their_smallest_bound_or_the_one_compared():
    pins = Pins(pins=[Pin("few & far", DEMONSTRATION.replace(K=52), Accounting())])
    view = Attack(pins=pins)
    run = DEMONSTRATION.replace(K=52)
    assert rows(view)["few &amp; far: sharper bound"] == expected(guarantee(run, "sharp"))
    pins.compare = "theorem"
    g = guarantee(run, "theorem")
    assert rows(view)["few &amp; far: hidden-state theorem"] == expected(g)
    rates, missed = (view.pinned_source.data[name][0] for name in ("rates", "missed"))
    np.testing.assert_array_equal(missed, g.tradeoff(rates))
    pins.pins = []
    assert view.pinned_source.data["rates"] == [] and "Pinned" not in view.table.object


def test_it_renders_alone_and_paints_itself():
    view = Attack(State(DEMONSTRATION.replace(regime="non-convex", neighbours="add-remove")))
    view.paint(True)
    assert pn.panel(view).get_root() is not None


@pytest.mark.parametrize(("text", "x"), [("1 %", 0.01), ("0.5", 0.5), ("12.5%", 0.125), ("1e-6", 1e-6)])
def test_shares_are_read_and_written_alike(text, x):
    assert parse_share(text) == x == parse_share(format_share(x))


@pytest.mark.parametrize("text", ["", "%", "0", "1", "100 %", "-1 %", "nan", "1 % of all", "one"])
def test_what_is_no_share_is_refused(text):
    with pytest.raises(ValueError, match="above 0 and below 1"):
        parse_share(text)


@pytest.mark.parametrize(("x", "shown"), [(0.01831, "1.9\u202f%"), (0.07, "7.0\u202f%"), (1, "100\u202f%"), (0, "0\u202f%")])
def test_percentages_are_rounded_up(x, shown):
    assert format_percent(x) == shown
