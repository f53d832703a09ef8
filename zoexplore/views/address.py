"""The address: a URL for every state, a state for every URL, and the bridge to the browser; and
links for teaching, which show parts of the page and lock controls.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, parse_qsl, urlencode

import panel as pn
import param

from zoexplore.questions.export import from_fields, to_fields
from zoexplore.run.fields import in_symbols
from zoexplore.run.formatting import format_exact, format_sentence, parse_number
from zoexplore.run.setting import SETTING_FIELDS
from zoexplore.views.html import written
from zoexplore.views.pins import Pins
from zoexplore.views.state import OPTIONS, State

if TYPE_CHECKING:
    from zoexplore.views.tabs import Tabs

LONGEST_QUERY = 2000  # characters of a query that every browser, mail and chat accepts
SETTABLE = (*SETTING_FIELDS, *OPTIONS)
PARTS = ("title", "tools", "verdict", "table", "axis")
MOST_SAID, LONGEST_SAID = 9, 300
# Bokeh cannot change a menu of a view that is on its way to the page; the story changes all others
LAST = {"tab": 1, "story": 2}


@dataclass(frozen=True)
class Teaching:
    """The parts on show (all where `show` is empty), the locked fields, and the prompts.

    Names are those of fields and options of a setting, of tabs, and of `PARTS`.
    """

    show: tuple[str, ...] = ()
    lock: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    say: tuple[str, ...] = ()

    NAMES = ("show", "lock", "say")

    @classmethod
    def of(cls, search: str, tabs: Iterable[str] = ("curves",)) -> "Teaching":
        """What an address's query shows and locks. Unknown names are ignored and reported."""
        given = parse_qs(search.removeprefix("?"))
        said = [" ".join(text.split())[:LONGEST_SAID] for text in given.get("say", [])]
        known = {"show": (*PARTS, *tabs, *SETTABLE), "lock": SETTABLE}
        taken, problems = {}, []
        for key, names in known.items():
            asked = [name for name in given.get(key, [""])[-1].split(",") if name]
            taken[key] = tuple(name for name in asked if name in names)
            problems += [
                f"there is no {name[:40]!r} to {key}" for name in asked if name not in names
            ]
        if len(said) > MOST_SAID:
            problems.append(f"only the first {MOST_SAID} prompts are shown")
        return cls(**taken, say=tuple(said[:MOST_SAID]), problems=tuple(problems))

    def shows(self, *names: str) -> bool:
        """Whether any of these names is shown."""
        return not self.show or any(name in self.show for name in names)

    def fields(self) -> list[tuple[str, str]]:
        """These as pairs of a query."""
        lists = ("show", ",".join(self.show)), ("lock", ",".join(self.lock))
        return [*(pair for pair in lists if pair[1]), *(("say", text) for text in self.say)]

    def html(self) -> str:
        """The prompts, several as numbered steps."""
        return written("page", "prompts", self.say)


class Bridge(pn.custom.JSComponent):
    """The page writes `search` and `heard`, the browser the other params, so that no param has two
    writers.

    A new `search` becomes an entry in the browser's history, unless `heard` shows that the reader
    has gone elsewhere meanwhile.
    """

    search = param.String("", doc="the query of the page's address, with its question mark")
    heard = param.Integer(0, doc="of how many steps back or forth the page knows")
    went = param.String("", doc="the query that the last of them led to")
    visits = param.Integer(0, doc="how often the reader has gone back or forth")
    met = param.Boolean(False, doc="whether this browser's reader has been invited to the story")
    scheme = param.String(
        "",
        doc="the colour scheme that this browser was last used with, or else prefers: dark or light",
    )
    ready = param.Boolean(False, doc="whether a browser is there")

    _esm = Path(__file__).parent / "bridge.js"


# by its name in an address: whose param, and which
Owners = dict[str, tuple[param.Parameterized, str]]


