"""Every state has an address, an address makes its state, and what a slider passes through has
none.
"""

from html import unescape
from urllib.parse import parse_qsl

import panel as pn
import pytest

from zoexplore import Accounting
from zoexplore.run.presets import DEMONSTRATION
from zoexplore.views import Explorer
from zoexplore.views.address import Address, Bridge, Teaching
from zoexplore.views.figures.curves import UNASKED
from zoexplore.views.pins import Pins
from zoexplore.views.state import State
from zoexplore.views.tabs import Tabs


@pytest.fixture(scope="module")
def plain():
    """The explorer, whose address each test changes."""
    return Explorer(search="")


@pytest.fixture
def address():
    state, pins = State(), Pins()
    return Address(state, Bridge(), Teaching(), pins, Tabs(state, pins))


def visit(address, search):
    address.bridge.went = search
    address.bridge.visits += 1


def test_the_default_has_no_query(address):
    assert address.search() == ""
    address.state.ask(T=9)
    address.state.ask(T=200)
    assert address.bridge.search == ""


def test_what_differs_is_in_the_address(address):
    address.state.ask(K=52, conversion="cks")
    assert address.bridge.search == "?K=52&conversion=cks"


def test_a_held_slider_waits(address):
    seen = []
    address.bridge.param.watch(lambda event: seen.append(event.new), "search")
    for T in (10, 20, 30):
        address.state.slide(T=T)
    assert seen == []
    address.state.moving = False
    assert seen == ["?T=30"]


def test_going_back_sets_the_state_and_is_no_step_forward(address):
    address.state.ask(T=9)
    address.state.ask(T=10, printed=True)
    visit(address, "?T=9")
    assert (address.state.setting, address.state.accounting) == (
        DEMONSTRATION.replace(T=9),
        Accounting(),
    )
    assert address.bridge.search == "?T=9"
    visit(address, "")
    assert address.state.setting == DEMONSTRATION


def test_what_the_page_writes_while_a_reader_goes_back_changes_nothing(address):
    address.state.ask(T=9)
    address.bridge.went = ""
    address.state.ask(K=9)  # on its way when the reader went
    assert address.bridge.search == "?K=9&T=9" and address.bridge.heard == 0
    address.bridge.visits += 1
    assert address.state.setting == DEMONSTRATION and (
        address.bridge.search,
        address.bridge.heard,
    ) == ("", 1)


def test_what_cannot_be_used_is_said_and_the_rest_is_used(address):
    address.read("?K=0&sigma=0.01&nonsense=<b>")
    assert address.state.setting == DEMONSTRATION.replace(sigma=0.01)
    assert (
        "K = 0 is not allowed" in address.state.note
        and "'nonsense' is an unknown setting" in address.state.note
    )


def test_an_explorer_opens_at_an_address():
    last = "inside"
    explorer = Explorer(search=f"?T=9&tab={last}&against=sigma&schedule=optimal")
    assert explorer.state.setting == DEMONSTRATION.replace(T=9)
    assert explorer.state.accounting == Accounting(schedule="optimal")
    assert (explorer.tabs.selected, explorer.curves.along) == (last, "sigma")
    explorer.tabs.selected, explorer.curves.along = "curves", "beta"
    assert explorer.bridge.search == "?tab=curves&against=beta&T=9&schedule=optimal"


def test_a_view_is_shown_as_its_address_has_it():
    """Bokeh fails where a menu changes that is on its way to the page."""
    explorer, seen = Explorer(search=""), []
    explorer.tabs.param.watch(lambda event: seen.append(explorer.curves.along), "selected")
    visit(explorer.address, "?tab=curves&against=beta")
    assert seen == ["beta"]


def test_an_address_that_ends_the_story_is_shown():
    explorer = Explorer(search="")
    visit(explorer.address, "?story=3")
    visit(explorer.address, "?tab=curves&against=beta&T=9")
    assert (
        explorer.story.step,
        explorer.tabs.selected,
        explorer.curves.along,
        explorer.state.T,
    ) == ("", "curves", "beta", 9)
    assert explorer.address.search() == "?tab=curves&against=beta&T=9"


def test_what_is_asked_in_a_view_comes_back_from_its_address():
    asked = {"attack.fpr": "0.05", "plan.target": "3", "plan.field": "T", "train.hidden": "False"}
    asked |= {"hide": "theorem", "tab": "curves", "game.seed": "77"}
    one = Explorer(search="?" + "&".join(f"{key}={text}" for key, text in asked.items()))
    assert one.state.note == "" and one.tabs["attack"].fpr == 0.05 and one.tabs["plan"].target == 3
    assert one.tabs["game"].board.seed == 77, "the same models as whoever sent the link has seen"
    assert one.curves.chart.muted == ["theorem"]
    assert dict(parse_qsl(one.address.search().removeprefix("?"))) == asked
    one.tabs["attack"].fpr = 0.02
    assert "attack.fpr=0.02" in one.bridge.search
    visit(one.address, "")
    assert (one.tabs["attack"].fpr, one.tabs["plan"].field, one.curves.legend.muted) == (
        0.01,
        "sigma",
        UNASKED,
    )
    assert set(Explorer(search="?T=9").tabs.views) == {"publish", "curves"}, (
        "nothing is built that is not asked for"
    )


