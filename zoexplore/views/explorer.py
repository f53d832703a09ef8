"""The explorer: controls, tabs and read-outs over one state."""

from collections.abc import Iterable, Iterator
from html import escape
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import panel as pn

from zoexplore import __version__
from zoexplore.questions.statement import in_a_line
from zoexplore.run import paper
from zoexplore.run.setting import Accounting, Setting
from zoexplore.views.address import SETTABLE, Address, Bridge, Teaching
from zoexplore.views.panels.controls import Controls
from zoexplore.views.panels.readouts import Headline, More, Warnings
from zoexplore.views.panels.story import Story
from zoexplore.views.panels.toolbar import Files, Toolbar
from zoexplore.views.pins import MOST_PINS, Pins
from zoexplore.views.preview import QUESTION
from zoexplore.views.state import State
from zoexplore.views.style import widgets
from zoexplore.views.style.widgets import link
from zoexplore.views.tabs import VIEWS, Tabs

_TITLE = "<p>zoexplore</p>"
# what a notebook says that is shown without scripts and styles, such as an untrusted one
_UNSEEN = """<p class="zx-unseen"><b>The explorer of a run</b> ({run}) needs scripts: trust this notebook, or run its cells.</p>
<style>.zx-unseen {{ display: none; }}</style>"""
ALONE = ("claims", "results")  # views that no control changes

_COLOPHON = f"""<p>Mechanism and hidden-state theorem: {", ".join(paper.AUTHORS)},
{link(paper.URL, f"<i>{escape(paper.TITLE)}</i>")}, {paper.VENUE}, {paper.ARXIV}.
The sharper bound, the proofs and the errata are zoexplore's own: they open under Theory.</p>
<p>zoexplore {__version__}, {paper.LICENCE}.</p>
<details><summary>How to cite</summary><pre tabindex="0" aria-label="BibTeX">{escape(paper.BIBTEX)}</pre></details>"""


def colophon() -> pn.Column:
    """Return the last lines of the page: the paper, citations, version and licence."""
    copy = widgets.copier("Copy BibTeX", paper.BIBTEX)
    return widgets.component("colophon", widgets.html(_COLOPHON, "colophon"), copy, sheet="foot")


