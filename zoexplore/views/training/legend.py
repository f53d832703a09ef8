"""The legend of the frontier: which mark is which method, as HTML. No Panel here."""

from html import escape

from zoexplore.training import METHODS, Frontier
from zoexplore.views.figures.glyphs import shape
from zoexplore.views.training.marks import MARKERS

_LOOK = 'fill="currentColor" stroke="currentColor"'


def legend(frontier: Frontier | None) -> str:
    """The methods of a frontier; nothing before there is one."""
    used = {point.method for point in frontier.points} if frontier else set()
    marks = [
        f'<li><svg width="14" height="14" aria-hidden="true">{shape(marker, 7, 7, 5, _LOOK)}</svg>'
        f"{escape(METHODS[method].title)}</li>"
        for method, marker in MARKERS.items()
        if method in used
    ]
    return f"<ul>{''.join(marks)}</ul>" if marks else ""
