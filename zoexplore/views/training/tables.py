"""Tables of text as HTML."""

from collections.abc import Sequence
from html import escape

_NOTHING = frozenset({"", "–"})


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
    return f'<div class="wide" tabindex="0" role="region" aria-label="{escape(label)}">{inner}</div>'