class Address:
    """Keeps the bridge's `search` and the state equal. A slider's values before its release have no
    address.

    `views` are further params in the address, by name; params of one of the `tabs` have its name
    before their own, as in `attack.fpr`. The state's `note` reports invalid fields of an address,
    and the rest is used.
    """

    def __init__(
        self,
        state: State,
        bridge: Bridge,
        teaching: Teaching,
        views: Owners,
        pins: Pins,
        tabs: "Tabs | None" = None,
    ) -> None:
        self.state, self.bridge, self.teaching = state, bridge, teaching
        self.pins, self.tabs = pins, tabs
        # by name in the address: the param and its first value
        self._kept: dict[str, tuple[param.Parameterized, str, Any]] = {}
        self._keep(views)
        if tabs:
            tabs.param.watch(self._follow, "built")
            self._follow()
        self.pins.param.watch(self.write, ["pins", "compare"])
        self._reading = False  # going back must not add an entry
        # last: a state's address opens the page in that state
        self.state.param.watch(self.write, ["setting", "accounting", "moving"], precedence=2)
        self.bridge.param.watch(self._visited, "visits")

    def _keep(self, views: Owners) -> None:
        """Keep params in the address from now on, unless they are there already."""
        for key, (owner, name) in views.items():
            if key not in self._kept:
                self._kept[key] = owner, name, getattr(owner, name)
                owner.param.watch(self.write, name)

    def _follow(self, *_: Any) -> None:
        """Keep the params of the views built so far."""
        for tab, view in self.tabs.views.items() if self.tabs else ():
            self._keep({f"{tab}.{name}": (view, name) for name in view.asks})

    def _visited(self, *_: Any) -> None:
        """Show the state that the reader went back or forward to, whose address the browser already
        has.
        """
        self.bridge.param.update(heard=self.bridge.visits, search=self.bridge.went)
        self.read(self.bridge.went)

    def write(self, *_: Any) -> None:
        """Give the browser the address of the state, unless a slider is still held."""
        if not (self.state.moving or self._reading):
            self.bridge.search = self.search()

    def search(self) -> str:
        """The query of the state with its question mark; empty for the default."""
        fields = to_fields(*self.state.run)
        kept = (
            (key, getattr(owner, name), first) for key, (owner, name, first) in self._kept.items()
        )
        turned = [(key, text_of(value)) for key, value, first in kept if value != first]
        pairs = [*self.teaching.fields(), *turned, *fields.items()]
        query = _query([*pairs, *self.pins.fields()])
        if len(query) > LONGEST_QUERY:
            query = _query(pairs)
            self.state.note = "The pins are too long for an address: a link leaves them out."
        return query

    def read(self, search: str) -> None:
        """Set the state from an address."""
        pairs = parse_qsl(search.removeprefix("?"), keep_blank_values=True)
        given = dict(pairs)
        for tab in self.tabs.kept if self.tabs else ():
            if self.tabs and any(name.startswith(f"{tab}.") for name in given):
                self.tabs[tab]  # builds the view, and follows its params
        others = (*Teaching.NAMES, *self._kept, "pin", "compare")
        fields = {name: text for name, text in pairs if name not in others}
        loaded = from_fields(fields)
        self._reading = True
        try:
            # its end changes the whole page, so it comes first
            if "story" in self._kept and "story" not in given:
                owner, name, first = self._kept["story"]
                setattr(owner, name, first)
            self.state.replace(loaded.setting, loaded.accounting)
            pinned = self.pins.read(
                [text for name, text in pairs if name == "pin"], given.get("compare", "")
            )
            kept = sorted(self._kept.items(), key=lambda each: LAST.get(each[0], 0))
            turned = [
                taken(owner, name, key, given.get(key), first) for key, (owner, name, first) in kept
            ]
        finally:
            self._reading = False
        problems = (*loaded.problems, *filter(None, turned), *pinned, *self.teaching.problems)
        if problems:
            first, *more = map(in_symbols, problems)
            self.state.note = f"In this link, {'. '.join([first, *map(format_sentence, more)])}."


def text_of(value: Any) -> str:
    """A param's value in an address."""
    return (
        ",".join(value)
        if isinstance(value, list)
        else value
        if isinstance(value, str)
        else format_exact(value)
    )


def taken(owner: param.Parameterized, name: str, key: str, asked: str | None, first: Any) -> str:
    """Set a param from a text, or to `first` if the text is missing or invalid. Returns the text's
    error.
    """
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
    """The value of a text for a param. Raises ValueError if it has none."""
    if isinstance(parameter, param.Number):
        return parse_number(text)
    if isinstance(parameter, param.Boolean):
        return {"True": True, "False": False}.get(text, text)
    return list(filter(None, text.split(","))) if isinstance(parameter, param.List) else text


def _query(pairs: list[tuple[str, str]]) -> str:
    """Pairs as a query, with the question mark."""
    return f"?{urlencode(pairs, safe=',:~')}" if pairs else ""
