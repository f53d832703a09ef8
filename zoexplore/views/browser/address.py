"""The address: a URL for every state, and a state for every URL; and the way to the browser that has it."""

from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlencode

import panel as pn
import param

from zoexplore.bounds import BOUNDS
from zoexplore.export import from_fields, to_fields
from zoexplore.fields import in_symbols
from zoexplore.formatting import format_exact, parse_number
from zoexplore.views.browser.lessons import Lesson
from zoexplore.views.state import Pins, State
from zoexplore.views.tabs import Tabs

LONGEST = 2000  # characters of a query that every browser, mail and chat lets through


class Bridge(pn.custom.JSComponent):
    """`search` and `heard` are written by the page, the other params by the browser: none by both, which may write at once.

    A new `search` becomes an entry in the browser's history, unless the reader has gone elsewhere meanwhile, as `heard` tells.
    """

    search = param.String("", doc="the query of the page's address, with its question mark")
    heard = param.Integer(0, doc="of how many steps back or forth the page knows")
    went = param.String("", doc="the query that the last of them led to")
    visits = param.Integer(0, doc="how often the reader has gone back or forth")
    scheme = param.String("", doc="the colour scheme that this browser was last used with, or else prefers: dark or light")
    ready = param.Boolean(False, doc="whether a browser is there")

    _esm = Path(__file__).parent / "bridge.js"


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
        self.state, self.bridge, self.lesson = state, bridge, lesson or Lesson()
        self.pins, self.tabs = pins or Pins(), tabs
        self._kept: dict[str, tuple[param.Parameterized, str, Any]] = {}  # by its name here: whose param, and its value at first
        for key, (owner, name) in (views or {}).items():
            self._keep(key, owner, name)
        if tabs:
            tabs.param.watch(self._follow, "built")
            self._follow()
        self.pins.param.watch(self.write, ["pins", "compare"])
        self._reading = False  # going back must not be a step forward
        # last: where the address is a state's, the page shows it
        self.state.param.watch(self.write, ["setting", "accounting", "moving"], precedence=2)
        self.bridge.param.watch(self._visited, "visits")

    def _keep(self, key: str, owner: param.Parameterized, name: str) -> None:
        """Have a param in the address from now on, unless it is already."""
        if key not in self._kept:
            self._kept[key] = owner, name, getattr(owner, name)
            owner.param.watch(self.write, name)

    def _follow(self, *_: Any) -> None:
        """Keep what is asked in the views that there are by now."""
        for tab, view in self.tabs.views.items() if self.tabs else ():
            for name in view.asks:
                self._keep(f"{tab}.{name}", view, name)

    def _visited(self, *_: Any) -> None:
        """Show the state that the reader has gone back or forth to. Its address is in the browser already."""
        self.bridge.param.update(heard=self.bridge.visits, search=self.bridge.went)
        self.read(self.bridge.went)

    def write(self, *_: Any) -> None:
        """Give the browser the address of the state, unless a slider is still held."""
        if not (self.state.moving or self._reading):
            self.bridge.search = self.search()

    def search(self) -> str:
        """The query of the state, with its question mark; empty where there is nothing to say."""
        fields = to_fields(self.state.setting, self.state.accounting)
        kept = {key: (getattr(owner, name), first) for key, (owner, name, first) in self._kept.items()}
        turned = [(key, text_of(value)) for key, (value, first) in kept.items() if value != first]
        query = _query([*self.lesson.fields(), *turned, *fields.items()])
        longer = _query([*parse_qsl(query, keep_blank_values=True), *self.pins.fields()])
        if len(longer) <= LONGEST:
            query = longer
        else:
            self.state.note = "The pins are too long for an address: a link leaves them out."
        return f"?{query}" if query else ""

    def read(self, search: str) -> None:
        """Take over the state of an address."""
        pairs = parse_qsl(search.removeprefix("?"), keep_blank_values=True)
        given = dict(pairs)
        for tab, names in self.tabs.asks().items() if self.tabs else ():
            if self.tabs and any(f"{tab}.{name}" in given for name in names):
                self.tabs[tab]  # builds it, and it is followed
        others = (*Lesson.NAMES, *self._kept, "pin", "compare")
        loaded = from_fields({name: text for name, text in pairs if name not in others})
        self._reading = True
        try:
            self.state.replace(loaded.setting, loaded.accounting)
            pinned = self._pin(pairs)
            turned = [taken(owner, name, key, given.get(key), first) for key, (owner, name, first) in list(self._kept.items())]
        finally:
            self._reading = False
        problems = (*loaded.problems, *filter(None, turned), *pinned, *self.lesson.problems)
        if problems:
            self.state.note = "Of this address, " + "; ".join(map(in_symbols, problems))

    def _pin(self, pairs: list[tuple[str, str]]) -> list[str]:
        """Take over the pins. Returns what is wrong with them."""
        compare = dict(pairs).get("compare", "")
        known = not compare or compare in BOUNDS
        problems = self.pins.read([text for name, text in pairs if name == "pin"], compare if known else "")
        return problems + ([] if known else [f"compare = {compare[:40]!r} is not one of {', '.join(BOUNDS)}"])


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
            return f"{key} = {said!r} is not one of {', '.join(filter(None, parameter.objects))}"
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
