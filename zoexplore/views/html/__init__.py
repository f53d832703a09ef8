"""The views' HTML: templates of macros, each of which writes one piece of HTML with its words."""

from functools import cache
from math import inf
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from zoexplore.run.formatting import (
    THIN,
    format_count,
    format_delta,
    format_number,
    format_percent,
    format_sentence,
    format_share,
    format_short,
)
from zoexplore.views.style import stylesheets
from zoexplore.views.style.widgets import unbroken


@cache
def _environment() -> Environment:
    """Return the templates' environment, which escapes the values that it inserts."""
    made = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    made.filters |= {
        "count": format_count,
        "delta": format_delta,
        "number": format_number,
        "percent": format_percent,
        "sentence": format_sentence,
        "share": format_share,
        "short": format_short,
        "unbroken": unbroken,
    }
    made.globals |= {"css": stylesheets.css, "inf": inf, "thin": THIN}
    return made


def written(template: str, piece: str, *given: Any) -> str:
    """Return one piece of a template as HTML, filled with what is `given`."""
    macro = getattr(_environment().get_template(f"{template}.html").module, piece)
    return str(macro(*given)).strip()
