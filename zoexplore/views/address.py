"""The page's address: a URL for every state, a state for every URL, and the bridge to the browser.

A link for teaching shows only parts of the page, and may lock controls.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, parse_qsl, urlencode

import panel as pn
import param

from zoexplore.questions.export import from_fields, to_fields
from zoexplore.run.formatting import format_exact, format_sentence, parse_number
from zoexplore.run.refusals import in_symbols
from zoexplore.run.setting import SETTING_FIELDS
from zoexplore.views.html import written
from zoexplore.views.pins import Pins
from zoexplore.views.state import OPTIONS, State

if TYPE_CHECKING:
    from zoexplore.views.panels.story import Story
    from zoexplore.views.tabs import Tabs

SETTABLE = (*SETTING_FIELDS, *OPTIONS)
PARTS = ("title", "tools", "verdict", "table", "axis")
MOST_SAID, LONGEST_SAID = 9, 300
# params set last, in this order: Bokeh cannot change the menus of a view that is about to open, and
# the story sets all other params
LAST = {"tab": 1, "story": 2}


@dataclass(frozen=True)
class Teaching:
    """What a link for teaching asks for: the shown parts (all if `show` is empty), the locked
    fields, and the prompts `say`.

    Each part is the name of a field, an option or a view, or one of the `PARTS`.
    """

    show: tuple[str, ...] = ()
    lock: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    say: tuple[str, ...] = ()

    NAMES = ("show", "lock", "say")

    @classmethod
    def of(cls, search: str, tabs: Iterable[str] = ("curves",)) -> "Teaching":
        """Read from an address's query what to show, lock and say; list unknown names in
        `problems`.
        """
        given = parse_qs(search.removeprefix("?"))
        known = {"show": (*PARTS, *tabs, *SETTABLE), "lock": SETTABLE}
        asked = {key: given.get(key, [""])[-1].split(",") for key in known}
        taken = {
            key: tuple(name for name in names if name in known[key]) for key, names in asked.items()
        }
        problems = (
            f"there is no {name[:40]!r} to {key}"
            for key, names in asked.items()
            for name in names
            if name and name not in known[key]
        )
        said = [" ".join(text.split())[:LONGEST_SAID] for text in given.get("say", [])]
        return cls(**taken, say=tuple(said[:MOST_SAID]), problems=tuple(problems))

    def shows(self, *names: str) -> bool:
        """Return whether any of the names is shown."""
        return not self.show or any(name in self.show for name in names)

    def fields(self) -> list[tuple[str, str]]:
        """Return the shown parts, locked fields and prompts as the key-value pairs of a query."""
        lists = ("show", ",".join(self.show)), ("lock", ",".join(self.lock))
        return [*(pair for pair in lists if pair[1]), *(("say", text) for text in self.say)]

    def html(self) -> str:
        """Return the prompts as HTML; number them if there are several."""
        return written("page", "prompts", self.say)


class Bridge(pn.custom.JSComponent):
    """The link to the browser: the server writes `search`, `heard` and `met`; the browser writes
    the other params, and `met` when it opens the page.

    A new `search` becomes an entry in the browser's history, unless `heard` is behind `visits`: the
    reader has then gone back or forward meanwhile.
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


# params by their names in an address: the owner, and the param's own name
Owners = dict[str, tuple[param.Parameterized, str]]


