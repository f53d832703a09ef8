"""Pieces of HTML that several views write."""

from collections.abc import Iterable, Sequence
from html import escape

_NOTHING = frozenset({"", "–"})


def status(words: str) -> str:
    """How something stands, which screen readers say when they come to it. `words` is text, as in all that follows."""
    return f'<p role="status">{escape(words)}</p>'


def warning(words: str) -> str:
    """What went wrong, which screen readers say at once."""
    return f'<p class="warn" role="alert">{escape(words)}</p>'


def link(url: str, words: str) -> str:
    """A link that opens beside the page."""
    return f'<a href="{url}" target="_blank" rel="noopener">{words}</a>'


def listed(title: str, lines: Iterable[str]) -> str:
    """A heading and a list; nothing where all lines are empty."""
    items = "".join(f"<li>{escape(line)}</li>" for line in lines if line)
    return f"<h3>{title}</h3><ul>{items}</ul>" if items else ""


def region(label: str, table: str, kind: str = "") -> str:
    """A table that is scrolled where it is too wide, by keys as well; `table` is HTML."""
    css = f' class="{kind}"' if kind else ""
    return f'<div{css} tabindex="0" role="region" aria-label="{escape(label)}">{table}</div>'


def table(titles: Sequence[str], rows: Sequence[Sequence[str]], label: str) -> str:
    """Rows under their titles, the first cell of each being its heading; a column without a value in any row is left out.

    Args:
        titles: of the columns, one more than a row has values.
        rows: text, not HTML.
        label: what the table is, for screen readers.

    >>> table(["method", "ε", "Δ"], [["a", "1", "–"], ["b", "2", "–"]], "numbers").count("<th")
    4
    """
    kept = [0, *(at for at in range(1, len(titles)) if any(row[at] not in _NOTHING for row in rows))]
    head = "".join(f'<th scope="col">{escape(titles[at])}</th>' for at in kept)
    cells = ("".join(f"<td>{escape(row[at])}</td>" for at in kept[1:]) for row in rows)
    body = "".join(f'<tr><th scope="row">{escape(row[0])}</th>{each}</tr>' for row, each in zip(rows, cells, strict=True))
    inner = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    return region(label, inner, "wide")
