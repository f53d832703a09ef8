"""Pins keep settings, survive in an address, are drawn, and compared by what differs."""

import asyncio
import re

import numpy as np

from zoexplore import BOUNDS, Accounting, curve, guarantee
from zoexplore.questions.export import from_query, from_yaml, to_query, to_yaml
from zoexplore.run.axes import T_VALUES
from zoexplore.run.formatting import THIN, format_number
from zoexplore.run.presets import DEMONSTRATION, PRESETS
from zoexplore.views import Curves, Explorer
from zoexplore.views.pins import MOST_PINS, Pin, Pins
from zoexplore.views.state import State


def pinned(view):
    """The lines of pins."""
    return [line for line in view.chart.lines if line["key"].startswith("pin")]


def test_pinning_keeps_what_is_set_and_names_it():
    pins = Pins()
    assert pins.add(State(DEMONSTRATION.replace(K=52), Accounting(printed=True)))
    assert pins.pins == [
        Pin("K = 52, printed = 1", DEMONSTRATION.replace(K=52), Accounting(printed=True))
    ]


def test_whole_numbers_in_names_are_grouped_and_stay_so_in_an_address():
    pins = Pins()
    pins.add(State(DEMONSTRATION.replace(n=50_000, sigma=2e-3)))
    assert pins.pins[0].name == f"n = 50{THIN}000, σ = 0.002"
    assert Pin.of(pins.pins[0].text()) == (pins.pins[0], ())
    assert PRESETS["non-convex"].pins[0][0] == f"n = 1{THIN}000"
    pins.follow(PRESETS["non-convex"])
    assert [pin.name for pin in pins.pins] == [f"n = 1{THIN}000", f"n = 2{THIN}000"]


def test_as_many_as_fit():
    pins = Pins()
    assert [pins.add(State(DEMONSTRATION.replace(T=T + 1))) for T in range(MOST_PINS + 1)] == [
        True
    ] * MOST_PINS + [False]


def test_a_page_is_there_before_what_is_pinned_is_computed(monkeypatch):
    """An address may name pins that take long, for whose curves their page does not wait."""

    async def never(*_):
        await asyncio.get_running_loop().create_future()

    async def read():
        page = Explorer(search="?pin=T:10~a&pin=T:20~b")
        return page

    monkeypatch.setattr("zoexplore.views.figures.pins.ask", never)
    page = asyncio.run(read())
    assert [pin.name for pin in page.pins.pins] == ["a", "b"] and page.curves.chart.lines == []


def test_a_row_of_the_table_uses_its_pin_and_unpins_it():
    view = Curves(State())
    for changes in ({"K": 52}, {"T": 3}):
        view.pins.add(State(DEMONSTRATION.replace(**changes)))
    rows = {each["pin"]: each for each in view.legend.entries if "pin" in each}
    least = min(
        guarantee(DEMONSTRATION.replace(K=52), bound).epsilon
        for bound in BOUNDS
        if BOUNDS[bound].of_this_run
    )
    assert (rows[0]["title"], rows[0]["number"], rows[1]["title"]) == (
        "K = 52",
        format_number(least),
        "T = 3",
    )
    view.legend.asked = ["use", 0, 1]
    assert view.state.setting == DEMONSTRATION.replace(K=52)
    view.legend.asked = ["remove", 0, 2]
    assert [pin.setting for pin in view.pins.pins] == [DEMONSTRATION.replace(T=3)]
    assert [each["title"] for each in view.legend.entries if "pin" in each] == ["T = 3"]
    view.legend.asked = ["remove", 5, 3]  # a click on what is gone
    assert len(view.pins.pins) == 1


