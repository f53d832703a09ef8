"""The toolbar: presets, reset, pinning, the link to what is shown, and the colour scheme."""

from typing import Any

import panel as pn

from zoexplore.presets import PRESETS
from zoexplore.views.browser.bridge import Bridge
from zoexplore.views.panels.pins import MOST, Pins
from zoexplore.views.state import State
from zoexplore.views.style import theme

_SCHEME = "document.documentElement.style.setProperty('--zx-scheme', cb_obj.active ? 'dark' : 'light')"
_COPY = """
const say = (label) => { button.label = label; setTimeout(() => { button.label = "LABEL"; }, 1800); };
const text = button.tags[0] || window.location.href;
const by_hand = () => window.prompt("This browser does not let a page copy. Copy it by hand:", text);
if (navigator.clipboard) navigator.clipboard.writeText(text).then(() => say("Copied"), by_hand);
else by_hand();
"""


def copier(label: str, text: str = "", before: str = "") -> pn.widgets.Button:
    """A button that copies a text to the clipboard, the page's address where there is none, and says so.

    The text is the first tag of the `button`, which the script `before` may write.
    """
    button = pn.widgets.Button(label=label, css_classes=["zx-button"], stylesheets=[theme.css("button")], margin=0)
    button.tags = [text]
    button.js_on_click(args={"button": button}, code=before + _COPY.replace("LABEL", label))
    return button


class Toolbar(pn.viewable.Viewer):
    """Presets, reset, pin, and where there is a `bridge` to a browser's address: copy link, and light or dark."""

    def __init__(self, state: State | None = None, bridge: Bridge | None = None, pins: Pins | None = None, **params: Any) -> None:
        super().__init__(**params)
        self.state, self.bridge, self.pins = state or State(), bridge, pins or Pins()
        look = {"css_classes": ["zx-button"], "stylesheets": [theme.css("button")], "margin": 0}
        self.preset = pn.widgets.Select(
            options={"Presets": "", **{preset.name: key for key, preset in PRESETS.items()}},
            value=self._shown()[0],
            css_classes=["zx-preset"],
            stylesheets=[theme.css("preset")],
            tags=["preset"],
            width=190,
            margin=0,
        )
        self._following = False
        self.preset.param.watch(self._picked, "value")
        self.state.param.watch(self._follow, ["setting", "accounting"])
        self.reset = pn.widgets.Button(label="Reset", **look)
        self.reset.on_click(lambda _: self._start_over())
        self.pin = pn.widgets.Button(label="Pin", **look)
        self.pin.on_click(lambda _: self.pins.add(self.state))
        self.pins.param.watch(lambda event: self.pin.param.update(disabled=len(event.new) == MOST), "pins")
        self.link = copier("Copy link") if bridge else None
        self.more: list[pn.viewable.Viewable] = []  # between the link and the scheme
        self.dark = pn.widgets.Toggle(label="Dark", **look | {"css_classes": ["zx-button", "zx-scheme"]})
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
        return pn.Row(*tools, css_classes=["zx-tools"], stylesheets=[theme.css("tools")], margin=0)