class Address:
    """Keeps the bridge's `search` and the state equal. Values of a slider before its release get no
    address.

    The address names a param of a view of `tabs` with the view's name before the param's own, as in
    `attack.fpr`. A link for teaching has no `story`. Of an address with invalid fields, the state
    takes the valid ones and reports the others in its `note`.
    """

    def __init__(
        self,
        state: State,
        bridge: Bridge,
        teaching: Teaching,
        pins: Pins,
        tabs: "Tabs",
        story: "Story | None" = None,
    ) -> None:
        self.state, self.bridge, self.teaching = state, bridge, teaching
        self.pins, self.tabs = pins, tabs
        # by name in the address: the param's owner, the param's own name, and its first value
        self._kept: dict[str, tuple[param.Parameterized, str, Any]] = {}
        curves: Any = tabs["curves"]
        self._keep(
            {
                "compare": (pins, "compare"),
                "tab": (tabs, "selected"),
                "against": (curves, "along"),
                "hide": (curves.legend, "muted"),
            }
            | ({"story": (story, "step")} if story else {})
        )
        tabs.param.watch(self._follow, "built")
        self._follow()
        pins.param.watch(self.write, "pins")
        self._reading = False  # going back must not add an entry
        # watched last, since a state's address opens the page in that state
        self.state.param.watch(self.write, ["setting", "accounting", "moving"], precedence=2)
        self.bridge.param.watch(self._visited, "visits")

    def _keep(self, views: Owners) -> None:
        """Keep the params of `views` in the address from now on; skip those kept already."""
        for key, (owner, name) in views.items():
            if key not in self._kept:
                self._kept[key] = owner, name, getattr(owner, name)
                owner.param.watch(self.write, name)

    def _follow(self, *_: Any) -> None:
        """Keep the params of the views built so far."""
        for tab, view in self.tabs.views.items():
            self._keep({f"{tab}.{name}": (view, name) for name in view.asks})

    def _visited(self, *_: Any) -> None:
        """Show the state that the reader went back or forward to. The browser already shows its
        address.
        """
        self.bridge.param.update(heard=self.bridge.visits, search=self.bridge.went)
        self.read(self.bridge.went)

    def write(self, *_: Any) -> None:
        """Give the browser the address of the state, unless a slider is still held."""
        if not (self.state.moving or self._reading):
            self.bridge.search = self.search()

    def search(self) -> str:
        """Return the state's query with its question mark; an empty text for the default state."""
        turned = [
            (key, text_of(getattr(owner, name)))
            for key, (owner, name, first) in self._kept.items()
            if getattr(owner, name) != first
        ]
        fields = to_fields(*self.state.run).items()
        pins = (("pin", pin.text()) for pin in self.pins.pins)
        pairs = [*self.teaching.fields(), *turned, *fields, *pins]
        return f"?{urlencode(pairs, safe=',:~')}" if pairs else ""

    def read(self, search: str) -> None:
        """Set the state from an address."""
        pairs = parse_qsl(search.removeprefix("?"), keep_blank_values=True)
        given = dict(pairs)
        for tab in {name.partition(".")[0] for name in given if "." in name}:
            if tab in self.tabs.kept:
                self.tabs[tab]  # builds the view, and follows its params
        others = (*Teaching.NAMES, *self._kept, "pin")
        loaded = from_fields({name: text for name, text in pairs if name not in others})
        self._reading = True
        try:
            # the story's end changes the whole page, so it comes first
            if "story" in self._kept and "story" not in given:
                self._turn("story", None)
            self.state.replace(loaded.setting, loaded.accounting)
            pinned = self.pins.read([text for name, text in pairs if name == "pin"])
            kept = sorted(self._kept, key=lambda key: LAST.get(key, 0))
            turned = [self._turn(key, given.get(key)) for key in kept]
        finally:
            self._reading = False
        problems = (*loaded.problems, *filter(None, turned), *pinned, *self.teaching.problems)
        if problems:
            first, *more = map(in_symbols, problems)
            self.state.note = f"In this link, {'. '.join([first, *map(format_sentence, more)])}."

    def _turn(self, key: str, asked: str | None) -> str:
        """Set a param from a text, or to its first value if the text is missing or invalid. Return
        the error if the text is invalid, else an empty text.
        """
        owner, name, first = self._kept[key]
        try:
            setattr(owner, name, first if asked is None else _value(owner.param[name], asked))
        except ValueError:
            setattr(owner, name, first)
            return f"{key} = {(asked or '')[:40]!r} is not allowed"
        return ""


def text_of(value: Any) -> str:
    """Return a param's value as an address writes it."""
    if isinstance(value, list):
        return ",".join(value)
    return value if isinstance(value, str) else format_exact(value)


def _value(parameter: param.Parameter, text: str) -> Any:
    """Return the value that a text stands for in a param. Raises ValueError if the text of a number
    is no number; the param itself refuses other values.
    """
    if isinstance(parameter, param.Number):
        return parse_number(text)
    if isinstance(parameter, param.Boolean):
        return {"True": True, "False": False}.get(text, text)
    return list(filter(None, text.split(","))) if isinstance(parameter, param.List) else text
