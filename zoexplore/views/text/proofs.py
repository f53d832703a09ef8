"""Sections of the project's pages as HTML, with their formulas left in TeX for MathJax."""

from functools import cache
from html import escape
from typing import Any

from markdown_it import MarkdownIt
from mdit_py_plugins.dollarmath import dollarmath_plugin

from zoexplore.documents import Reference, section


@cache
def html(reference: Reference) -> str:
    """What stands below a heading of a page. Links to other pages lose their targets, which a reader's page does not serve.

    Raises:
        FileNotFoundError, KeyError: there is no such page or heading.
    """
    body = _renderer().render(section(reference))
    where = f'<p class="where">{escape(str(reference))}</p>'
    return f'<div class="document">{body}{where}</div>'


@cache
def _renderer() -> MarkdownIt:
    made = MarkdownIt("commonmark").enable("table")
    made.use(dollarmath_plugin, renderer=_in_tex, double_inline=True)
    made.add_render_rule("link_open", _link_open)
    return made


def _in_tex(formula: str, options: dict[str, Any]) -> str:
    text = escape(formula.strip(), quote=False)
    return f"$${text}$$" if options.get("display_mode") else rf"\({text}\)"


def _link_open(self: Any, tokens: Any, index: int, options: Any, env: Any) -> str:
    target = str(tokens[index].attrGet("href") or "")
    return f'<a href="{escape(target)}" target="_blank" rel="noopener">' if target.startswith("https://") else "<a>"
