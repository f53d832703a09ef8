"""The toolbar: presets, reset, a link to the page's state and the colour scheme; and a drawer with
the run as a file and as code.
"""

from html import escape
from io import StringIO
from typing import Any

import panel as pn

from zoexplore.compute.ask import ask
from zoexplore.questions.export import to_python, to_yaml
from zoexplore.run.presets import PRESETS
from zoexplore.views.address import Bridge
from zoexplore.views.pins import Pins
from zoexplore.views.state import State
from zoexplore.views.style import stylesheets, widgets
from zoexplore.views.view import View

_SCHEME = (
    "document.documentElement.style.setProperty('--zx-scheme', cb_obj.active ? 'dark' : 'light')"
)


class Toolbar(pn.viewable.Viewer):
    """Presets and reset. With a `bridge` to a browser, also a button that copies the link, and a
    switch between light and dark.
    """

    def __init__(
        self,
        state: State | None = None,
        bridge: Bridge | None = None,
        pins: Pins | None = None,
        **params: Any,
    ) -> None:
        super().__init__(**params)
        self.state, self.bridge, self.pins = state or State(), bridge, pins or Pins()
        presets = {"Presets": "", **{preset.name: key for key, preset in PRESETS.items()}}
        look = widgets.look("preset", "arrow", **stylesheets.STRETCH)
        self.preset = pn.widgets.Select(options=presets, tags=["preset"], **look)
        widgets.mirror(self.preset, self.state, self._shown, self._picked)
        self.reset = widgets.button("Reset", self._start_over)
        self.link = widgets.copier("Copy link") if bridge else None
        self.more: list[pn.viewable.Viewable] = []  # further buttons before the link
        dark = {"tags": ["dark colours"], "css_classes": ["zx-button", "zx-scheme"]}
        self.dark = pn.widgets.Toggle(label="◐", **widgets.look("button", margin=0) | dark)
        self.dark.jscallback(active=_SCHEME)
        # once the browser reports the scheme that it last used or else prefers, the page takes it
        if bridge:
            bridge.param.watch(
                lambda event: self.dark.param.update(value=event.new == "dark"), "scheme"
            )

    def apply(self, key: str) -> None:
        """Apply a preset, and show its sentence."""
        preset = PRESETS[key]
        self.state.replace(preset.setting, preset.accounting)
        self.pins.follow(preset)
        self.state.note = preset.summary

    def _start_over(self) -> None:
        self.pins.param.update(pins=[], compare="")
        self.apply("training")

    def _picked(self, key: str) -> None:
        if key:
            self.apply(key)

    def _shown(self) -> dict[str, str]:
        """Return the key of a preset that equals the current run, or an empty text. If several are
        equal, the selected one stays; otherwise the first is taken.
        """
        now = self.state.run
        same = [key for key, p in PRESETS.items() if (p.setting, p.accounting) == now] or [""]
        return {"value": self.preset.value if self.preset.value in same else same[0]}

    def __panel__(self) -> pn.viewable.Viewable:
        # without a bridge, as in a notebook, there is no link to copy, and everything is light
        tools = [self.link, self.dark] if self.link else []
        return widgets.tools(*self.more, *tools)


class Files(View):
    """A drawer with the run as YAML and as code; `toggle` opens it."""

    precedence = 2

    def build(self) -> None:
        self.active = False
        self.toggle = pn.widgets.Toggle(label="Export", **widgets.look("button", margin=0))
        self.yaml = widgets.download(
            "YAML",
            "zoexplore.yaml",
            lambda: StringIO(to_yaml(*self.state.run)),
        )
        self.code = widgets.html("", "code")
        self.copy = widgets.copier("Copy code")
        self.copy.disabled = True  # until there is code for the current run
        run, code = (
            widgets.label(text, "beside")
            for text in ("the run", "Python that prints these numbers")
        )
        self.drawer = widgets.component(
            "files",
            widgets.tools(run, self.yaml),
            widgets.tools(code, self.copy),
            self.code,
            sheet="files",
            visible=False,
        )
        self.toggle.param.watch(self._open, "value")

    def _open(self, event: Any) -> None:
        self.active = self.drawer.visible = event.new

    async def refresh(self) -> None:
        self.copy.disabled, self.sketch = True, self.state.moving
        if not self.sketch:
            code = await ask(to_python, *self.state.run)
            with pn.io.hold():
                self.code.object = (
                    f'<pre tabindex="0" aria-label="Python code">{escape(code)}</pre>'
                )
                self.copy.param.update(tags=[code], disabled=False)

    def __panel__(self) -> pn.viewable.Viewable:
        return widgets.stack(self.toggle, self.drawer)
