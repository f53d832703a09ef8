"""A line to a server, which can be cut: a page at its end finds nobody there, as where the server
has gone away.
"""

import socket
from contextlib import suppress
from threading import Thread

HERE = "127.0.0.1"


class Line:
    """Whatever comes to `port` goes on to the server's, and back."""

    def __init__(self, to: int) -> None:
        self._to, self.port = to, 0
        self.mend()

    def mend(self) -> None:
        """Lead to the server, at first and again after a cut."""
        door = socket.create_server((HERE, self.port))
        self.port, self._open = door.getsockname()[1], [door]
        Thread(target=self._let_in, args=(door,), daemon=True).start()

    def cut(self) -> None:
        """Let go of whoever is connected, and let nobody in."""
        for end in self._open:
            with suppress(OSError):  # it is closed at the other side
                end.shutdown(socket.SHUT_RDWR)
            end.close()

    def _let_in(self, door: socket.socket) -> None:
        with suppress(OSError):  # until it is cut
            while True:
                ends = door.accept()[0], socket.create_connection((HERE, self._to))
                self._open += ends
                for one, other in (ends, ends[::-1]):
                    Thread(target=self._pass_on, args=(one, other), daemon=True).start()

    @staticmethod
    def _pass_on(one: socket.socket, other: socket.socket) -> None:
        with suppress(OSError):
            while chunk := one.recv(1 << 16):
                other.sendall(chunk)
            other.shutdown(socket.SHUT_WR)
