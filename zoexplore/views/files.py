"""Files: the curves and the setting to keep, a setting to load, and code that reproduces the numbers."""

from html import escape
from io import StringIO
from typing import Any

import panel as pn

from zoexplore.export import LARGEST_FILE, from_yaml, to_csv, to_python, to_yaml
from zoexplore.views import theme
from zoexplore.views.curves import Curves
from zoexplore.views.toolbar import copier
from zoexplore.views.trace import trace


class Files(pn.viewable.Viewer):
    """A drawer of downloads, an upload and a snippet; `toggle` opens it. Pictures are saved below the figures."""

    def __init__(self, curves: Curves, **params: Any) -> None:
        super().__init__(**params)
        self.curves = curves
        self.state = curves.state
        look = {"css_classes": ["zx-button"], "stylesheets": [theme.css("button")], "margin": 0}
        self.toggle = pn.widgets.Toggle(label="Export", **look)
        self.downloads = [
            pn.widgets.FileDownload(
                label=text.__name__.upper(), filename=f"zoexplore.{text.__name__}",
                callback=lambda text=text: StringIO(text()), icon=None, **look,
            )
            for text in (self.csv, self.yaml)
        ]  # fmt: skip
        self.upload = pn.widgets.FileInput(
            accept=".yaml,.yml,.txt", tags=["load a setting from a YAML file", LARGEST_FILE],
            stylesheets=[theme.css("upload")], margin=0,
        )  # fmt: skip
        self.upload.param.watch(self._load, "value")
        self.code = pn.pane.HTML("", stylesheets=[theme.css("text", "code")], **theme.STRETCH)
        self.copy = copier("Copy code", "#")
        self.drawer = self._drawer()
        self.toggle.param.watch(self._open, "value")
        self.state.param.watch(self._write, ["setting", "accounting", "moving"])

    def csv(self) -> str:
        """The curves, along the field that they run over."""
        setting, accounting, along = self.state.setting, self.state.accounting, self.curves.along
        return to_csv(setting, accounting, along, trace(setting, accounting, along).values)

    def yaml(self) -> str:
        """The setting."""
        return to_yaml(self.state.setting, self.state.accounting)

    def _load(self, event: Any) -> None:
        if not event.new:
            return
        loaded = from_yaml(event.new.decode("utf-8", "replace"))
        if loaded.read:
            self.state.replace(loaded.setting, loaded.accounting)
        said = "; ".join(loaded.problems)
        self.state.note = f"Of this file, {said}" if said else f"Loaded {self.upload.filename or 'the file'}."

    def _open(self, *_: Any) -> None:
        self._write()
        self.drawer.visible = self.toggle.value

    def _write(self, *_: Any) -> None:
        if self.toggle.value and not self.state.moving:
            code = to_python(self.state.setting, self.state.accounting)
            self.code.object = f'<pre tabindex="0" aria-label="Python code">{escape(code)}</pre>'
            self.copy.tags = [code]

    def _drawer(self) -> pn.Column:
        def words(text: str) -> pn.pane.HTML:
            return pn.pane.HTML(f'<p class="label">{text}</p>', stylesheets=[theme.css("text", "beside")], margin=0)

        row = {"css_classes": ["zx-tools"], "stylesheets": [theme.css("tools")], "margin": 0}
        return pn.Column(
            pn.Row(
                words("the curves"), self.downloads[0], words("the setting"), self.downloads[1],
                words("load a setting"), self.upload, words("pictures: below each figure"), **row,
            ),
            pn.Row(words("Python that prints these numbers"), self.copy, **row),
            self.code,
            visible=False,
            css_classes=["zx-files"],
            stylesheets=[theme.root("files")],
            **theme.STRETCH,
        )  # fmt: skip

    def __panel__(self) -> pn.viewable.Viewable:
        return pn.Column(self.toggle, self.drawer, **theme.STRETCH)
