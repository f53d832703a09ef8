"""The address: a URL for every state, and a state for every URL."""

from typing import Any
from urllib.parse import parse_qsl, urlencode

import param

from zoexplore.bounds import BOUNDS
from zoexplore.export import from_fields, to_fields
from zoexplore.fields import in_symbols
from zoexplore.formatting import format_exact, parse_number
from zoexplore.views.browser.bridge import Bridge
from zoexplore.views.browser.lessons import Lesson
from zoexplore.views.panels.pins import Pins
from zoexplore.views.state import State
from zoexplore.views.tabs import Tabs

LONGEST = 2000  # characters of a query that every browser, mail and chat lets through


class Address:
    """Keeps the bridge's `search` and the state the same. What a slider passes through on its way has no address.

    `views` are params that are part of what is shown, by their names in the address; what is asked in one of the `tabs` has the
    tab's name before its own, as in `attack.fpr`.
    What cannot be used of an address is said in the state's `note`, field by field, and the rest is used.
    """

    def __init__(
        self,
        state: State,
        bridge: Bridge,
        lesson: Lesson | None = None,
        views: dict[str, tuple[param.Parameterized, str]] | None = None,
        pins: Pins | None = None,
        tabs: Tabs | None = None,
    ) -> None:
        self.state, self.bridge, self.lesson, self.views = state, bridge, lesson or Lesson(), views or {}
        self.pins, self.tabs = pins or Pins(), tabs
        self._watched: set[str] = set()  # the tabs whose answers this follows
        if tabs:
            tabs.param.watch(self._follow, "built")
            self._follow()
        self.pins.param.watch(self.write, ["pins", "compare"])
        self._first = {key: getattr(*view) for key, view in self.views.items()}
        for owner, name in self.views.values():
            owner.param.watch(self.write, name)
        self._reading = False  # going back must not be a step forward
        # last: where the address is a state's, the page shows it
        self.state.param.watch(self.write, ["setting", "accounting", "moving"], precedence=2)
        self.bridge.param.watch(lambda _: self.read(self.bridge.search), "visits")

    def _follow(self, *_: Any) -> None:
        """Follow what is asked in the views that there are by now."""
        views = self.tabs.views if self.tabs else {}
        for name in set(views) - self._watched:
            self._watched.add(name)
            view = views[name]
            if view.asks:
                view.param.watch(self.write, list(view.asks))

    def write(self, *_: Any) -> None:
        """Give the browser the address of the state, unless a slider is still held."""
        if not (self.state.moving or self._reading):
            self.bridge.search = self.search()

    def search(self) -> str:
        """The query of the state, with its question mark; empty where there is nothing to say."""
        fields = to_fields(self.state.setting, self.state.accounting)
        views = {key: getattr(*view) for key, view in self.views.items()}
        turned = {key: text_of(value) for key, value in views.items() if value != self._first[key]} | self._asked()
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
        others = (*Lesson.NAMES, *self.views, *self._askable(), "pin", "compare")
        loaded = from_fields({name: text for name, text in pairs if name not in others})
        self._reading = True
        try:
            self.state.replace(loaded.setting, loaded.accounting)
            pinned = self._pin(pairs)
            turned = [problem for key in self.views if (problem := self._turn(key, dict(pairs).get(key)))]
            turned += [problem for key in self._askable() if (problem := self._ask(key, dict(pairs).get(key)))]
        finally:
            self._reading = False
        problems = (*loaded.problems, *turned, *pinned, *self.lesson.problems)
        if problems:
            self.state.note = "Of this address, " + "; ".join(map(in_symbols, problems))

    def _pin(self, pairs: list[tuple[str, str]]) -> list[str]:
        """Take over the pins. Returns what is wrong with them."""
        compare = dict(pairs).get("compare", "")
        known = not compare or compare in BOUNDS
        problems = self.pins.read([text for name, text in pairs if name == "pin"], compare if known else "")
        return problems + ([] if known else [f"compare = {compare[:40]!r} is not one of {', '.join(BOUNDS)}"])

    def _turn(self, key: str, asked: str | None) -> str:
        """Select what an address asks for, or what is selected at first. Returns what is wrong with it."""
        owner, name = self.views[key]
        return taken(owner, name, key, asked, self._first[key])

    def _askable(self) -> dict[str, tuple[str, str]]:
        """Every key of the form view.param, and which view and param that is."""
        named = self.tabs.asks().items() if self.tabs else ()
        return {f"{view}.{name}": (view, name) for view, names in named for name in names}

    def _asked(self) -> dict[str, str]:
        """What differs, in the views that there are, from what they ask at first."""
        views = self.tabs.views if self.tabs else {}
        there = {key: (views[view], name) for key, (view, name) in self._askable().items() if view in views}
        return {key: text_of(value) for key, (v, name) in there.items() if (value := getattr(v, name)) != v.param[name].default}

    def _ask(self, key: str, asked: str | None) -> str:
        """Set what an address asks of a view, which is built for it, or what it asks at first. Returns what is wrong."""
        view, name = self._askable()[key]
        if self.tabs is None or (asked is None and view not in self.tabs.views):
            return ""
        owner = self.tabs[view]
        return taken(owner, name, key, asked, owner.param[name].default)


def text_of(value: Any) -> str:
    """A param's value in an address."""
    if isinstance(value, list):
        return ",".join(map(text_of, value))
    return value if isinstance(value, str) else format_exact(value)


def taken(owner: param.Parameterized, name: str, key: str, asked: str | None, first: Any) -> str:
    """Set a param to what a text says, or where there is none or it cannot be to `first`. Returns what is wrong with the text."""
    parameter = owner.param[name]
    try:
        setattr(owner, name, first if asked is None else _value(parameter, asked))
    except ValueError:
        setattr(owner, name, first)
        said = (asked or "")[:40]
        if isinstance(parameter, param.Selector):
            return f"{key} = {said!r} is not one of {', '.join(parameter.objects)}"
        return f"{key} = {said!r} is not allowed"
    return ""


def _value(parameter: param.Parameter, text: str) -> Any:
    """A text as a value of a param. Raises ValueError where it is none."""
    if isinstance(parameter, param.List):
        kind = str if parameter.item_type is str else parse_number
        return [parameter.item_type(kind(part)) for part in text.split(",") if part]
    return float(parse_number(text)) if isinstance(parameter, param.Number) else text


def _query(pairs: list[tuple[str, str]]) -> str:
    return urlencode(pairs, safe=",:~")
