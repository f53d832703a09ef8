"""The colours of figures and of the page, light and dark, except those of bounds (`bounds.words`)."""

from zoexplore.bounds.words import WORDS, Style

LIGHT, DARK = 0, 1
FONT = 'system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif'
SERIF = '"Iowan Old Style","Palatino Linotype",Palatino,"Noto Serif","DejaVu Serif",Georgia,serif'

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
    "on-accent": ("#ffffff", "#10151b"),  # not in figures, where #ffffff is the surface
    "warn-ink": ("#7d2f06", "#ffc39b"),
    "warn": ("#fdeee2", "#3a2417"),
    "note-ink": ("#1d4a73", "#b9d9f5"),
    "note": ("#e8f1f9", "#1b2c3c"),
    "right": ("#00694f", "#4fd0a8"),
    "wrong": ("#b4236b", "#ff8fc0"),  # also the world without a record
}
STYLES = {bound: words.style for bound, words in WORDS.items() if words.style}
# the style of a bound that has none of its own
SPARE = Style(("#a3195b", "#ff86bb"), (6, 2, 2, 2), 2.2)

# The colours of pins. They are far from one another, but not all are far from those of bounds, so
# pins have letters too.
PINS = (
    COLOURS["wrong"],
    ("#5a4fcf", "#b3adff"),
    ("#1f7a8c", "#74d2e7"),
    ("#8a5a00", "#e8b04a"),
    ("#3d3d3d", "#d0d0d0"),
    ("#6b8e00", "#c4e84a"),
)
GAINS = (  # for the factor that hiding gains: none, up to 2, 2 to 10, 10 to 100, over 100
    ("#eceae4", "#2b3038"),
    ("#c9e0d6", "#1d4a43"),
    ("#86bda9", "#1f7a69"),
    ("#3a8d78", "#2aa88d"),
    ("#00594d", "#7fe9cf"),
)


def style_of(bound: str) -> Style:
    """Return the style of a bound, or the spare one."""
    return STYLES.get(bound, SPARE)


def hue(bound: str) -> str:
    """Return a bound's colour on a light ground."""
    return style_of(bound).colour[LIGHT]


def colour(name: str, dark: bool = False) -> str:
    """Return a named colour of the light or the dark scheme."""
    return COLOURS[name][DARK if dark else LIGHT]
