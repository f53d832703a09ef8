"""A notebook's page gets everything in the order in which it was sent, also what is sent before it is ready.

Panel gives every early message a timer of its own, so that a later one may arrive first: a map that was complete before its page
was there ended as its coarse version, under a bar that did not go away.
"""

from typing import Any

from pyviz_comms import JupyterComm, JupyterCommManager


class Waiting:
    """What is sent before there is a page, kept in order."""

    def __init__(self) -> None:
        self.kept: list[dict[str, Any]] = []

    def send(self, data: Any = None, metadata: Any = None, buffers: Any = ()) -> None:
        self.kept.append({"data": data, "metadata": metadata, "buffers": list(buffers)})

    def close(self) -> None:
        self.kept.clear()


class InOrder(JupyterComm):
    """A way to a page that may be used from the beginning; `init` is called when the page opens it."""

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self._comm = self._waiting = Waiting()

    def init(self) -> None:
        super().init()
        for message in self._waiting.kept:
            self._comm.send(**message)
        self._waiting.close()


def send_in_order() -> None:
    """Make it the way of whatever this process shows in notebooks from now on."""
    JupyterCommManager.server_comm = InOrder
