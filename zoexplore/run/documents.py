"""Sections of the pages in `docs/`, which lie beside the package or, once installed, inside it."""

import re
from functools import cache
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

_FOLDERS = Path(__file__).parents[2] / "docs", Path(__file__).parents[1] / "docs"


class Reference(NamedTuple):
    """A page of `docs/`, named without suffix, and one of its headings, without number."""

    page: str
    heading: str

    def __str__(self) -> str:
        return f"docs/{self.page}.md, “{self.heading}”"


@cache
def read(page: str) -> str:
    """Return a whole page, in Markdown.

    Raises:
        FileNotFoundError: there is no such page.
    """
    file = next((path for folder in _FOLDERS if (path := folder / f"{page}.md").is_file()), None)
    if file is None:
        raise FileNotFoundError(f"there is no page docs/{page}.md")
    return file.read_text(encoding="utf-8")


def section(reference: Reference) -> str:
    """Return the section under a heading, in Markdown.

    Raises:
        FileNotFoundError: there is no such page.
        KeyError: the page has no such heading.

    >>> section(Reference("bounds", "Composition")).splitlines()[0]
    '## 3. Composition'
    """
    text, name = read(reference.page), re.escape(reference.heading)
    begins = re.search(rf"^(#+) (?:\d+\. )?{name}\s*$", text, re.M)
    if begins is None:
        raise KeyError(f"docs/{reference.page}.md has no heading {reference.heading!r}")
    ends = re.compile(rf"^#{{1,{len(begins[1])}}} ", re.M).search(text, begins.end())
    return text[begins.start() : ends.start() if ends else None].rstrip()


@cache
def as_html(reference: Reference) -> str:
    """Return a section as HTML, with formulas as MathML. Links to other pages lose their targets,
    since those pages are not served.

    Raises:
        FileNotFoundError, KeyError: there is no such page or heading.
    """
    body = _renderer().render(section(reference))
    where = f'<p class="where">{escape(str(reference))}</p>'
    return f'<div class="document">{body}{where}</div>'


@cache
def _renderer() -> Any:
    from markdown_it import MarkdownIt  # a dependency of the page, not of the accountant
    from mdit_py_plugins.dollarmath import dollarmath_plugin

    made = MarkdownIt("commonmark").enable("table")
    made.use(dollarmath_plugin, renderer=_formula, double_inline=True)
    made.add_render_rule("link_open", _link_open)
    return made


def in_mathml(formula: str, displayed: bool = False) -> str:
    """Turn a TeX formula into MathML, which browsers draw themselves."""
    from latex2mathml.converter import convert  # a dependency of the page, not of the accountant

    return convert(formula.strip(), display="block" if displayed else "inline")


def _formula(formula: str, options: dict[str, Any]) -> str:
    return in_mathml(formula, bool(options.get("display_mode")))


def _link_open(self: Any, tokens: Any, index: int, options: Any, env: Any) -> str:
    target = str(tokens[index].attrGet("href") or "")
    return (
        f'<a href="{escape(target)}" target="_blank" rel="noopener">'
        if target.startswith("https://")
        else "<a>"
    )
