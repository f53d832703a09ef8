"""The toolbar: presets, reset, a link to the page's state, the colour scheme; and the run as a file
and as code.
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
    """Presets, reset and, with a `bridge` to a browser's address, copy link, and light or dark."""

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
        # the page starts in the scheme that the browser last used or else prefers, once reported
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
        """Return the preset equal to the current setting, if several the selected or the first one;
        an empty name if none is equal.
        """
        now = self.state.run
        same = [key for key, p in PRESETS.items() if (p.setting, p.accounting) == now] or [""]
        return {"value": self.preset.value if self.preset.value in same else same[0]}

    def __panel__(self) -> pn.viewable.Viewable:
        # everything is light in a notebook, whose page is not ours
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
        self.copy.disabled = True  # until the copied code is the current run's
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
