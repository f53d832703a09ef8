"""A lesson's file: the live page's scripts and style sheets, and tables that replace the server."""

import json
import zlib
from base64 import b64encode
from collections.abc import Iterable, Sequence
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from zoexplore import __version__
from zoexplore.bounds import BOUNDS
from zoexplore.bounds.guarantee import as_printed
from zoexplore.bounds.words import Style
from zoexplore.palette import style_of
from zoexplore.questions.export import to_query
from zoexplore.questions.statement import in_a_line, statement
from zoexplore.run.atomic_write import write
from zoexplore.run.axes import AXES
from zoexplore.run.fields import FIELDS
from zoexplore.run.formatting import format_delta, format_sentence, format_typed
from zoexplore.run.setting import Accounting, Setting, supposition
from zoexplore.views.address import Teaching
from zoexplore.views.figures import chart
from zoexplore.views.figures.by_bound import OTHERS, told_of
from zoexplore.views.figures.legend import UNASKED, entry
from zoexplore.views.figures.publish import CHOICES, FARTHEST, NAMES, STYLES, gaussian_of
from zoexplore.views.first import previewed
from zoexplore.views.html import written
from zoexplore.views.lesson.tables import FIRST, Slider, facts, groups_of, packed, table
from zoexplore.views.panels.readouts import AS_PRINTED, TRAINED
from zoexplore.views.preview import QUESTION, picture
from zoexplore.views.style import stylesheets

# what a link for teaching may hide
VIEWS, PARTS = ("publish", "curves", "game"), ("title", "verdict", "table")
SCRIPTS = {  # scripts by component: the files, and the functions and constants that the lesson uses
    "chart": (
        ("figures/numbers", "figures/chart", "figures/export", "figures/figure"),
        ("up", "near", "grouped", "nice", "safe"),
    ),
    "clouds": (("figures/plane", "figures/clouds"), ("LAST",)),
    "game": (("figures/plane", "figures/game"), ()),
    "legend": (("figures/legend",), ()),
    "tabs": (("tabs",), ()),
}
SHEETS = (
    "first_host first_row room explorer row heading title tabs lesson_live prompt text words story controls lesson_dials notice "
    "question front radio switch headline said view stage chart export figure clouds select arrow along legend board_of_game "
    "colophon foot lesson_layout"
)
# rough costs: the bytes that a number takes in the file, and the seconds to compute a place
BYTES, SECONDS = 0.5, 0.055
_FOLDER = Path(__file__).parents[1]
_EPSILONS = np.geomspace(1e-5, 3000, 400)
_DEFAULT = Accounting()


def save(path: str | Path, text: str) -> Path:
    """Write a lesson. Raises OSError that says what to do if the file cannot be written."""
    write(path, text.encode())
    return Path(path)


def expected(setting: Setting, sliders: Iterable[str]) -> dict[str, tuple[int, int, int]]:
    """Return (places, bytes, seconds) for each group of sliders: how many places the group has, and
    about how much space and time they cost. Errors are those of `zoexplore.lesson`.
    """
    found, steps = {}, len(BOUNDS) * len(Slider.of(setting, "T").values)
    for group in groups_of(setting, sliders):
        places = prod(len(slider.values) for slider in group)
        takes = places, round(places * steps * BYTES), round(places * SECONDS)
        found["+".join(slider.field for slider in group)] = takes
    return found


