"""Every view, and every address: what is asked of them from outside fills a page, or is refused,
and harms nobody.
"""

import asyncio
import json
import random
from html import unescape
from urllib.parse import quote

import pytest
from tornado.httpclient import HTTPClientError

from benchmarks.client import Reader, _models
from tests.attacks.attacker import SLIDER, Attacker, asked, memory, spent, watched
from tests.effort import proof, usually
from zoexplore.server.allowed_changes import EVENTS, SETTABLE
from zoexplore.server.websocket import PERIOD
from zoexplore.views.tabs import VIEWS

HTML = "<img src=x onerror=window.hacked=1>"
IMAGE = quote(HTML)
WORK = 20  # s of a processor that a server may spend on any of these
ROOM = 300  # MB by which it may grow
LARGEST = 200_000  # characters by which a page may grow with what it says of its address
TRICKS_OF_ADDRESSES = {
    "scripts in a link for teaching": f"say={IMAGE}&say={IMAGE}&show={IMAGE},sigma,curves&lock={IMAGE}&present={IMAGE}",
    "much to say": "&".join(["say=" + "x" * 300] * 40),
    "much to show": "show=" + ",".join(["sigma", "x", "curves"] * 800),
    "much to lock": "lock=" + ",".join(["y" * 50] * 250),
    "a step, and all of the rest": "story=4&tab=helps&hide=sharp&show=train&T=0&pin=T:9~a&present=1",
    "pins of nothing": "pin=~&pin=&pin=,,,:::~~~&pin=%00&pin=%ff%fe~%ed%a0%80",
    "a map of extremes": "tab=helps&T=9007199254740992&sigma=1e-300&d=9007199254740992&K=9007199254740992&beta=1",
    "a setting twice, encoded": "%54=9&T=10&T=%00&%00=1&T%00=1",
    "many parameters": "&".join(f"{i:x}=" for i in range(900)),
}
MORE_TRICKS = {
    "digits": "T=" + "9" * 5000 + "&sigma=" + "9" * 5000,
    "what Python evaluates": "a="
    + "[" * 7000
    + "&b=["
    + "-" * 5000
    + "1]&c={__import__('os'):1}&d=%C2%B2",
    "a step that there is not": "story=7&story=-1",
    "a script as a step": f"story={IMAGE}",
    "scripts in names": f"hide={IMAGE}&tab={IMAGE}&against={IMAGE}&compare={IMAGE}&plan.bound={IMAGE}&pin=T:9~{IMAGE}",
    "many hidden": "hide=" + ",".join(["sharp", "x"] * 1000),
    "many pins": "&".join(f"pin=T:{i}~{i}" for i in range(900)),
    "a pin of much": "pin=" + ",".join(f"x{i}:{i}" for i in range(800)) + "~" + "n" * 2000,
    "names of Python's": "tab=__class__&against=__init__&plan.target=__dict__&plan.field=__doc__&__class__=1&attack.__init__=1",
    "numbers that are none": "attack.fpr=nan&attack.prior=inf&attack.guess=-1&plan.target=1e999",
    "other digits": "T=%D9%A3&K=%EF%BC%99&n=1_000&d=0x10&sigma=1e-400&beta=-0",
    "statements": f"tab=attack&releases=9007199254740992&records_per_person=9007199254740992&neighbours={IMAGE}",
    "a game of extremes": "tab=game&K=1&d=1&sigma=1e300&R=1e-300&eta=1e300",
    "a view by a number": "tab=5&tab=",
}


def words(document):
    """What a page shows as HTML, as its browser reads it: Panel escapes that once on the way."""
    return [
        unescape(m["attributes"].get("text", ""))
        for m in _models(document)
        if m["name"].endswith("HTML")
    ]


@pytest.fixture(scope="module")
def usual(server):
    """The characters of a page of an ordinary address."""

    async def length():
        reader = await Reader.open(server.origin)
        reader.close()
        return len(json.dumps(reader.document))

    return asyncio.run(length())


def assert_filled(document, usual):
    """It says no more than a page does, and as words."""
    assert len(json.dumps(document)) < 3 * usual + LARGEST
    assert words(document) and not any("<img" in text for text in words(document))


@pytest.mark.usefixtures("unbroken")
@pytest.mark.parametrize(
    "trick", usually(["scripts in a link for teaching"], of=TRICKS_OF_ADDRESSES)
)
def test_no_address_does_more_than_fill_a_page(server, usual, trick):
    began = spent(server)

    async def run():
        attacker = await Attacker.open(server.origin, f"?{TRICKS_OF_ADDRESSES[trick]}")
        assert_filled(attacker.document, usual)
        attacker.close()

    asyncio.run(run())
    assert spent(server) - began < WORK


async def go_to(attacker, address, visit):
    """Come to an address by the browser's history, and see the page there."""
    bridge = attacker.find("Bridge", "")
    attacker.change(bridge, "went", address)
    attacker.change(bridge, "visits", visit)
    while attacker.find("Bridge", "")["attributes"].get("heard", 0) < visit:
        await asyncio.sleep(12 * PERIOD)
        await attacker.look()


