"""The explorer: controls, tabs and read-outs over one state."""

from collections.abc import Iterable, Iterator
from html import escape
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import panel as pn

from zoexplore import __version__
from zoexplore.run import paper
from zoexplore.run.setting import Accounting, Setting
from zoexplore.views.address import SETTABLE, Address, Bridge, Teaching
from zoexplore.views.panels.controls import Controls
from zoexplore.views.panels.readouts import Headline, More, Odds
from zoexplore.views.panels.story import Story
from zoexplore.views.panels.toolbar import Files, Toolbar
from zoexplore.views.pins import MOST_PINS, Pins
from zoexplore.views.preview import QUESTION
from zoexplore.views.state import State
from zoexplore.views.style import widgets
from zoexplore.views.style.widgets import details, link
from zoexplore.views.tabs import VIEWS, Tabs

_TITLE = "<p>zoexplore</p>"
ALONE = ("claims", "results")  # views that no control changes

_INVITE = """<h2>New here?</h2><p>You play the attacker, draw a curve, and leave with your own run.</p>"""
_COLOPHON = f"""<p>Mechanism and hidden-state theorem: {", ".join(paper.AUTHORS)},
{link(paper.URL, f"<i>{escape(paper.TITLE)}</i>")}, {paper.VENUE}, {paper.ARXIV}.
The sharper bound, the proofs and the errata are zoexplore's own: they open under Theory.</p>
<p>zoexplore {__version__}, {paper.LICENCE}.</p>
{details("How to cite", f'<pre tabindex="0" aria-label="BibTeX">{escape(paper.BIBTEX)}</pre>')}"""


def colophon() -> pn.Column:
    """The last lines of the page: the paper, citations, version and licence."""
    copy = widgets.copier("Copy BibTeX", paper.BIBTEX)
    return widgets.component("colophon", widgets.html(_COLOPHON, "colophon"), copy, sheet="foot")


