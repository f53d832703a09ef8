"""Pending: what a browser has changed and its session has not taken up yet. Of what was changed twice, the newest counts."""

from typing import Any

from zoexplore.views.server.limits import EVENTS


class Pending:
    """Changes and clicks in the order in which they came, less the changes that a later one has overtaken.

    A click acts on what was set before it, so no later change takes the place of one that came before a click. Where a figure is
    dragged over, many events come in a row; of those the last one counts.
    """

    def __init__(self) -> None:
        self._events: dict[Any, dict[str, Any]] = {}
        self._clicks = 0
        self._drags = False  # whether the last event is one of a drag

    def __bool__(self) -> bool:
        return bool(self._events)

    @property
    def full(self) -> bool:
        """Whether there is room for no more."""
        return len(self._events) >= EVENTS.value

    def add(self, events: list[dict[str, Any]]) -> None:
        """Take note of events that `patches.accepted` has let pass."""
        for event in events:
            key: Any
            if event["kind"] == "ModelChanged":
                key = (self._clicks, event["model"]["id"], event["attr"])
                self._events.pop(key, None)  # so that the newest stands last
                self._drags = False
            else:
                drags = event["msg_data"]["name"] == "pan"
                self._clicks += not (drags and self._drags)
                key, self._drags = self._clicks, drags
            self._events[key] = event

    def take(self) -> list[dict[str, Any]]:
        """All of them; nothing is pending afterwards."""
        events = list(self._events.values())
        self._events.clear()
        self._clicks, self._drags = 0, False
        return events
