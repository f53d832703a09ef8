"""A reader without a browser: opens the page over Bokeh's websocket, moves sliders, presses
buttons and awaits redraws.
"""

import asyncio
import json
import re
import time
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

from tornado.httpclient import AsyncHTTPClient, HTTPRequest
from tornado.websocket import websocket_connect

PATIENCE = 120.0  # seconds to wait for an answer; others may use the machine too
LARGEST = 2**28  # bytes of a message


async def token_of(origin: str, query: str = "") -> str:
    """Load the page, and return only the token that its websocket needs."""
    return (await loaded(origin, query))[0]


async def loaded(origin: str, query: str = "") -> tuple[str, str]:
    """Load the page, and return (token, cookie): the token that its websocket needs, and the cookie
    by which a proxy finds the page's process again.
    """
    page = await AsyncHTTPClient(max_clients=500).fetch(
        f"http://{origin}/app{query}", request_timeout=PATIENCE, connect_timeout=PATIENCE
    )
    token = re.search(r'"token":\s*"([^"]+)"', page.body.decode())
    if token is None:
        raise LookupError(f"http://{origin}/app{query} has no token of a session")
    return token[1], "; ".join(
        cookie.partition(";")[0] for cookie in page.headers.get_list("Set-Cookie")
    )


class Reader:
    """One session of the page, which `Reader.open` begins."""

    def __init__(self, socket: Any) -> None:
        self.socket = socket
        self.document: dict[str, Any] = {}

    @classmethod
    async def open(cls, origin: str, query: str = "") -> "Reader":
        """Load the page, as a browser does, up to the moment when it is drawn.

        Args:
            origin: the server's, as HOST:PORT.
            query: the query of the page's address, with the question mark.
        """
        token, cookie = await loaded(origin, query)
        reader = await cls.connect(origin, token, cookie)
        await reader.look()
        reader._event("document_ready", [])
        return reader

    @classmethod
    async def connect(cls, origin: str, token: str, cookie: str = "") -> "Reader":
        """Open the websocket of a page that has been loaded."""
        headers = {"Origin": f"http://{origin}"} | ({"Cookie": cookie} if cookie else {})
        request = HTTPRequest(f"ws://{origin}/app/ws", headers=headers, request_timeout=PATIENCE)
        reader = cls(
            await websocket_connect(
                request, subprotocols=["bokeh", token], max_message_size=LARGEST
            )
        )
        await reader._until("ACK")
        return reader

    async def look(self) -> None:
        """Fetch the page's document as it is now, without the parts that have never been shown."""
        self._send("PULL-DOC-REQ", {})
        self.document = await self._until("PULL-DOC-REPLY")

    def find(self, kind: str, text: str) -> dict[str, Any]:
        """Return the model whose type starts with `kind` and whose attributes contain the text."""
        for model in _models(self.document):
            if model["name"].split(".")[-1].startswith(kind) and text in json.dumps(
                model["attributes"], ensure_ascii=False
            ):
                return model
        raise LookupError(f"no {kind} with {text!r} on the page")

    async def show(self, view: str) -> None:
        """Select a view, by its name."""
        self.set(self.find("Bar", "parts of this tab"), "selected", view)
        await self.look()

    async def unfold(self, title: str) -> None:
        """Open a card, and wait for its contents."""
        self.set(self.find("Card", title), "collapsed", False)
        while len(self.find("Card", title)["attributes"]["children"]) == 1:  # the title
            await self._until("PATCH-DOC")
            await self.look()

    async def move(self, slider: dict[str, Any], value: float) -> float:
        """Set a slider, and return the seconds until the figure's new data arrive. Then let it go,
        after which the server computes what a moving slider does not show. Data that arrive
        before the server has taken the change belong to an earlier move: on batches the exact
        curves follow a while after those that a slider draws.
        """
        start = time.perf_counter()
        await self._until("OK", self.set(slider, "value", value))
        await self.redrawn()
        took = time.perf_counter() - start
        self.set(slider, "value_throttled", value)
        return took

    async def redrawn(self) -> None:
        """Wait until a chart's new lines arrive."""
        while True:
            events = (await self._until("PATCH-DOC")).get("events", [])
            if any(event.get("attr") == "lines" for event in events):
                return

    def set(self, model: dict[str, Any], attribute: str, value: Any) -> str:
        """Change an attribute of a model as a browser's widget would; return the message's id."""
        change = {
            "kind": "ModelChanged",
            "model": {"id": model["id"]},
            "attr": attribute,
            "new": value,
        }
        return self._send("PATCH-DOC", {"events": [change]})

    def press(self, button: dict[str, Any]) -> None:
        """Click a button."""
        self._event("button_click", [["model", {"id": button["id"]}]])

    def close(self) -> None:
        """Leave, as if by closing the tab."""
        self.socket.close()

    def _event(self, name: str, entries: list[Any]) -> None:
        event = {"type": "event", "name": name, "values": {"type": "map", "entries": entries}}
        self._send(
            "PATCH-DOC",
            {"events": [{"kind": "MessageSent", "msg_type": "bokeh_event", "msg_data": event}]},
        )

    def _send(self, kind: str, content: dict[str, Any]) -> str:
        name = uuid4().hex
        for part in ({"msgid": name, "msgtype": kind}, {}, content):
            self.socket.write_message(json.dumps(part))
        return name

    async def _until(self, kind: str, answered: str = "") -> dict[str, Any]:
        """Wait for the next message of a kind, and return its content; drop the messages before it.
        `answered`, if given, is the id of the message that it must answer.
        """
        while True:
            header = json.loads(await self._part())
            await self._part()
            content: dict[str, Any] = json.loads(await self._part())
            for _ in range(2 * header.get("num_buffers", 0)):
                await self._part()
            if header["msgtype"] == "ERROR":
                raise RuntimeError(content["text"])
            if header["msgtype"] == kind and answered in ("", header.get("reqid")):
                return content

    async def _part(self) -> str:
        part = await asyncio.wait_for(self.socket.read_message(), PATIENCE)
        if part is None:
            raise ConnectionError(
                f"the server closed the session: {self.socket.close_reason or self.socket.close_code}"
            )
        return str(part)


def _models(tree: Any) -> Iterator[dict[str, Any]]:
    if isinstance(tree, dict):
        if "id" in tree and "name" in tree and "attributes" in tree:
            yield tree
        for part in tree.values():
            yield from _models(part)
    elif isinstance(tree, list):
        for part in tree:
            yield from _models(part)