class Explorer(pn.viewable.Viewer):
    """The whole page as one component, for `app.py` and for a notebook cell alike."""

    def __init__(
        self,
        setting: Setting | None = None,
        accounting: Accounting | None = None,
        search: str | None = None,
        staged: bool = False,
        **params: Any,
    ) -> None:
        """`search` is the query of the page's address, which follows the state.

        If `staged`, the caller runs `make`, so that a server can do other work between its stages.
        """
        super().__init__(**params)
        self.state, self.pins = State(setting, accounting), Pins()
        self.search, self.teaching = search, Teaching.of(search or "", VIEWS)
        for _ in () if staged else self.make():
            pass

    def make(self) -> Iterator[None]:
        """Make the controls, then the open view, then the rest."""
        self.controls = Controls(self.state, self.teaching)
        yield
        self.tabs = Tabs(self.state, pins=self.pins)
        yield
        search = self.search
        self.headline, self.odds, self.more = Headline(self.state), Odds(self.state), More(self.state)
        self.publish, self.curves = self.tabs["publish"], self.tabs["curves"]
        yield
        self.pin = widgets.button("Pin", lambda: self.pins.add(self.state))
        self.all_bounds = widgets.button("All bounds", self._turned, css_classes=["zx-button", "zx-fixed"])
        self._teach()
        self.story = Story(self.state, self.tabs, self.controls)
        self.publish.param.watch(self.story.drew, "yours")
        self.bridge = Bridge(visible=False, search=search) if search is not None else None
        turned = {"tab": (self.tabs, "selected"), "against": (self.curves, "along"), "hide": (self.curves.legend, "muted")}
        self._tells = not (self.teaching.show or self.teaching.html())  # a link for teaching replaces the story
        if self._tells:
            turned["story"] = self.story, "step"  # last, since it changes the others, too
        self.address = Address(self.state, self.bridge, self.teaching, turned, self.pins, self.tabs) if self.bridge else None
        if self.address:
            self.address.read(search or "")
        self._tools()
        self._follow()

    def save(self, path: str | Path = "lesson.html", sliders: Iterable[str] = ("sigma", "T", "K"), live: str = "") -> Path:
        """Write the run that is shown as a file that moves without a server, in its view; see `zoexplore.lesson`."""
        from zoexplore.views.lesson import page  # which draws with parts of this one

        turned = [("tab", self.tabs.selected), ("against", self.curves.along)]
        link = f"?{urlencode([*self.teaching.fields(), *turned])}"
        return page.save(path, page.html(self.state.setting, sliders, self.state.accounting, link, live))

    def _tools(self) -> None:
        self.tools = Toolbar(self.state, self.bridge, self.pins)
        self.pins.param.watch(self._pinned, "pins")
        self.controls.top = [self.tools.preset, self.tools.reset]
        self.files = Files(self.state, self.address.visit if self.address else None)
        tell = [widgets.button("Story", self._begin)] if self.bridge and self._tells else []
        self.tools.more = [*tell, self.files.toggle]
        begin, later = widgets.button("2-minute tour", self._begin, "primary"), widgets.button("Not now", self._met)
        self.invite = widgets.component("invite", widgets.html(_INVITE, "story"), widgets.tools(begin, later), sheet="prompt")
        self.invite.visible = False

    def _begin(self) -> None:
        self._met()
        self.story.go(1)

    def _met(self) -> None:
        """Invite this reader no more."""
        if self.bridge:
            self.bridge.met = True

    def _turned(self) -> None:
        self.tabs.selected = "publish" if self.tabs.selected == "curves" else "curves"
        if self.bridge:
            self.bridge.all = self.tabs.selected == "curves"

    def _pinned(self, event: Any) -> None:
        """Show the pins only beside the views that draw them."""
        self.pin.disabled = len(event.new) == MOST_PINS
        if len(event.new) > len(event.old) and self.tabs.selected == "publish" and "curves" in self.tabs.kept:
            self.tabs.selected = "curves"

    def _follow(self) -> None:
        """Show the number of the curve in view above the figure."""
        self.publish.param.watch(self._compare, ["publish", "only"])
        self.tabs.param.watch(self._compare, "selected")
        self.story.param.watch(self._compare, "step")
        if self.bridge:
            self.bridge.param.watch(self._returned, "returns")
            self.bridge.param.watch(self._compare, ["met", "ready"])
            self._returned()
        self._compare()

    def _returned(self, *_: Any) -> None:
        """Show all bounds again to a reader who viewed them last time, unless the address names a view."""
        asked = any(f"{name}=" in (self.search or "") for name in ("tab", "story", "show"))
        if self.bridge and self.bridge.returns and not asked and self.tabs.selected == "publish":
            self.tabs.selected = "curves"

    def _compare(self, *_: Any) -> None:
        two = self.tabs.selected == "publish"
        every = two and self.publish.publish == "every"
        with pn.io.hold():
            new = self.bridge and self.bridge.ready and not self.bridge.met and self._tells
            self.invite.visible = bool(new and two and not self.story.step)
            self.holder.visible = self.tabs.selected in ("publish", "curves")
            self.pin.visible = self.all_bounds.visible = not self.story.step
            self.more.fold.visible = self.holder.visible and not self.story.step
            self.publish.switch.visible = two
            self.all_bounds.label = "All bounds" if two else "Two curves"
            self.front.css_classes = ["zx-front", "zx-two" if two else "zx-all"]
            self.odds.by = by = "composition" if every else ""
            self.headline.param.update(by=by, compares=two and not self.publish.only)

    def _teach(self) -> None:
        """Keep the switch to the views that a link for teaching shows."""
        views = tuple(name for name in VIEWS if self.teaching.shows(name))
        self.curves.choice.visible = self.teaching.shows("axis")
        self.curves.legend.visible = self.teaching.shows("table")
        tools = [widgets.tools(self.pin, self.all_bounds)] if self.teaching.shows("tools") else []
        self.front = widgets.component("front", self.publish.switch, *tools, self.headline.number, self.odds.pane, sheet="front")
        self.holder = widgets.stack(self.front)  # hidden as a whole, since a grid's own style sheet would keep it visible
        if self.teaching.show and views:
            self.tabs.keep(views)

    def _prompt(self) -> pn.viewable.Viewable:
        """A link's prompts instead of the story; without controls also the errors of its address."""
        words = widgets.html(self.teaching.html(), "words", "story")
        notice = [] if self.teaching.shows(*SETTABLE) else [self.controls.notice]
        prompt = widgets.component("prompt", words, *notice, sheet="prompt")

        def show(*_: Any) -> None:
            prompt.visible = bool(words.object) or any(each.visible for each in notice)

        self.controls.notice.param.watch(show, "visible")
        show()
        return prompt

    def __panel__(self) -> pn.viewable.Viewable:
        shows = self.teaching.shows
        heading = [widgets.short(_TITLE, "title")] if shows("title") else []
        heading += [self.tabs.bar] if len(self.tabs.bar.titles) > 1 else []
        heading += [self.tools.__panel__()] if shows("tools") else []
        asks = widgets.html(f"<h1>{QUESTION}</h1>", "question")
        answer = [("title", asks), ("verdict", self.holder), ("tabs", self.tabs.__panel__()), ("table", self.more.fold)]
        alone = [] if shows(*VIEWS) or not shows("table") else [self.curves.legend]  # a link that shows numbers alone

        def area(name: str, parts: list[tuple[str, Any]]) -> list[pn.viewable.Viewable]:
            seen = [part for of, part in parts if shows(*VIEWS if of == "tabs" else (of,))]
            return [widgets.stack(*seen, css_classes=[f"zx-{name}"])] if seen else []

        header = [widgets.row("heading", *heading)] if heading else []
        invited = [self.invite] if self.bridge and self._tells else []
        controls = widgets.stack(self.controls.__panel__(), *invited, css_classes=["zx-controls"])  # hidden as a whole
        parts = widgets.component(
            "explorer",
            *([widgets.stack(*header, self.files.drawer, css_classes=["zx-header"])] if header else []),
            *([self._prompt()] if self.teaching.html() or not shows(*SETTABLE) else []),
            *([self.story.panel] if self.bridge and self._tells else []),
            *([controls] if shows(*SETTABLE) else []),
            *area("answer", answer),
            *([widgets.stack(*alone, css_classes=["zx-numbers"])] if alone else []),
            *([self.bridge] if self.bridge else []),
            sheet="explorer",
        )

        def narrow(*_: Any) -> None:
            alone = self.tabs.selected in ALONE
            controls.visible = not alone and self.controls.sole != "none"
            kinds = {"zx-teaching": self.teaching.show, "zx-story": self.story.step, "zx-alone": alone}
            parts.css_classes = ["zx-explorer", *(name for name, on in kinds.items() if on)]

        self.story.param.watch(narrow, "step")
        self.tabs.param.watch(narrow, "selected")
        narrow()
        last = colophon()
        last.visible = self.tabs.tab == "Theory"
        if self.bridge:  # a card opens without a server, as in a saved notebook
            batches = self.controls.dials["batch"].below.parts
            for closed in (*parts.select(pn.Card), self.files.drawer, self.story.panel, self.invite, batches, last):
                widgets.later(closed)
        # columns depend on the component's width, which in a notebook is not the window's
        self.tabs.param.watch(lambda _: last.param.update(visible=self.tabs.tab == "Theory"), "selected")
        return widgets.component("room", parts, last, sheet="room")