@pytest.mark.parametrize(
    "asked", ["attack.fpr=7", "plan.field=moon", "plan.target=x", "results.task=moon"]
)
def test_what_cannot_be_asked_in_a_view_is_reported(plain, asked):
    visit(plain.address, f"?{asked}&T=9")
    assert asked.partition("=")[0] in plain.state.note and plain.address.search() == "?T=9"


def test_a_tab_that_is_none_is_reported(plain):
    visit(plain.address, "?tab=cellar")
    assert plain.tabs.selected == "publish"
    assert "tab = 'cellar'" in plain.state.note


def test_without_an_address_nothing_is_written():
    explorer = Explorer()
    assert explorer.address is None and explorer.tools.link is None


def test_a_link_for_teaching_stays_in_the_address_and_reports_what_it_cannot_do():
    explorer = Explorer(search="?show=curves,K,moon&lock=n,sun&K=9")
    assert explorer.teaching == Teaching(("curves", "K"), ("n",), explorer.teaching.problems)
    assert (
        "there is no 'moon' to show" in explorer.state.note
        and "There is no 'sun' to lock." in explorer.state.note
    )
    explorer.state.ask(K=10)
    assert explorer.bridge.search == "?show=curves,K&lock=n&K=10"


def parts(explorer):
    """What the explorer's room shows, by the classes."""
    room, _ = explorer.__panel__()
    return [part.css_classes[0] for part in room if part.css_classes and part.visible]


def test_a_link_for_teaching_locks_and_hides():
    explorer = Explorer(search="?show=curves,K,T,conversion&lock=K,regime,R")
    controls = explorer.controls
    assert controls.dials["K"].slider.disabled and controls.dials["K"].text.disabled
    assert controls.options["regime"].disabled and controls.fields["R"].disabled
    assert not controls.dials["T"].slider.disabled
    assert not explorer.tabs.bar.visible
    (shown,) = controls.parts["fold"]  # a setting and its hint
    assert shown[0] is controls.options["conversion"]
    assert parts(explorer) == ["zx-controls", "zx-answer"]


def test_without_a_link_for_teaching_everything_is_shown():
    assert parts(Explorer()) == ["zx-header", "zx-controls", "zx-answer"]


def test_a_link_for_teaching_says_what_its_address_says():
    one = Teaching.of("?show=curves&say=Move+K+%3Cb%3E.")
    assert one.html() == "<p>Move K &lt;b&gt;.</p>" and one.fields() == [
        ("show", "curves"),
        ("say", "Move K <b>."),
    ]
    steps = Teaching.of("?say=Move+K.&say=What+does+it+do%3F")
    assert steps.html() == "<ol><li>Move K.</li><li>What does it do?</li></ol>"
    assert len(Teaching.of("?" + "&".join(["say=x"] * 20)).say) == 9
    page = Explorer(search="?show=curves&say=Look.&T=9")
    assert "zx-told" in parts(page) and page.address.search() == "?show=curves&say=Look.&T=9"


@pytest.mark.parametrize(
    ("shown", "where"), [("curves,K,moon", "zx-controls"), ("curves,moon", "zx-told")]
)
def test_what_could_not_be_used_is_reported_once(shown, where):
    """Beside the controls; with a link that shows none, above the figure."""
    explorer = Explorer(search=f"?show={shown}")
    said = [
        pane
        for pane in explorer.__panel__().select(pn.pane.HTML)
        if "In this link" in str(pane.object)
    ]
    assert (
        len(said) == 1
        and where in parts(explorer)
        and "there is no 'moon' to show" in unescape(said[0].object)
    )


@pytest.mark.parametrize(
    "search", ["?show=claims,T&T=0", "?tab=claims&T=0", "?show=publish&T=0", "?show=publish,T&T=0"]
)
def test_what_is_refused_is_seen_whichever_view_is_shown(search):
    """Beside the controls, or above a view that has none."""
    explorer = Explorer(search=search)
    room, _ = explorer.__panel__()
    notice = explorer.controls.notice
    assert "T = 0 is not allowed" in notice.object
    seen = [
        part.css_classes[0]
        for part in room
        if part.visible and part.select(lambda each: each is notice)
    ]
    assert len(seen) == 1
    explorer.state.ask(T=9)
    explorer.state.note = ""
    assert "zx-told" not in [
        part.css_classes[0] for part in room if part.visible and part.css_classes
    ]


def test_a_link_for_teaching_of_which_all_is_used_tells_nothing():
    quiet = Explorer(search="?show=curves")
    assert [part.visible for part in quiet.__panel__()[0] if "zx-told" in part.css_classes] == [
        False
    ]
    assert not quiet.curves.choice.visible, "which is not named"


def test_a_link_for_teaching_that_names_the_choice_of_the_axis_shows_it(plain):
    assert (
        Explorer(search="?show=curves,axis").curves.choice.visible and plain.curves.choice.visible
    )


@pytest.mark.parametrize(
    ("search", "shown"),
    [
        ("", "publish"),
        ("?T=9", "publish"),
        ("?tab=attack&T=9", "attack"),
        ("?tab=inside", "inside"),
        ("?tab=curves", "curves"),
    ],
)
def test_an_address_opens_the_view_that_it_names(search, shown):
    page = Explorer(search=search)
    assert page.tabs.selected == shown and page.state.note == ""