def html(
    setting: Setting,
    sliders: Iterable[str],
    accounting: Accounting = _DEFAULT,
    link: str = "",
    live: str = "",
) -> str:
    """Return the file as text. Arguments and errors are those of `zoexplore.lesson`."""
    link, sliders, query = link.partition("?")[2], list(sliders), to_query(setting, accounting)
    teaching = Teaching.of(link, VIEWS)
    given = numbers(setting, accounting, groups_of(setting, sliders)) | {
        "moves": "T" in "+".join(sliders).split("+"),
        "link": link,
        "live": live,
        "query": query,
        "say": teaching.html(),
        "shows": {name: teaching.shows(name) for name in (*VIEWS, *PARTS)},
        "statement": str(statement(setting, accounting=accounting)),
        "supposes": format_sentence(supposition(setting, accounting)),
        "words": {"question": QUESTION, "choices": CHOICES, "version": __version__},
        "css": {name: stylesheets.css(name) for name in SHEETS.split()},
    }
    address = f"?{query}" if query else ""
    text = json.dumps(given, ensure_ascii=False, separators=(",", ":")).encode()
    look = f":root{{color-scheme:light dark;{stylesheets.VARIABLES}}}{stylesheets.css('page', 'lesson')}"
    seen = (
        b64encode(picture(setting, accounting)).decode(),
        in_a_line(setting),
        live and live + address,
    )
    scripts = ",".join(f"{name}: {_script(*of)}" for name, of in SCRIPTS.items())
    program = Path(__file__).with_name("lesson.js").read_text(encoding="utf-8")
    moving = b64encode(zlib.compress(text, 9)).decode(), scripts, program
    return written("lesson", "page", QUESTION, previewed(address, live), look, *seen, *moving)


def _script(names: Sequence[str], others: Sequence[str]) -> str:
    """Wrap a component's scripts in a function, so that their names do not clash with those of
    other components. The function returns `render` and the names in `others`.
    """
    text = "\n".join((_FOLDER / f"{name}.js").read_text(encoding="utf-8") for name in names)
    text = text.replace("export function render", "function render")
    return f"(() => {{ {text}\nreturn {{{', '.join(('render', *others))}}}; }})()"


def numbers(
    setting: Setting, accounting: Accounting, groups: Sequence[Sequence[Slider]]
) -> dict[str, Any]:
    """Return the data of the page: sliders, tables, and the styles and words that the server gives
    a live page.
    """
    steps = Slider.of(setting, "T")
    found = [facts(setting.replace(T=T), accounting) for T in steps.values]
    alone = packed(np.array([epsilons for epsilons, _ in found]).T[None], [found[steps.at][1]])
    mu = np.minimum(gaussian_of(_EPSILONS, setting.delta), FARTHEST)
    return {
        "steps": _slider(steps) | {"facts": [known for _, known in found]},
        "sliders": [_slider(slider) for group in groups for slider in group],
        "groups": [[slider.field for slider in group] for group in ((), *groups)],
        "tables": [alone, *(table(setting, accounting, group, steps.values) for group in groups)],
        "first": FIRST,
        "bounds": [_bound(bound, accounting) for bound in BOUNDS],
        "warning": AS_PRINTED,
        "two": {
            name: _line(name, STYLES[name], NAMES[name], plays=True, aloud=True) for name in NAMES
        },
        "muted": UNASKED,
        "delta": format_delta(setting.delta),
        "trained": TRAINED,
        "apart": np.column_stack([_EPSILONS, mu]).round(9).tolist(),
        "run": in_a_line(setting),
    }


def _slider(slider: Slider) -> dict[str, Any]:
    axis = AXES[slider.field]
    places = [float(axis.place(float(x))) for x in slider.values]
    return {
        "field": slider.field,
        "symbol": axis.symbol,
        "caption": FIELDS[slider.field].caption,
        "values": slider.values,
        "places": places,
        "texts": [format_typed(value) for value in slider.values],
        "at": slider.at,
        "across": chart.field_span(axis, (places[0], places[-1])) if len(places) > 1 else None,
    }


def _line(key: str, style: Style, name: str, **more: Any) -> dict[str, Any]:
    """Return a curve of the chart without its points."""
    return chart.line(key, [], [], style, name, **more) | {"x": [], "y": []}


def _bound(bound: str, accounting: Accounting) -> dict[str, Any]:
    style, known = style_of(bound), BOUNDS[bound]
    printed, group = bool(as_printed(bound, accounting)), "" if known.of_this_run else OTHERS
    title = known.title + " (as printed)" * printed
    return {
        "line": _line(bound, style, title),
        "entry": entry(bound, title, style, group=group, **told_of(bound)),
        "own": known.of_this_run,
        "printed": printed,
    }
