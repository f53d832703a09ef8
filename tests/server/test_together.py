"""A message's parts do not wait for each other on the way to a browser."""

import asyncio
import socket
import time
from statistics import median

import pytest
from tornado.web import Application
from tornado.websocket import WebSocketHandler

from zoexplore.server.serving import free_port
from zoexplore.server.websocket import Together

MESSAGES, PARTS, SIZE = 12, 19, 2 + 60  # frames of a message, and bytes of each
HELLO = (
    "GET / HTTP/1.1\r\nHost: {host}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
)


class Talks(WebSocketHandler):
    """Sends a message in parts, again and again."""

    def get_websocket_protocol(self):
        usual = super().get_websocket_protocol()
        return Together(self, usual.mask_outgoing, usual.params)

    async def open(self):
        while True:
            for _ in range(PARTS):
                self.write_message("x" * (SIZE - 2))
            await asyncio.sleep(0.1)


@pytest.mark.skipif(not hasattr(socket, "TCP_QUICKACK"), reason="the system does not let a reader be slow to confirm")
def test_no_part_waits_until_the_browser_has_confirmed_the_first():
    async def between_first_and_last():
        port = free_port()
        server = Application([("/", Talks)]).listen(port, "127.0.0.1")
        reader = socket.create_connection(("127.0.0.1", port))
        reader.setblocking(False)
        loop, took = asyncio.get_running_loop(), []

        async def read(size):
            reader.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 0)  # it confirms late, as a browser far away
            return len(await loop.sock_recv(reader, size))

        await loop.sock_sendall(reader, HELLO.format(host=f"127.0.0.1:{port}").encode())
        answer = b""
        while not answer.endswith(b"\r\n\r\n"):
            answer += await loop.sock_recv(reader, 1)
        for _ in range(MESSAGES):
            left, began = SIZE * PARTS - await read(SIZE * PARTS), time.monotonic()
            while left > 0:
                left -= await read(left)
            took.append(time.monotonic() - began)
        reader.close()
        server.stop()
        return median(took)

    assert asyncio.run(between_first_and_last()) < 0.02  # seconds; a reader confirms after 0.04
