"""The address: a URL for every state, and a state for every URL."""

from typing import Any
from urllib.parse import parse_qsl, urlencode

import param

from zoexplore.export import from_fields, to_fields
from zoexplore.views.bridge import Bridge
from zoexplore.views.lesson import Lesson
from zoexplore.views.state import State


class Address:
    """Keeps the bridge's `search` and the state the same. What a slider passes through on its way has no address.

    `views` are selectors that are part of what is shown, by their names in the address.
    What cannot be used of an address is said in the state's `note`, field by field, and the rest is used.
    """

    def __init__(
        self,
        state: State,
        bridge: Bridge,
        lesson: Lesson | None = None,
        views: dict[str, tuple[param.Parameterized, str]] | None = None,
    ) -> None:
        self.state, self.bridge, self.lesson, self.views = state, bridge, lesson or Lesson(), views or {}
        self._first = {key: getattr(*view) for key, view in self.views.items()}
        for owner, name in self.views.values():
            owner.param.watch(self.write, name)
        self._reading = False  # going back must not be a step forward
        self.state.param.watch(self.write, ["setting", "accounting", "moving"])
        self.bridge.param.watch(lambda _: self.read(self.bridge.search), "visits")

    def write(self, *_: Any) -> None:
        """Give the browser the address of the state, unless a slider is still held."""
        if not (self.state.moving or self._reading):
            self.bridge.search = self.search()

    def search(self) -> str:
        """The query of the state, with its question mark; empty where there is nothing to say."""
        fields = to_fields(self.state.setting, self.state.accounting)
        views = {key: getattr(*view) for key, view in self.views.items()}
        turned = {key: value for key, value in views.items() if value != self._first[key]}
        query = urlencode([*self.lesson.fields(), *turned.items(), *fields.items()], safe=",")
        return f"?{query}" if query else ""

    def read(self, search: str) -> None:
        """Take over the state of an address."""
        pairs = parse_qsl(search.removeprefix("?"), keep_blank_values=True)
        loaded = from_fields({name: text for name, text in pairs if name not in (*Lesson.NAMES, *self.views)})
        self._reading = True
        try:
            self.state.replace(loaded.setting, loaded.accounting)
            turned = [problem for key in self.views if (problem := self._turn(key, dict(pairs).get(key)))]
        finally:
            self._reading = False
        problems = (*loaded.problems, *turned, *self.lesson.problems)
        if problems:
            self.state.note = "Of this address, " + "; ".join(problems)

    def _turn(self, key: str, asked: str | None) -> str:
        """Select what an address asks for, or what is selected at first. Returns what is wrong with it."""
        owner, name = self.views[key]
        known = asked is None or asked in owner.param[name].objects
        setattr(owner, name, asked if known and asked is not None else self._first[key])
        return "" if known else f"{key} = {asked[:40]!r} is not one of {', '.join(owner.param[name].objects)}"
