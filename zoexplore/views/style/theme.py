"""Colours, light and dark: their one home, but for those of the bounds, each of which has its own in its module (`Bound.style`).

CSS gets them as variables built with `light-dark()`, so that one declaration follows the reader's `color-scheme`. The
figure is a canvas, which CSS cannot reach: it takes the same pairs from here.
"""

import re
from functools import cache
from pathlib import Path

from bokeh.palettes import cividis

from zoexplore.bounds import BOUNDS
from zoexplore.bounds.bound import Style

LIGHT, DARK = 0, 1
STATE = "--zx-state"  # the variable that says of a part that it is of an earlier state, by one of the next two
VEILED, WAITING = "zx-veiled", "zx-waiting"  # with the second it says so in words
BUSY = "zx-busy"  # the class of what tells by itself that it is computed; the page tells screen readers of all three
STRETCH = {"sizing_mode": "stretch_width", "margin": 0}  # the layout of nearly everything; style sheets do the rest
_FOLDER = Path(__file__).parent / "css"
_LENGTH = re.compile(r"(?P<asked>@(?:container|media)[^{]*)|(?<![\w.])(?P<px>-?\d+(?:\.\d+)?)px")
_HEADING = re.compile(r"^/\*! (\w+) \*/\n", re.MULTILINE)

# name: (light, dark)
COLOURS = {
    "page": ("#f6f5f1", "#14171b"),
    "surface": ("#ffffff", "#1b1f25"),
    "sunken": ("#f1efe9", "#23282f"),
    "ink": ("#1c2126", "#e8e6e1"),
    "muted": ("#5b636b", "#a3a9b0"),
    "rule": ("#e2dfd7", "#2f353d"),
    "edge": ("#8b9299", "#737b84"),
    "accent": ("#14599b", "#7db7ee"),
    "on-accent": ("#ffffff", "#10151b"),  # of no figure: in these #ffffff is the surface
    "warn-ink": ("#7d2f06", "#ffc39b"),
    "warn": ("#fdeee2", "#3a2417"),
    "note-ink": ("#1d4a73", "#b9d9f5"),
    "note": ("#e8f1f9", "#1b2c3c"),
}
STYLES = {bound.id: bound.style for bound in BOUNDS.values() if bound.style}
REFERENCE = Style(("#c4500a", "#f2955a"), (1, 3), 1.4)
_OTHERS = (
    Style(("#a3195b", "#ff86bb"), (6, 2, 2, 2), 2.2),
    Style(("#3c4fa8", "#a3b1ff"), (3, 2), 2.2),
    Style(("#4f6b12", "#b3d465"), (14, 3), 2.2),
)

# Of pins: further from one another than from the bounds' own colours; letters tell them apart without any.
PINS = (
    ("#b4236b", "#ff8fc0"),
    ("#5a4fcf", "#b3adff"),
    ("#1f7a8c", "#74d2e7"),
    ("#8a5a00", "#e8b04a"),
    ("#3d3d3d", "#d0d0d0"),
    ("#6b8e00", "#c4e84a"),
)
LEVEL, HERE = "white", "#d1360a"  # on the map, of either scheme: lines at chosen epsilons, and what is set
_PAIRS = (*COLOURS.values(), *(s.colour for s in (*STYLES.values(), *_OTHERS, REFERENCE)), *PINS)
_PARTNERS = ({dark: light for light, dark in _PAIRS}, {light: dark for light, dark in reversed(_PAIRS)})


def style_of(bound: str) -> Style:
    """The style of a bound; one of a few spare ones, by its place in the registry, where it has none of its own."""
    return STYLES.get(bound) or _OTHERS[list(BOUNDS).index(bound) % len(_OTHERS) if bound in BOUNDS else 0]


def hue(bound: str) -> str:
    """A bound's colour on light ground, in which figures are built."""
    return style_of(bound).colour[LIGHT]


