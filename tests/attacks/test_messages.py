"""What a browser sends changes what widgets change, is never unpacked, and is taken up no faster
than others can bear.
"""

import asyncio
import base64
import gzip
import json

import pytest

from benchmarks.client import PATIENCE, Reader, _models, token_of
from tests.attacks.attacker import SLIDER, Attacker, memory, patch, spent, watched
from zoexplore.server.websocket import MESSAGE, next_of

SCRIPT = "<img src=x onerror=window.hacked=1>"
BOMB = MESSAGE - 5_000  # bytes of base64
# MB by which a server may grow under any of these attacks; the first session of a server takes a
# third of that
ROOM = 300
WORK = 15  # s of a processor that a server may spend on any of them


def by_kind(attacker, kind):
    return [model for model in _models(attacker.document) if model["name"].split(".")[-1] == kind]


SET_BY_NO_WIDGET = [
    ("HTML", "text", SCRIPT),
    ("HTML", "stylesheets", ["* { display: none }"]),
    ("Button", "label", SCRIPT),
    ("Figure", "tags", [SCRIPT]),
    ("ColumnDataSource", "data", {"type": "map", "entries": [["x", [1]]]}),
    ("Slider", "title", SCRIPT),
    ("CustomJS", "code", SCRIPT),
    ("Button", "js_property_callbacks", {"type": "map", "entries": []}),
    ("ReactiveESM", "esm", SCRIPT),
    ("Column", "children", []),
    ("CustomSelect", "options", [SCRIPT]),
    ("Figure", "css_classes", [SCRIPT]),
    ("Slider", "end", 1e9),
    ("NotificationArea", "js_events", {"type": "map", "entries": []}),
    ("TextInput", "name", SCRIPT),
    ("Card", "header", None),
]
NO_CHANGES = [
    {
        "kind": "RootAdded",
        "model": {"type": "object", "name": "Div", "id": "x", "attributes": {"text": SCRIPT}},
    },
    {"kind": "TitleChanged", "title": SCRIPT},
    {
        "kind": "ColumnDataChanged",
        "model": {"id": "p1002"},
        "attr": "data",
        "data": {"x": []},
        "cols": None,
    },
    {"kind": "MessageSent", "msg_type": "other", "msg_data": 1},
    {
        "kind": "MessageSent",
        "msg_type": "bokeh_event",
        "msg_data": {"type": "object", "name": "Slider", "id": "x"},
    },
    {"kind": "ModelChanged", "model": {"id": "nobody"}, "attr": "value", "new": 1},
    {"kind": "ModelChanged", "model": {"id": ["p1002"]}, "attr": {"a": 1}, "new": 1},
    {"kind": ["x"]},
    {},
]


def test_no_browser_changes_what_no_widget_changes(server):
    async def run():
        attacker = await Attacker.open(server.origin)
        await attacker.look()
        before = len(json.dumps(attacker.document))
        tried = 0
        for kind, attribute, value in SET_BY_NO_WIDGET:
            for model in by_kind(attacker, kind):
                attacker.change(model, attribute, value)
                tried += 1
        attacker.patch(*NO_CHANGES)
        slider = attacker.find("Slider", SLIDER)
        value = slider["attributes"]["value"] + 1
        await attacker.move(slider, value)
        await attacker.look()
        after = json.dumps(attacker.document)
        attacker.close()
        assert (
            tried > 50
            and SCRIPT not in after
            and "{ display: none }" not in after
            and len(after) > 0.9 * before
        )
        # what a widget changes is changed
        assert attacker.find("Slider", SLIDER)["attributes"]["value"] == value

    asyncio.run(run())


@pytest.mark.usefixtures("unbroken")
def test_a_number_that_no_float_holds_is_not_taken_up(server):
    """A page with one could not be sent any more."""

    async def run():
        attacker = await Attacker.open(server.origin)
        slider = attacker.find("Slider", SLIDER)
        for number in (10**400, -(10**400), [10**400]):
            attacker.change(slider, "value", number)
        await attacker.look()
        assert len(attacker.document["doc"]["roots"]) > 0
        attacker.close()

    asyncio.run(run())


def message(kind="PATCH-DOC", content='{"events": []}', **header):
    return [json.dumps({"msgid": "1", "msgtype": kind, **header}), "{}", content]


