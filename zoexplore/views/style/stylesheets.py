"""Style sheets and their variables: the colours of `zoexplore.palette` as CSS's `light-dark()`, so
that one declaration follows the reader's `color-scheme`.
"""

import re
from functools import cache
from pathlib import Path

from zoexplore.palette import COLOURS, FONT, GAINS, SERIF, STYLES

STATE = "--zx-state"  # the variable that marks a part as out of date
# values of STATE: VEILED fades the part, WAITING also says so in words; screen readers hear of both
VEILED, WAITING = "zx-veiled", "zx-waiting"
# the layout of nearly all parts; style sheets set everything else
STRETCH = {"sizing_mode": "stretch_width", "margin": 0}
_FOLDER = Path(__file__).parent / "css"
_HEADING = re.compile(r"^/\*! (\w+) \*/\n", re.MULTILINE)


def _pairs() -> str:
    pairs = {**COLOURS, **{f"bound-{bound}": style.colour for bound, style in STYLES.items()}}
    pairs |= {f"gain-{place}": pair for place, pair in enumerate(GAINS)}
    return "".join(
        f"--zx-{name}:light-dark({light},{dark});" for name, (light, dark) in pairs.items()
    )


# Set on the page's root and on every component, which must look right in a notebook.
_PANEL = (  # Panel's and Bokeh's names for the same colours
    "--design-background-color:var(--zx-surface);--design-background-text-color:var(--zx-ink);"
    "--design-surface-color:var(--zx-sunken);--design-surface-text-color:var(--zx-ink);"
    "--design-primary-color:var(--zx-accent);"
)
VARIABLES = f"{_pairs()}{_PANEL}--zx-font:{FONT};--zx-serif:{SERIF};"


def css(*names: str) -> str:
    """Join style sheets of this package by name. Each component needs its own, since Bokeh isolates
    components from the page's style sheets.
    """
    return "\n".join(_sheets()[name] for name in names)


@cache
def _sheets() -> dict[str, str]:
    """Return all style sheets by name. The name is the heading above each sheet in its file."""
    found: dict[str, str] = {}
    for file in sorted(_FOLDER.glob("*.css")):
        _, *parts = _HEADING.split(file.read_text(encoding="utf-8"))
        found |= dict(zip(parts[::2], parts[1::2], strict=True))
    return found


def root(*names: str) -> str:
    """Return the style sheet of a component's outermost element: the variables, the background, and
    the named sheets.

    In a notebook a component is always light, since nothing tells it the notebook's theme.
    """
    return f":host{{{VARIABLES}color-scheme:var(--zx-scheme,light);background:var(--zx-surface)}}\n{css(*names)}"


def script(last: str = "page") -> str:
    """Return the script of every page or, for `last` = "named", that of a notebook's cell. Both
    label Bokeh's unnamed elements.
    """
    return "".join(
        Path(__file__).with_name(f"{name}.js").read_text(encoding="utf-8")
        for name in ("names", last)
    )
