"""A reader who leaves while a message is on its way is an ordinary event: nothing is raised, and nothing logged."""

import asyncio
import gc
from types import SimpleNamespace

import pytest
from panel.io.document import dispatch_tornado
from tornado.httpserver import HTTPServer
from tornado.testing import bind_unused_port
from tornado.web import Application
from tornado.websocket import WebSocketClosedError, WebSocketHandler, websocket_connect

from zoexplore.server.websocket import Socket

LARGE = "x" * 2**24  # bytes that no system takes at once from who sends to a reader who does not read
PARTS = {"header_json": "{}", "metadata_json": "{}", "content_json": "{}", "_buffers": []}


async def sent_as_the_reader_leaves(large):
    """Send a message whose large frame is the last that the reader sees anything of; what is told of errors meanwhile."""
    told, connected, loop = [], asyncio.get_running_loop().create_future(), asyncio.get_running_loop()
    loop.set_exception_handler(lambda _, context: told.append(context))

    class Handler(WebSocketHandler):
        get_websocket_protocol = Socket.get_websocket_protocol

        def open(self):
            connected.set_result(self)

    listening, port = bind_unused_port()
    server = HTTPServer(Application([("/", Handler)]))
    server.add_sockets([listening])
    reader = await websocket_connect(f"ws://127.0.0.1:{port}/", max_message_size=2**25)
    handler = await connected
    stream = handler.ws_connection.stream
    write = stream.write

    def leaves(data):
        """The connection breaks once the large frame is on its way."""
        written = write(data)
        if len(data) > len(LARGE):
            stream.close()
        return written

    stream.write = leaves
    frames = dispatch_tornado(SimpleNamespace(_socket=handler), msg=SimpleNamespace(**{**PARTS, large: LARGE}))
    with pytest.raises(WebSocketClosedError):
        handler.ping()  # by which Bokeh finds out who has gone
    assert len(frames) == 3
    await asyncio.wait(frames)
    del frames
    await asyncio.sleep(0)
    gc.collect()
    server.stop()
    reader.close()
    return told


@pytest.mark.parametrize("large", ["header_json", "content_json"])
def test_what_is_on_its_way_to_a_reader_who_leaves_is_dropped(large):
    assert not asyncio.run(sent_as_the_reader_leaves(large))