class Explorer(pn.viewable.Viewer):
    """The whole page as one component, for `app.py` and for notebook cells."""

    def __init__(
        self,
        setting: Setting | None = None,
        accounting: Accounting | None = None,
        search: str | None = None,
        staged: bool = False,
    ) -> None:
        """Take the query of the page's address as `search`; without it there is no address to keep.

        If `staged`, the caller runs `make`, so that a server can do other work between its stages.
        """
        super().__init__()
        self.state, self.pins = State(setting, accounting), Pins()
        self.search, self.teaching = search, Teaching.of(search or "", VIEWS)
        for _ in () if staged else self.make():
            pass

    def make(self) -> Iterator[None]:
        """Make the page in stages: the controls, the tabs with the open view, then the rest."""
        state, shows = self.state, self.teaching.shows
        self.controls = Controls(state, self.teaching)
        yield
        self.tabs = Tabs(state, pins=self.pins)
        yield
        self.headline, self.more = Headline(state), More(state)
        self.publish, self.curves = self.tabs["publish"], self.tabs["curves"]
        yield
        self.curves.choice.visible, self.curves.legend.visible = shows("axis"), shows("table")
        if self.teaching.show and (views := tuple(filter(shows, VIEWS))):
            self.tabs.keep(views)
        self.story = Story(state, self.tabs, self.controls)
        self.bridge = Bridge(visible=False, search=self.search) if self.search is not None else None
        # a link for teaching has no story
        self._tells = bool(self.bridge) and not (self.teaching.show or self.teaching.html())
        self.address = None
        if self.bridge:
            story = self.story if self._tells else None
            self.address = Address(state, self.bridge, self.teaching, self.pins, self.tabs, story)
            self.address.read(self.bridge.search)
        self._tools()
        self.whole = self._laid_out()
        self.pins.param.watch(self._pinned, "pins")
        watched: dict[Any, list[str]] = {
            self.publish: ["publish", "only"],
            self.tabs: ["selected"],
            self.story: ["step"],
            self.controls.notice: ["visible"],
            **({self.bridge: ["met", "ready"]} if self.bridge else {}),
        }
        for owner, names in watched.items():
            owner.param.watch(self._fit, names)
        self._fit()
        # parts made later need a server, which a saved notebook lacks
        if self.bridge:
            closed = self.files.drawer, self.story.panel, self.invite, self.controls.drawn
            for each in (*self.parts.select(pn.Card), *closed, self.prompt, self.last):
                widgets.later(each)

    def save(
        self,
        path: str | Path = "lesson.html",
        sliders: Iterable[str] = ("sigma", "T", "K"),
        live: str = "",
    ) -> Path:
        """Write the current run and view as an interactive file that needs no server. The arguments
        are those of `zoexplore.lesson`.
        """
        from zoexplore import lesson  # imported late, because it uses parts of this module

        turned = [("tab", self.tabs.selected), ("against", self.curves.along)]
        link = f"?{urlencode([*self.teaching.fields(), *turned])}"
        run, accounting = self.state.run
        return lesson(run, sliders, path, accounting=accounting, link=link, live=live)

    def _tools(self) -> None:
        self.pin = widgets.button("Pin", lambda: self.pins.add(self.state))
        fixed = ["zx-button", "zx-fixed"]
        self.all_bounds = widgets.button("All bounds", self._turned, css_classes=fixed)
        self.tools, self.files = Toolbar(self.state, self.bridge, self.pins), Files(self.state)
        self.controls.top.objects = [self.tools.preset, self.tools.reset]
        story = [widgets.button("Story", self._begin)] if self._tells else []
        self.tools.more = [*story, self.files.toggle]
        begin = widgets.button("Take the tour", self._begin, "primary")
        invited = widgets.tools(begin, widgets.button("Later", self._met))
        new = widgets.html("<h2>New here?</h2>", "story")
        # the row is in a stack because the row's own style sheet would keep it visible
        self.invite = widgets.stack(widgets.row("invite", new, invited))

    def _begin(self) -> None:
        self._met()
        self.story.go(1)

    def _met(self) -> None:
        """Stop inviting the reader."""
        if self.bridge:
            self.bridge.met = True

    def _turned(self) -> None:
        self.tabs.selected = "publish" if self.tabs.selected == "curves" else "curves"

    def _pinned(self, event: Any) -> None:
        """Show a new pin in the view that draws it."""
        self.pin.disabled = len(event.new) == MOST_PINS
        shown = self.tabs.selected == "publish" and "curves" in self.tabs.kept
        if len(event.new) > len(event.old) and shown:
            self.tabs.selected = "curves"

    def _fit(self, *_: Any) -> None:
        """Show what belongs to the current view and step, and hide the rest."""
        view, told = self.tabs.selected, bool(self.story.step)
        two, alone, notice = view == "publish", view in ALONE, self.controls.notice
        new = self.bridge and self.bridge.ready and not self.bridge.met
        with pn.io.hold():
            self.invite.visible = bool(new and self._tells and two and not told)
            self.holder.visible = view in ("publish", "curves")
            self.pin.visible = self.all_bounds.visible = not told
            self.more.fold.visible = self.holder.visible and not told
            self.publish.switch.visible = two
            self.all_bounds.label = "All bounds" if two else "Two curves"
            self.front.css_classes = ["zx-front", "zx-two" if two else "zx-all"]
            by = "composition" if two and self.publish.publish == "every" else ""
            self.headline.param.update(by=by, compares=two and not self.publish.only)
            self.more.by = by
            self.last.visible = self.tabs.tab == "Theory"
            self.side.visible = not alone and self.controls.sole != "none"
            unsaid = (
                notice.visible and not told and not (self.side in self.parts and self.side.visible)
            )
            self.prompt.visible = bool(self.teaching.say) or unsaid
            kinds = {"zx-teaching": self.teaching.show, "zx-story": told, "zx-alone": alone}
            self.parts.css_classes = ["zx-explorer", *(name for name, on in kinds.items() if on)]

    def _laid_out(self) -> pn.viewable.Viewable:
        """Lay out all parts that a link for teaching shows."""
        shows, bar, stack = self.teaching.shows, self.tabs.bar, widgets.stack
        told = widgets.html(self.teaching.html(), "words", "story", visible=bool(self.teaching.say))
        self.last = colophon()
        switches = [widgets.tools(self.pin, self.all_bounds)] if shows("tools") else []
        number = self.headline.number, self.headline.odds
        self.front = widgets.component(
            "front", self.publish.switch, *switches, *number, sheet="front"
        )
        # each part is in a stack because a grid's own style sheet would keep it visible
        self.holder = stack(self.front)
        self.side = stack(self.controls.whole, css_classes=["zx-controls"])
        # a link's prompts, and the controls' notice if no control is shown
        self.prompt = widgets.component("told", told, self.controls.notice, sheet="prompt")
        heading = _kept(
            {
                widgets.short(_TITLE, "title"): shows("title"),
                bar: len(bar.titles) > 1,
                self.tools.__panel__(): shows("tools"),
            }
        )
        question = widgets.html(f"<h1>{QUESTION}</h1>", "question")
        answer = _kept(
            {
                widgets.row("asking", question, self.invite): shows("title"),
                self.holder: shows("verdict"),
                self.tabs.__panel__(): shows(*VIEWS),
                self.more.fold: shows("table"),
                self.curves.legend: shows("table") and not shows(*VIEWS),
            }
        )
        header = widgets.row("heading", *heading), self.files.drawer
        rows = _kept(
            {
                stack(*header, css_classes=["zx-header"]): heading,
                self.prompt: True,
                self.story.panel: self._tells,
                self.side: shows(*SETTABLE),
                stack(Warnings(self.state), *answer, css_classes=["zx-answer"]): answer,
                self.bridge: self.bridge,
            }
        )
        self.parts = widgets.component("explorer", *rows, sheet="explorer")
        # the columns depend on the component's width, which differs from the window's in a notebook
        return widgets.component("room", self.parts, self.last, sheet="room")

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> Any:
        """Return a cell's output to Jupyter: Panel's own, after words that remain if a notebook
        drops Panel's output.
        """
        found = super()._repr_mimebundle_(include, exclude)
        if found and "text/html" in found[0]:
            words = _UNSEEN.format(run=escape(in_a_line(self.state.setting)))
            found[0]["text/html"] = words + found[0]["text/html"]
        return found

    def __panel__(self) -> pn.viewable.Viewable:
        return self.whole


def _kept(parts: dict[Any, Any]) -> list[Any]:
    """Return the shown parts in order."""
    return [part for part, shown in parts.items() if shown]
