"""Files: the curves and the setting to keep, a setting to load, and code that reproduces the numbers."""

import os
from collections.abc import Awaitable, Callable
from functools import partial
from html import escape
from io import StringIO
from typing import Any

import panel as pn

from zoexplore.export import LARGEST_FILE, from_yaml, to_notebook, to_python, to_yaml
from zoexplore.views.compute.ask import ask
from zoexplore.views.compute.curve_set import csv
from zoexplore.views.compute.task import Task
from zoexplore.views.figures.curves import Curves
from zoexplore.views.panels.toolbar import copier
from zoexplore.views.server.headers import FRAMES
from zoexplore.views.style import theme

_PRESENT = """
const there = new URL(window.location.href);
if (ON) there.searchParams.set("present", "1"); else there.searchParams.delete("present");
window.location.assign(there);
"""
_FRAME = """
const to = window.location.href.replaceAll("&", "&amp;").replaceAll('"', "%22");
button.tags = [`<iframe src="${to}" title="zoexplore" width="100%" height="640" loading="lazy"></iframe>`];
"""


def presenter(present: bool) -> pn.widgets.Button:
    """A button that opens the page as it is in large type for a lecture hall, or in ordinary type if that is how it is."""
    look = {"css_classes": ["zx-button"], "stylesheets": [theme.css("button")], "margin": 0}
    button = pn.widgets.Button(label="Ordinary type" if present else "Present", **look)
    button.js_on_click(code=_PRESENT.replace("ON", "false" if present else "true"))
    return button


def framer() -> pn.widgets.Button:
    """A button that copies a line of HTML which shows the page as it is within another."""
    return copier("Copy frame", "#", before=_FRAME)


class Files(pn.viewable.Viewer):
    """A drawer of downloads, an upload and a snippet; `toggle` opens it. Pictures are saved below the figures.

    Where it is part of a `page` with an address, that can be shown in large type or in a frame, too.
    """

    def __init__(self, curves: Curves, page: bool = False, **params: Any) -> None:
        super().__init__(**params)
        self.page = page
        self.curves = curves
        self.state = curves.state
        look = {"css_classes": ["zx-button"], "stylesheets": [theme.css("button")], "margin": 0}
        self.toggle = pn.widgets.Toggle(label="Export", **look)
        self.downloads = [
            pn.widgets.FileDownload(
                label=text.__name__.upper(), filename=f"zoexplore.{text.__name__}",
                callback=partial(_file, text), icon=None, **look,
            )
            for text in (self.csv, self.yaml, self.ipynb)
        ]  # fmt: skip
        self.upload = pn.widgets.FileInput(
            accept=".yaml,.yml,.txt", tags=["load a setting from a YAML file", LARGEST_FILE],
            stylesheets=[theme.css("upload")], margin=0,
        )  # fmt: skip
        self.upload.param.watch(self._given, "value")
        self.code = pn.pane.HTML("", stylesheets=[theme.css("text", "code")], **theme.STRETCH)
        self.copy = copier("Copy code", "#")
        self._writing: Task | None = None
        self.drawer = self._drawer()
        self.toggle.param.watch(self._open, "value")
        self.state.param.watch(self._write, ["setting", "accounting", "moving"])

    async def csv(self) -> str:
        """The curves, along the field that they run over."""
        return await ask(csv, self.state.setting, self.state.accounting, self.curves.along)

    async def yaml(self) -> str:
        """The setting."""
        return to_yaml(self.state.setting, self.state.accounting)

    async def ipynb(self) -> str:
        """A notebook of the setting."""
        return await ask(to_notebook, self.state.setting, self.state.accounting)

    def _given(self, event: Any) -> None:
        if event.new:
            Task(partial(self._load, event.new.decode("utf-8", "replace")))

    async def _load(self, text: str) -> None:
        loaded = await ask(from_yaml, text)
        said = "; ".join(loaded.problems)
        if loaded.read:
            self.state.replace(loaded.setting, loaded.accounting)
            self.state.note = f"Of this file, {said}" if said else f"Loaded {self.upload.filename or 'the file'}."
        else:
            self.state.note = f"Of this file, {said}; nothing of it can be used, and nothing was changed"

    def _open(self, *_: Any) -> None:
        self._write()
        self.drawer.visible = self.toggle.value

    def _write(self, *_: Any) -> None:
        if self._writing:
            self._writing.stop()
        if self.toggle.value and not self.state.moving:
            self._writing = Task(self._write_code)

    async def _write_code(self) -> None:
        code = await ask(to_python, self.state.setting, self.state.accounting)
        self.code.object = f'<pre tabindex="0" aria-label="Python code">{escape(code)}</pre>'
        self.copy.tags = [code]

    def _drawer(self) -> pn.Column:
        def words(text: str) -> pn.pane.HTML:
            return pn.pane.HTML(f'<p class="label">{text}</p>', stylesheets=[theme.css("text", "beside")], margin=0)

        row = {"css_classes": ["zx-tools"], "stylesheets": [theme.css("tools")], "margin": 0}
        return pn.Column(
            pn.Row(
                words("the curves"), self.downloads[0], words("the setting"), self.downloads[1],
                words("a notebook"), self.downloads[2],
                words("load a setting"), self.upload, words("pictures: below each figure"), **row,
            ),
            *([self._elsewhere(words, row)] if self.page else []),
            pn.Row(words("Python that prints these numbers"), self.copy, **row),
            self.code,
            visible=False,
            css_classes=["zx-files"],
            stylesheets=[theme.root("files")],
            **theme.STRETCH,
        )  # fmt: skip

    def _elsewhere(self, words: Callable[[str], pn.pane.HTML], row: dict[str, Any]) -> pn.Row:
        """The page in a lecture hall, and within another page."""
        allowed = os.environ.get(FRAMES, "")
        where = f"for a page of {escape(allowed)}" if allowed else f"for another page, once {FRAMES} allows it here"
        return pn.Row(words("for a lecture, in large type"), presenter(present=False), words(where), framer(), **row)

    def __panel__(self) -> pn.viewable.Viewable:
        return pn.Column(self.toggle, self.drawer, **theme.STRETCH)


async def _file(text: Callable[[], Awaitable[str]]) -> StringIO:
    return StringIO(await text())