def map_colours(bands: int) -> tuple[str, ...]:
    """The map's colours, from the smallest epsilon to the largest: one scale for either scheme, that reads in grey, too."""
    return cividis(bands)


def colour(name: str, dark: bool = False) -> str:
    """A named colour in one of the schemes."""
    return COLOURS[name][DARK if dark else LIGHT]


def partner(colour: str, dark: bool) -> str:
    """What a colour of either scheme is in one of them; any other colour as it is."""
    return _PARTNERS[dark].get(colour, colour)


def light(colour: str) -> str:
    """What a colour of either scheme is in the light one."""
    return partner(colour, False)


def _pairs() -> str:
    pairs = {**COLOURS, **{f"bound-{bound}": style.colour for bound, style in STYLES.items()}}
    return "".join(f"--zx-{name}:light-dark({light},{dark});" for name, (light, dark) in pairs.items())


FONT = 'system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif'
SERIF = '"Iowan Old Style","Palatino Linotype",Palatino,"Noto Serif","DejaVu Serif",Georgia,serif'
# Set on the page's root and again on every component, which must look right in a notebook, where the page is not ours.
_PANEL = (  # Panel's and Bokeh's own names for the same things
    "--design-background-color:var(--zx-surface);--design-background-text-color:var(--zx-ink);"
    "--design-surface-color:var(--zx-sunken);--design-surface-text-color:var(--zx-ink);"
    "--design-primary-color:var(--zx-accent);"
)
VARIABLES = f"{_pairs()}{_PANEL}--zx-font:{FONT};--zx-serif:{SERIF};"


def swatch(style: Style, width: int = 34) -> str:
    """A short stretch of the curve as inline SVG, for legends and tables."""
    light, dark = style.colour
    dash = f' stroke-dasharray="{" ".join(map(str, style.dash))}"' if style.dash else ""
    return (
        f'<svg class="swatch" width="{width}" height="10" aria-hidden="true">'
        f'<line x1="1" x2="{width - 1}" y1="5" y2="5" style="stroke:light-dark({light},{dark})" '
        f'stroke-width="{style.width}"{dash}/></svg>'
    )


def dot(style: Style) -> str:
    """A dot in a curve's colour, for legends."""
    light, dark = style.colour
    return (
        '<svg class="swatch" width="12" height="10" aria-hidden="true">'
        f'<circle cx="6" cy="5" r="4.5" style="fill:light-dark({light},{dark})"/></svg>'
    )


def css(*names: str) -> str:
    """Style sheets of this package by name, joined. Bokeh gives every component sheets of its own, and none sees another's."""
    return "\n".join(_sheets()[name] for name in names)


@cache
def _sheets() -> dict[str, str]:
    """All style sheets by the name that stands above each in its file."""
    found: dict[str, str] = {}
    for file in sorted(_FOLDER.glob("*.css")):
        _, *parts = _HEADING.split(file.read_text(encoding="utf-8"))
        found |= dict(zip(parts[::2], map(_scaled, parts[1::2]), strict=True))
    return found


def _scaled(sheet: str) -> str:
    """A style sheet whose lengths, hairlines apart, grow with the variable `--u`, which a lecture sets."""

    def length(found: re.Match) -> str:
        return found[0] if found["asked"] or abs(float(found["px"])) < 3 else f"calc({found['px']}*var(--u,1px))"

    return _LENGTH.sub(length, sheet)


def root(*names: str) -> str:
    """The style sheet of a component's outermost element: the variables, a ground, then the named sheets.

    In a notebook's cell a component is light, whatever the notebook is: its canvas does not know what it lies on.
    """
    return f":host{{{VARIABLES}color-scheme:var(--zx-scheme,light);background:var(--zx-surface)}}\n{css(*names)}"


def script() -> str:
    """What every page runs in its browser."""
    return Path(__file__).with_name("page.js").read_text(encoding="utf-8")