def test_pins_are_compared_by_what_differs():
    view = Curves(State(DEMONSTRATION.replace(beta=0.9)))
    assert view.differs.object == ""
    louder = DEMONSTRATION.replace(sigma=1e-4)
    view.pins.pins = [
        Pin("first <b>", DEMONSTRATION, Accounting()),
        Pin("noise", louder, Accounting()),
    ]
    cells = (
        re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row) for row in view.differs.object.split("<tr>")
    )
    rows = {row[0]: row[1:] for row in cells if row}
    assert (
        rows[""] == ["first &lt;b&gt;", "noise", "now"]
        and "share of the noise along the directions" in rows
    )
    assert "steps" not in rows and rows["noise scale"] == ["5e-5", "<b>0.0001</b>", "5e-5"]
    runs = [DEMONSTRATION, louder, DEMONSTRATION.replace(beta=0.9)]
    for name, bound in (("ε, every step", "composition"), ("ε, only the last", "sharp")):
        found = [format_number(guarantee(run, bound).epsilon) for run in runs]
        assert [cell.replace("<b>", "").replace("</b>", "") for cell in rows[name]] == found


def test_pins_come_back_from_an_address():
    one = Explorer(search="")
    one.state.ask(R=float("inf"), schedule="optimal")
    for place, name in enumerate(["K = 5", "a~b", "50 % & more, ok: yes", "<b>"]):
        one.pins.pins = [*one.pins.pins, Pin(name, one.state.setting, one.state.accounting)]
        one.state.ask(T=place + 1)
    one.pins.compare = "theorem"
    one.state.ask(K=5)
    other = Explorer(search=one.bridge.search)
    assert (other.pins.pins, other.pins.compare) == (one.pins.pins, "theorem") and len(
        other.pins.pins
    ) == 4
    assert other.state.setting == one.state.setting


def test_bad_pins_are_reported_and_used_as_far_as_they_go():
    explorer = Explorer(search="?pin=K:0,T:9~x&pin=&compare=magic" + "&pin=T:3" * 7)
    assert [pin.setting.T for pin in explorer.pins.pins] == [9, 200, 3, 3, 3, 3]
    assert all(
        said in explorer.state.note
        for said in ("Pin 1: K = 0", "Only 6 pins fit.", "compare = 'magic'")
    )


def test_pins_are_drawn_by_the_accountants_numbers():
    explorer = Explorer()
    explorer.tools.apply("figure-1a")
    view, preset = explorer.curves, PRESETS["figure-1a"]
    assert len(pinned(view)) == len(preset.pins)
    for line, (_, setting) in zip(pinned(view), preset.pins, strict=True):
        expected = curve(setting, "T", T_VALUES, ["corollary"], preset.accounting)["corollary"]
        np.testing.assert_array_equal(line["y"], expected)
    explorer.pins.compare = ""
    assert np.min(pinned(view)[0]["y"]) < np.min(expected)
    explorer.curves.along = "sigma"
    assert pinned(view)[0]["x"][-1] == 10.0
    explorer.tools.reset.clicks += 1
    assert pinned(view) == [] and explorer.pins.pins == []


def test_a_bound_that_never_applies_is_drawn_as_nothing():
    pins = Pins(pins=[Pin("many", DEMONSTRATION.replace(K=300), Accounting())], compare="theorem")
    (drawn,) = pinned(Curves(State(), pins=pins))
    assert not np.isfinite(drawn["y"]).any()


def test_a_figures_pins_go_with_it_and_ones_own_stay():
    explorer = Explorer()
    figure = next(key for key, preset in PRESETS.items() if preset.pins)
    plain = next(key for key, preset in PRESETS.items() if not preset.pins)
    explorer.pins.add(explorer.state)
    own = explorer.pins.pins
    explorer.tools.apply(plain)
    assert explorer.pins.pins == own
    explorer.tools.apply(figure)
    assert len(explorer.pins.pins) == len(PRESETS[figure].pins) and explorer.pins.compare
    explorer.tools.apply(plain)
    assert explorer.pins.pins == [] and explorer.pins.compare == ""


def test_what_the_fold_sets_is_kept_in_pins_addresses_and_files():
    run = DEMONSTRATION.replace(
        lipschitz=float("inf"),
        neighbours="add-remove",
        sampling="shuffled",
        releases=5,
        records_per_person=2,
    )
    state = State(run)
    pins = Pins()
    pins.add(state)
    assert Pin.of(pins.pins[0].text()) == (pins.pins[0], ())
    assert from_query(to_query(run, Accounting())).setting == run
    assert from_yaml(to_yaml(run, Accounting())).setting == run
