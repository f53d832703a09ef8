"""The address: a URL for every state, a state for every URL, and the bridge to the browser that has it."""

from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlencode

import panel as pn
import param

from zoexplore.bounds import BOUNDS
from zoexplore.export import from_fields, to_fields
from zoexplore.views.browser.lessons import Lesson
from zoexplore.views.panels.pins import Pins
from zoexplore.views.state import State


class Bridge(pn.custom.JSComponent):
    """`search` is written by the page and by the browser; the other params come from the browser.

    A new `search` becomes an entry in the browser's history; going back and forth sets it and counts in `visits`.
    """

    search = param.String("", doc="the query of the page's address, with its question mark")
    visits = param.Integer(0, doc="how often the reader has gone back or forth")
    scheme = param.String("", doc="the colour scheme that this browser was last used with, or else prefers: dark or light")
    ready = param.Boolean(False, doc="whether a browser is there")

    _esm = Path(__file__).parent / "bridge.js"


LONGEST = 2000  # characters of a query that every browser, mail and chat lets through


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
        pins: Pins | None = None,
    ) -> None:
        self.state, self.bridge, self.lesson, self.views = state, bridge, lesson or Lesson(), views or {}
        self.pins = pins or Pins()
        self.pins.param.watch(self.write, ["pins", "compare"])
        self._first = {key: getattr(*view) for key, view in self.views.items()}
        for owner, name in self.views.values():
            owner.param.watch(self.write, name)
        self._reading = False  # going back must not be a step forward
        # last: where the address is a state's, the page shows it
        self.state.param.watch(self.write, ["setting", "accounting", "moving"], precedence=2)
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
        query = _query([*self.lesson.fields(), *turned.items(), *fields.items()])
        longer = _query([*parse_qsl(query, keep_blank_values=True), *self.pins.fields()])
        if len(longer) <= LONGEST:
            query = longer
        else:
            self.state.note = "The pins are too long for an address: a link leaves them out."
        return f"?{query}" if query else ""

    def read(self, search: str) -> None:
        """Take over the state of an address."""
        pairs = parse_qsl(search.removeprefix("?"), keep_blank_values=True)
        others = (*Lesson.NAMES, *self.views, "pin", "compare")
        loaded = from_fields({name: text for name, text in pairs if name not in others})
        self._reading = True
        try:
            self.state.replace(loaded.setting, loaded.accounting)
            pinned = self._pin(pairs)
            turned = [problem for key in self.views if (problem := self._turn(key, dict(pairs).get(key)))]
        finally:
            self._reading = False
        problems = (*loaded.problems, *turned, *pinned, *self.lesson.problems)
        if problems:
            self.state.note = "Of this address, " + "; ".join(problems)

    def _pin(self, pairs: list[tuple[str, str]]) -> list[str]:
        """Take over the pins. Returns what is wrong with them."""
        compare = dict(pairs).get("compare", "")
        known = not compare or compare in BOUNDS
        problems = self.pins.read([text for name, text in pairs if name == "pin"], compare if known else "")
        return problems + ([] if known else [f"compare = {compare[:40]!r} is not one of {', '.join(BOUNDS)}"])

    def _turn(self, key: str, asked: str | None) -> str:
        """Select what an address asks for, or what is selected at first. Returns what is wrong with it."""
        owner, name = self.views[key]
        known = asked is None or asked in owner.param[name].objects
        setattr(owner, name, asked if known and asked is not None else self._first[key])
        return "" if known else f"{key} = {(asked or '')[:40]!r} is not one of {', '.join(owner.param[name].objects)}"


def _query(pairs: list[tuple[str, str]]) -> str:
    return urlencode(pairs, safe=",:~")
