"""The explorer: controls, tabs and read-outs over one state."""

from collections.abc import Iterator
from html import escape
from typing import Any

import panel as pn

from zoexplore import __version__, paper
from zoexplore.setting import Accounting, Setting
from zoexplore.views.address import SETTABLE, Address, Bridge, Lesson
from zoexplore.views.figures.pins import Pinned
from zoexplore.views.panels.controls import Controls
from zoexplore.views.panels.readouts import AttackerSentence, Readouts, StatementCard
from zoexplore.views.panels.story import Story
from zoexplore.views.panels.toolbar import Files, Toolbar, presenter
from zoexplore.views.pins import Pins
from zoexplore.views.state import State
from zoexplore.views.style import widgets
from zoexplore.views.style.widgets import details, link
from zoexplore.views.tabs import VIEWS, Tabs

_TITLE = f"""<h1>zoexplore</h1>
<p>How private is a zeroth-order training run of which only the last iterate is released?
{link(paper.URL, paper.SHORT)}, made interactive.</p>"""


_COLOPHON = f"""<p>Mechanism and hidden-state theorem: {", ".join(paper.AUTHORS)},
{link(paper.URL, f"<i>{escape(paper.TITLE)}</i>")}, {paper.VENUE}, {paper.ARXIV}.
The sharper bound, the proofs and the errata are zoexplore's own: they open under Theory.</p>
<p>zoexplore {__version__}, {paper.LICENCE}.</p>
{details("How to cite", f'<pre tabindex="0" aria-label="BibTeX">{escape(paper.BIBTEX)}</pre>')}"""


def colophon() -> pn.Column:
    """A few lines at the end of the page: the paper, how to cite it and the software, its version and licence."""
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
        """`search` is the query of the page's address, which the state follows and is followed by.

        Where it is `staged`, `make` is yet to be called, so that a server can do other things between what takes long.
        """
        super().__init__(**params)
        self.state, self.pins = State(setting, accounting), Pins()
        self.search, self.lesson = search, Lesson.of(search or "", VIEWS)
        for _ in () if staged else self.make():
            pass

    def make(self) -> Iterator[None]:
        """Make the controls, then the view that is open, then the rest."""
        self.controls = Controls(self.state, self.lesson)
        yield
        self.tabs = Tabs(self.state, pins=self.pins, type_size=1.4 if self.lesson.present else 1.0)
        yield
        search = self.search
        self.readouts = Readouts(self.state)
        self.attacker, self.statement = AttackerSentence(self.state), StatementCard(self.state)
        self.curves = self.tabs["curves"]
        self.pinned = Pinned(self.state, pins=self.pins)
        self._teach()
        self.story = Story(self.state, self.tabs, self.controls, invites=search is not None and not search.strip("?"))
        self.story.param.watch(self._show_bound, "by")
        self.bridge = Bridge(visible=False) if search is not None else None
        turned = {"tab": (self.tabs, "selected"), "against": (self.curves, "along"), "hide": (self.curves.legend, "muted")}
        self._tells = not (self.lesson.show or self.lesson.html())  # a lesson is a story of its own
        if self._tells:
            turned["story"] = self.story, "step"  # last, since it turns the others, too
        self.address = Address(self.state, self.bridge, self.lesson, turned, self.pins, self.tabs) if self.bridge else None
        if self.address:
            self.address.read(search or "")
        self.tools = Toolbar(self.state, self.bridge, self.pins)
        self.files = Files(self.curves, page=self.bridge is not None)
        self.tools.more.append(self.files.toggle)
        if self.lesson.present:
            self.tools.more.append(presenter(present=True))
        self.dark = self.tools.dark
        self.dark.param.watch(lambda event: self.tabs.paint(event.new), "value")

    def _show_bound(self, event: Any) -> None:
        """Let the number above the figure, and what it means, be a bound's."""
        self.readouts.by = self.attacker.by = event.new

    def _teach(self) -> None:
        """Keep the switch to the views that a lesson shows."""
        views = [name for name in VIEWS if self.lesson.shows(name)]
        self.curves.choice.visible = self.lesson.shows("axis")
        if self.lesson.show and views:
            self.tabs.selected = views[0]
            self.tabs.param.selected.objects = views  # an address cannot turn to another one
            self.tabs.switch.options = {VIEWS[name][0]: name for name in views}
            self.tabs.switch.visible = len(views) > 1

    def _prompt(self) -> pn.viewable.Viewable:
        """What a lesson says, where the story else is; and what could not be used of its address, where there are no controls."""
        words = widgets.html(self.lesson.html(), "words", "story")
        notice = [] if self.lesson.shows(*SETTABLE) else [self.controls.notice]
        prompt = widgets.component("told", words, *notice, sheet="told")

        def show(*_: Any) -> None:
            prompt.visible = bool(words.object) or any(each.visible for each in notice)

        self.controls.notice.param.watch(show, "visible")
        show()
        return prompt

    def __panel__(self) -> pn.viewable.Viewable:
        shows = self.lesson.shows
        title = widgets.html(_TITLE, "title")
        heading = [part for of, part in (("title", title), ("tools", self.tools.__panel__())) if shows(of)]
        row = widgets.row("heading", *heading)
        header = [("title" if shows("title") else "tools", row), ("tools", self.files.drawer)]
        answer = [("verdict", self.readouts.verdict), ("verdict", self.attacker.pane), ("tabs", self.tabs.__panel__())]
        more = self.readouts.measures, self.readouts.fold, self.statement.fold
        numbers = [("table", part) for part in (self.readouts.table, *more)]

        def area(name: str, parts: list[tuple[str, Any]]) -> list[pn.viewable.Viewable]:
            seen = [part for of, part in parts if shows(*VIEWS if of == "tabs" else (of,))]
            return [widgets.stack(*seen, css_classes=[f"zx-{name}"])] if seen else []

        parts = widgets.component(
            "explorer",
            *area("header", header),
            *([self._prompt()] if self.lesson.html() or not shows(*SETTABLE) else []),
            *([self.story.panel] if self.bridge and self._tells else []),
            *([self.controls.__panel__()] if shows(*SETTABLE) else []),
            *area("answer", answer),
            *area("numbers", numbers),
            *([self.pinned.board] if shows("pins") else []),
            *([self.bridge] if self.bridge else []),
            sheet="explorer",
        )

        def narrow(*_: Any) -> None:
            kinds = {"zx-lesson": self.lesson.show, "zx-story": self.story.step, "zx-present": self.lesson.present}
            parts.css_classes = ["zx-explorer", *(name for name, on in kinds.items() if on)]

        self.story.param.watch(narrow, "step")
        narrow()
        if self.bridge:  # in a notebook that is saved as it is, a card opens without a server
            for closed in (*parts.select(pn.Card), self.files.drawer, self.story.panel, self.pinned.board):
                widgets.later(closed)
        # what fits side by side depends on the width that there is, which in a notebook is not the window's
        foot = [] if self.lesson.present else [colophon()]
        return widgets.component("room", parts, *foot, sheet="room")