NO_MESSAGES = {
    "another document": message(
        "PUSH-DOC", json.dumps({"doc": {"roots": [], "title": SCRIPT, "version": "3"}})
    ),
    "no such message": message("NO-SUCH"),
    "no JSON": ["{", "{", "{"],
    "no object": ["[]", "[]", "[]"],
    "no header": ["{}", "{}", "{}"],
    "too deep": ["[" * 100_000, "{}", "{}"],
    "no text": [b"\x00\xff", "{}", "{}"],
    "too many digits": message(content='{"events": ' + "9" * 10_000 + "}"),
    "a strange number of buffers": [*message(num_buffers="many"), *message()],
    "no buffer": [*message(num_buffers=9), '{"id": "1"}', "no bytes"],
    "too many events": message(content=json.dumps({"events": [{"kind": "ModelChanged"}] * 1000})),
    "too long": ["x" * (MESSAGE + 1)],
    "too long in parts": [*message(num_buffers=99), *['{"id": "1"}', b"x" * 2_000_000] * 5],
}


@pytest.fixture(scope="module")
def token(server):
    """Of a session to which one comes back as often as its connection is closed."""
    return asyncio.run(token_of(server.origin))


@pytest.mark.usefixtures("unbroken")
@pytest.mark.parametrize("sent", NO_MESSAGES)
def test_what_is_no_message_of_the_page_closes_the_connection(server, token, sent):
    async def run():
        attacker = await Attacker.again(server.origin, token)
        attacker.parts(*NO_MESSAGES[sent])
        assert await attacker.closed() in (None, 1006, 1008, 1009)  # None: no time for a farewell

    asyncio.run(run())


def bombs():
    """What unpacks to a thousand times as much as a message may hold, in as many forms as Bokeh
    reads.
    """
    # what is packed may be packed in pieces
    packed = base64.b64encode(2 * gzip.compress(bytes(2**24), 9)).decode()
    assert len(packed) < BOMB
    data = {"type": "bytes", "data": packed}
    return [
        data,
        [data],
        {"type": "ndarray", "array": data, "shape": [2**22], "dtype": "float64", "order": "little"},
        {"type": "typed_array", "array": data, "dtype": "float64", "order": "little"},
        {"type": "map", "entries": [["x", data]]},
        {"type": "object", "name": "Slider", "id": "q1", "attributes": {"name": data}},
    ]


def test_what_is_packed_is_not_unpacked(server):
    """On a slider's value, in a click, and where a model or a name should stand."""

    async def run():
        attacker = await Attacker.open(server.origin)
        held, began = memory(server.process), spent(server)
        slider = attacker.find("Slider", SLIDER)
        for bomb in bombs():
            attacker.change(slider, "value", bomb)
            attacker.patch({"kind": "ModelChanged", "model": bomb, "attr": "value", "new": 1})
            attacker.patch({"kind": "MessageSent", "msg_type": "bokeh_event", "msg_data": bomb})
            click = {
                "type": "event",
                "name": "button_click",
                "values": {"type": "map", "entries": [["model", bomb]]},
            }
            attacker.patch({"kind": "MessageSent", "msg_type": "bokeh_event", "msg_data": click})
        await attacker.move(slider, slider["attributes"]["value"] + 1)  # after all of them
        assert memory(server.process) - held < ROOM and spent(server) - began < WORK
        attacker.close()

    asyncio.run(run())


def test_of_many_moves_the_newest_counts(server):
    async def run():
        attacker = await Attacker.open(server.origin)
        slider, began = attacker.find("Slider", SLIDER), spent(server)
        value = slider["attributes"]["value"]
        for i in range(200):
            attacker.set(slider, "value", value + i % 20)
        attacker.set(slider, "value", value + 7)
        async with asyncio.timeout(PATIENCE):  # beyond which the newest move was lost
            while attacker.find("Slider", SLIDER)["attributes"]["value"] != value + 7:
                await asyncio.sleep(0.2)
                await attacker.look()
        attacker.close()
        assert spent(server) - began < WORK

    asyncio.run(run())


async def many_moves(attacker):
    slider = attacker.find("Slider", SLIDER)
    value = slider["attributes"]["value"]
    for i in range(3000):
        attacker.set(slider, "value", value + i % 20)
        await asyncio.sleep(0.005)


async def many_looks(attacker):
    for _ in range(200):
        attacker.send("PULL-DOC-REQ", {})
    await asyncio.sleep(15)


async def many_messages(attacker):
    empty = patch()
    for _ in range(10_000):
        attacker.parts(*empty)
        await asyncio.sleep(0.001)


