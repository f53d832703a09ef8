"""A browser is sent no name of a model that it does not have, and what it says of one that is gone
harms nothing.
"""

import asyncio
import json
import sys
import time
from pathlib import Path

import pytest
from bokeh.document import Document
from bokeh.models import Button, Column, Slider

from benchmarks.client import Reader, token_of
from benchmarks.serving import free_port
from tests.effort import proof
from tests.running import running, wait_until_served
from tests.waiting import PATIENCE
from zoexplore.server.allowed_changes import Patch
from zoexplore.server.websocket import FAILED
from zoexplore.views.tabs import VIEWS

ROOT = Path(__file__).parents[2]
SERVE = 'from zoexplore.server.serving import run, serve; from tests.server import naming; run(serve({{"app": naming}}, {port}))'


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """Where these pages are served, and what the server logs."""
    port = free_port()
    log = tmp_path_factory.mktemp("server") / "server.log"
    with running([sys.executable, "-c", SERVE.format(port=port)], log, cwd=ROOT) as process:
        wait_until_served(f"http://127.0.0.1:{port}/liveness", process, log)
        yield f"127.0.0.1:{port}", log


class Checking(Reader):
    """A reader who has only the models that were sent, as a browser has."""

    def __init__(self, *given):
        super().__init__(*given)
        self.sent, self.unknown = set(), []

    async def check(self):
        """Read all that comes, for as long as somebody wants to; note what patches name and has not
        been sent.
        """
        self.sent = {model["id"] for model in models(self.document) if "name" in model}
        while True:
            found = list(models(await self._until("PATCH-DOC")))
            self.sent |= {model["id"] for model in found if "name" in model}
            self.unknown += [model["id"] for model in found if model["id"] not in self.sent]


def models(tree):
    """Every model in a message: with its name where it is sent, by its id alone where it is only
    named.
    """
    if isinstance(tree, dict):
        if tree.get("type") == "bytes":  # in a part of its own, by the id of that
            return
        if isinstance(tree.get("id"), str) and ("name" in tree or tree.keys() == {"id"}):
            yield tree
        tree = list(tree.values())
    for part in tree if isinstance(tree, list) else ():
        yield from models(part)


async def brought(reader):
    """Have new models sent and named."""
    for _ in range(5):
        before = len(reader.sent)
        reader.press(reader.find("Button", "bring"))
        while len(reader.sent) == before:
            await asyncio.sleep(0.05)


async def turned(reader, views=tuple(VIEWS)[1:]):
    """Show views of the explorer for the first time."""
    parts = reader.find("Bar", "parts of this tab")
    for view in views:
        before = len(reader.sent)
        reader.set(parts, "selected", view)
        while len(reader.sent) == before:
            await asyncio.sleep(0.1)
    await asyncio.sleep(1)  # for what is computed for the last ones


async def turned_to_widgets_and_figures(reader):
    await turned(reader, ("helps", "plan"))


def test_what_changes_before_a_browser_has_drawn_the_page_reaches_it(served):
    origin, _ = served

    async def run():
        reader = await Reader.connect(origin, await token_of(origin))
        await reader.look()  # and `document_ready` is yet to come
        named = next(
            model["id"]
            for model in models(reader.document)
            if model.get("attributes", {}).get("name") == "named"
        )
        reader.press(reader.find("Button", "bring"))
        changed = set()
        while named not in changed:
            changed |= {
                event["model"]["id"]
                for event in (await reader._until("PATCH-DOC"))["events"]
                if "model" in event
            }
        reader.close()

    asyncio.run(run())


def test_a_browser_may_still_move_what_the_server_has_just_taken_away(served):
    origin, log = served

    async def run():
        reader = await Reader.open(origin)
        kept, lost = (reader.find("Slider", name)["id"] for name in ("kept", "lost"))
        lose, button = (reader.find("Button", name) for name in ("lose", "lost"))
        for value in range(1, 10):
            if value == 4:
                reader.press(lose)
            reader._send(
                "PATCH-DOC",
                {"events": [change(lost, value), click(button["id"]), change(kept, value)]},
            )
        end = time.monotonic() + PATIENCE
        while reader.find("Slider", "kept")["attributes"]["value"] != 9:
            assert time.monotonic() < end, "what was moved last never came"
            await asyncio.sleep(0.2)
            await reader.look()
        assert "lost" not in json.dumps(reader.find("Column", "kept"))
        reader.close()

    asyncio.run(run())
    assert not any(word in log.read_text() for word in ("Traceback", "ERROR", "error"))


@pytest.mark.parametrize(
    ("query", "act"),
    [("", brought), ("?explorer=1", turned_to_widgets_and_figures), proof("?explorer=1", turned)],
)
def test_no_patch_names_a_model_before_it_is_sent(served, query, act):
    origin, log = served

    async def run():
        reader = await Checking.open(origin, query)
        checking = asyncio.create_task(reader.check())
        await asyncio.wait_for(act(reader), PATIENCE)
        checking.cancel()
        reader.close()
        return reader

    reader = asyncio.run(run())
    assert (
        len(reader.sent) > len({model["id"] for model in models(reader.document)})
        and not reader.unknown
    )
    assert "Traceback" not in log.read_text()


def test_an_error_is_answered_without_the_servers_own_words(served):
    async def run():
        reader = await Reader.open(served[0])
        reader.press(reader.find("Button", "fail"))
        with pytest.raises(RuntimeError) as sent:
            while True:
                await reader._until("no such message")
        reader.close()
        return str(sent.value)

    assert asyncio.run(run()) == FAILED


def change(model, value):
    return {"kind": "ModelChanged", "model": {"id": model}, "attr": "value", "new": value}


def click(model):
    event = {
        "type": "event",
        "name": "button_click",
        "values": {"type": "map", "entries": [["model", {"id": model}]]},
    }
    return {"kind": "MessageSent", "msg_type": "bokeh_event", "msg_data": event}


def test_what_is_said_of_a_model_that_is_gone_is_left_out_and_the_rest_is_taken():
    document, heard = Document(), []
    kept, gone, pressed, lost = (
        Slider(start=0, end=9, value=0),
        Slider(start=0, end=9, value=0),
        Button(),
        Button(),
    )
    for button in (pressed, lost):
        button.on_click(lambda button=button: heard.append(button))
    page = Column(kept, gone, pressed, lost)
    document.add_root(page)
    events = [change(gone.id, 5), click(lost.id), change(kept.id, 7), click(pressed.id)]
    patch = Patch({"msgid": "1", "msgtype": "PATCH-DOC"}, {}, {"events": events})
    page.children = [kept, pressed]
    patch.apply_to_document(document)
    assert (kept.value, gone.value, heard) == (7, 0, [pressed])


def test_of_what_a_browser_writes_out_as_a_whole_the_click_alone_is_taken():
    """As BokehJS writes a button that is new since it last sent anything."""
    document, heard = Document(), []
    pressed = Button(label="as it was")
    pressed.on_click(lambda: heard.append(pressed))
    document.add_root(pressed)
    whole = {
        "type": "object",
        "name": "bokeh.models.widgets.buttons.Button",
        "id": pressed.id,
        "attributes": {"label": "other"},
    }
    event = click(pressed.id)
    event["msg_data"]["values"]["entries"] = [["model", whole]]
    Patch({"msgid": "1", "msgtype": "PATCH-DOC"}, {}, {"events": [event]}).apply_to_document(
        document
    )
    assert heard == [pressed] and document.roots == [pressed] and pressed.label == "as it was"
