"""The toolbar: presets, reset, pinning, the link to what is shown, and the colour scheme."""

from typing import Any

import panel as pn

from zoexplore.presets import PRESETS
from zoexplore.views.browser.address import Bridge
from zoexplore.views.state import MOST_PINS, Pins, State
from zoexplore.views.style import widgets

_SCHEME = "document.documentElement.style.setProperty('--zx-scheme', cb_obj.active ? 'dark' : 'light')"


class Toolbar(pn.viewable.Viewer):
    """Presets, reset, pin, and where there is a `bridge` to a browser's address: copy link, and light or dark."""

    def __init__(self, state: State | None = None, bridge: Bridge | None = None, pins: Pins | None = None, **params: Any) -> None:
        super().__init__(**params)
        self.state, self.bridge, self.pins = state or State(), bridge, pins or Pins()
        presets = {"Presets": "", **{preset.name: key for key, preset in PRESETS.items()}}
        look = widgets.look("preset", width=190, margin=0)
        self.preset = pn.widgets.Select(options=presets, value=self._shown()[0], tags=["preset"], **look)
        self._following = False
        self.preset.param.watch(self._picked, "value")
        self.state.param.watch(self._follow, ["setting", "accounting"])
        self.reset = widgets.button("Reset", self._start_over)
        self.pin = widgets.button("Pin", lambda: self.pins.add(self.state))
        self.pins.param.watch(lambda event: self.pin.param.update(disabled=len(event.new) == MOST_PINS), "pins")
        self.link = widgets.copier("Copy link") if bridge else None
        self.more: list[pn.viewable.Viewable] = []  # between the link and the scheme
        self.dark = widgets.toggle("Dark", css_classes=["zx-button", "zx-scheme"])
        self.dark.jscallback(active=_SCHEME)
        self.dark.param.watch(lambda event: self.dark.param.update(label="Light" if event.new else "Dark"), "value")
        self._follow_the_browser()

    def apply(self, key: str) -> None:
        """Take over a preset, and say what it is."""
        preset = PRESETS[key]
        self.state.replace(preset.setting, preset.accounting)
        self.pins.follow(preset)
        self.state.note = preset.summary

    def _start_over(self) -> None:
        self.pins.param.update(pins=[], compare="")
        self.apply("training")

    def _picked(self, event: Any) -> None:
        if event.new and not self._following:
            self.apply(event.new)

    def _follow(self, *_: Any) -> None:
        """Let the menu say which preset is shown, if it is one."""
        self._following = True
        if self.preset.value not in self._shown():
            self.preset.value = self._shown()[0]
        self._following = False

    def _shown(self) -> list[str]:
        """The presets that have the setting of now; an empty name where there is none."""
        now = (self.state.setting, self.state.accounting)
        return [key for key, p in PRESETS.items() if (p.setting, p.accounting) == now] or [""]

    def _follow_the_browser(self) -> None:
        """Start in the scheme that this browser was last used with, or else prefers, as soon as it has told."""

        def follow(*_: Any) -> None:
            if self.bridge and self.bridge.scheme:
                self.dark.value = self.bridge.scheme == "dark"

        if self.bridge:
            self.bridge.param.watch(follow, "scheme")
            follow()

    def __panel__(self) -> pn.viewable.Viewable:
        scheme = self.dark if self.bridge else None  # of a notebook, whose page is not ours, everything is light
        tools = [tool for tool in (self.preset, self.reset, self.pin, self.link, *self.more, scheme) if tool]
        return widgets.tools(*tools)