def test_no_address_in_the_history_does_more_than_fill_a_page(server, usual):
    """What is read there is read of every address, and no page is made for it."""
    before = server.tracebacks()

    async def run():
        attacker = await Attacker.open(server.origin)
        for visit, (trick, address) in enumerate(MORE_TRICKS.items(), 1):
            began = spent(server)
            await go_to(attacker, f"?{address}", visit)
            assert_filled(attacker.document, usual)
            assert spent(server) - began < WORK and server.tracebacks() == before, trick
        attacker.close()

    asyncio.run(run())


def test_an_address_that_is_too_long_is_refused_before_it_is_read(server):
    """Of a hundred thousand parameters."""
    # the connection is closed, whether all of it has been sent by then or not
    with pytest.raises((OSError, HTTPClientError)):
        asyncio.run(asked(server.origin, "/app?" + "&".join(f"p{i}=" for i in range(100_000))))
    assert asyncio.run(asked(server.origin, "/liveness")).code == 200


NOT_JSON = [{"type": "number", "value": value} for value in ("nan", "+inf", "-inf")]
VALUES = [
    *NOT_JSON,
    0,
    -1,
    1e308,
    -1e308,
    5e-324,
    2**53,
    10**400,
    1.5,
    True,
    None,
    "",
    "\ud800",
    "\x00",
    HTML,
    "9" * 5000,
    "=1+1",
    "nan",
    "1e999",
    [],
    [1, 2],
    [[1], [2]],
    ["a"] * 100,
    NOT_JSON,
    "e30=",
    "not base64",
]


def settable(model):
    """The properties of a model that a server lets a browser set, as far as its name tells."""
    kinds = {
        "Slider": "AbstractSlider",
        "TextInput": "TextLikeInput",
        "Button": "AbstractButton",
        "Toggle": "AbstractButton",
        "RadioGroup": "ToggleInputGroup",
        "Checkbox": "ToggleInput",
        "Switch": "ToggleInput",
    }
    kind = model["name"].split(".")[-1]
    return [a for name in (kind, kinds.get(kind)) for a in SETTABLE.get(name, "").split()]


class Patient(Attacker):
    """A reader whose value is refused, and who goes on."""

    async def _until(self, kind):
        while True:
            try:
                return await super()._until(kind)
            except RuntimeError:
                pass


async def confused(attacker, tab, rounds):
    """Set all that can be set in a tab to what it should not be, again and again."""
    values = random.Random(tab)
    switch = attacker.find("Bar", "parts of this tab")
    await attacker.show(tab)
    changes = [(m, a) for m in _models(attacker.document) if m is not switch for a in settable(m)]
    assert len(changes) > 30
    for _ in range(rounds):
        mixed = [
            {
                "kind": "ModelChanged",
                "model": {"id": model["id"]},
                "attr": attribute,
                "new": values.choice(VALUES),
            }
            for model, attribute in values.sample(changes, len(changes))
            if model["id"] != switch["id"]
        ]
        for start in range(0, len(mixed), EVENTS):
            attacker.patch(*mixed[start : start + EVENTS])
        await asyncio.sleep(5 * PERIOD)
        await attacker.look()


@pytest.mark.parametrize(
    ("tabs", "rounds"),
    [pytest.param(["attack", "train"], 3, id="two"), *(proof([tab], 60, id=tab) for tab in VIEWS)],
)
def test_no_widget_is_confused(server, tabs, rounds):
    async def run():
        attacker = await Patient.open(server.origin)
        for tab in tabs:
            held, began = memory(server.process), spent(server)
            await confused(attacker, tab, rounds)
            assert (
                memory(server.process) - held < ROOM and spent(server) - began < rounds * WORK / 4
            )
        honest = await Reader.open(server.origin)
        slider = honest.find("Slider", SLIDER)
        await honest.move(slider, slider["attributes"]["value"] + 1)
        for one in (attacker, honest):
            one.close()

    asyncio.run(run())
    assert server.process.poll() is None


@pytest.mark.proof  # many others come by the history each time, and none may cost more
def test_an_address_over_the_websocket_costs_no_more_than_others(server):
    """Of all views, which it builds, with pins; as long as a text may be; and going there and back."""
    views = "tab=helps&attack.fpr=0.5&plan.target=3&story=4"
    search = (
        f"?{views}&"
        + "&".join(f"pin=T:{i},sigma:1e-{i}~{'x' * 500}" for i in range(1, 7))
        + "&say="
        + "x" * 15_000
    )

    async def run():
        attacker = await Patient.open(server.origin)
        began = spent(server)
        for visit, address in enumerate([search, ""], 1):
            await go_to(attacker, address, visit)
        assert spent(server) - began < WORK
        attacker.close()

    asyncio.run(run())


@pytest.mark.proof
def test_an_honest_reader_does_not_wait_while_the_story_is_leafed_through(server):
    async def run():
        async with watched(server) as watch:
            attacker = await Patient.open(server.origin)
            while not watch.enough:
                for label in ("Begin", "Next", "Next", "Back", "Skip"):
                    for button in _models(attacker.document):
                        if button["name"].endswith("Button") and label in json.dumps(
                            button["attributes"].get("label", "")
                        ):
                            attacker.press(button)
                await asyncio.sleep(PERIOD)
            attacker.close()
        return watch

    asyncio.run(run()).unharmed()