async def many_bombs(attacker):
    slider = attacker.find("Slider", SLIDER)
    for bomb in bombs():
        attacker.change(slider, "value", bomb)
        await asyncio.sleep(2)


async def large_messages(attacker, seconds=15):
    """Valid, and as long as any may be, by three connections; nothing of them is taken up."""
    tabs = [await Attacker.open(attacker.origin) for _ in range(3)]
    change = {"kind": "ModelChanged", "model": {"id": "nobody"}, "attr": "value", "new": 1}
    events = [change | {"new": [1] * 120}] * 140
    until = asyncio.get_running_loop().time() + seconds
    parts = patch(*events)
    assert MESSAGE * 0.8 < sum(map(len, parts)) < MESSAGE

    async def send(tab):
        while asyncio.get_running_loop().time() < until:
            tab.parts(*parts)
            await asyncio.sleep(0.002)
        tab.close()

    await asyncio.gather(*map(send, tabs))


@pytest.mark.proof
@pytest.mark.parametrize(
    "attack", [many_moves, many_looks, many_messages, many_bombs, large_messages]
)
def test_an_honest_reader_does_not_wait_meanwhile(server, attack):
    async def run():
        async with watched(server) as watch:
            attacker = await Attacker.open(server.origin)
            attacker.origin = server.origin
            await attack(attacker)
            attacker.close()
        return watch

    asyncio.run(run()).unharmed()


def event(name, *entries):
    values = {"type": "map", "entries": list(entries)}
    return {
        "kind": "MessageSent",
        "msg_type": "bokeh_event",
        "msg_data": {"type": "event", "name": name, "values": values},
    }


def test_what_has_a_wrong_shape_is_dropped_and_not_logged_as_an_error(server):
    """A value of another type than the property's; an event with values that its kind does not
    have, or without those it has.
    """

    async def run():
        attacker = await Attacker.open(server.origin)
        slider, button = attacker.find("Slider", SLIDER), {"id": attacker.find("Button", "")["id"]}
        value = slider["attributes"]["value"] + 1
        for wrong in ("no number", [1], {"type": "number", "value": "nan"}):
            attacker.change(attacker.find("Card", ""), "collapsed", wrong)
            attacker.change(slider, "value", "no number")
        attacker.patch(
            event("button_click", ["model", button], ["other", 1]),
            event("tap", ["model", button], ["x", "a"], ["geometry", 1]),
            event("menu_item_click"),
            event("dom_event", ["model", button]),
            event("value_submit", ["model", button]),
        )
        await attacker.move(slider, value)  # after all of them
        attacker.close()

    before = server.log.read_text()
    asyncio.run(run())
    logged = server.log.read_text().removeprefix(before)
    assert "error" not in logged.lower() and "Traceback" not in logged


@pytest.mark.usefixtures("unbroken")
def test_the_server_outlives_it_all(server):
    async def run():
        reader = await Reader.open(server.origin)
        slider = reader.find("Slider", SLIDER)
        await reader.move(slider, slider["attributes"]["value"] + 1)
        reader.close()

    asyncio.run(run())
    assert server.process.poll() is None


def test_of_a_drag_over_a_figure_the_last_event_counts_and_clicks_stay_apart():
    def event(name, x):
        return {
            "kind": "MessageSent",
            "msg_type": "bokeh_event",
            "msg_data": {"type": "event", "name": name, "x": x},
        }

    moves = [event("pan", x) for x in range(100)]
    ends = event("panend", 99), event("tap", 1), event("tap", 2)
    pending = [event("panstart", 0), *moves, *ends]
    turns = []
    while pending:
        turns.append([(e["msg_data"]["name"], e["msg_data"]["x"]) for e in next_of(pending)])
    assert turns == [[("panstart", 0)], [("pan", 99), ("panend", 99)], [("tap", 1)], [("tap", 2)]]


def test_a_turn_takes_what_was_set_before_a_click_with_it_and_no_second_click():
    """Each may cost as much as a move, and others wait until a turn is over."""

    def change(value):
        return {"kind": "ModelChanged", "model": {"id": "slider"}, "attr": "value", "new": value}

    click = {
        "kind": "MessageSent",
        "msg_type": "bokeh_event",
        "msg_data": {"type": "event", "name": "button_click"},
    }
    pending = [change(1), change(2), click, click, change(3)]
    assert next_of(pending) == [change(2), click]
    pending.append(change(4))
    assert [next_of(pending), next_of(pending), pending] == [[click], [change(4)], []]
