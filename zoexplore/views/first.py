"""The first words: what a page shows before its session is made.

They are a still picture of the page. It has the live page's style sheets, so that each part stands
where the live page puts it; the picture goes in the frame after the live page is drawn.

Pictures are kept by address. The server makes the default run's picture when it starts, and other
pictures when readers open their addresses. At a new address the picture lacks only the run's own
numbers and curves.
"""

import json

import numpy as np
from cachetools import LRUCache

from zoexplore.compute.prepare import TAKES, is_prepared
from zoexplore.questions.export import from_query
from zoexplore.questions.statement import in_a_line
from zoexplore.views.explorer import Explorer
from zoexplore.views.figures.chart import Chart, script
from zoexplore.views.figures.publish import CHOICES
from zoexplore.views.html import written
from zoexplore.views.preview import QUESTION, SIZE
from zoexplore.views.style import stylesheets
from zoexplore.views.tabs import TABS

MOST, LONGEST = 200, 500  # the most pictures that are kept, and characters of a picture's address
# the marks of an address whose page looks unlike the default page, so that no picture fits it
OTHERS = ("tab=", "story=", "say=", "show=", "lock=", "all=", "publish.", "dark=")
STILL = "Without scripts these numbers stand still. The command gives any other: zoexplore epsilon run.yaml"
_EMPTY = '<p class="epsilon"><i>ε</i> = <b class="bar"></b></p><p class="sentence"></p>', "<p></p>"
_UNKNOWN = "#"  # the key of unknown addresses, since no query contains "#"
_pictures: LRUCache[str, str] = LRUCache(MOST)


def previewed(search: str, where: str) -> str:
    """Return the preview of a link as HTML: the run in one line and, unless `where` is empty, the
    address of the picture that the server at `where` draws.
    """
    picture = f"{where}/preview.png{search}" if where else ""
    told = {
        "og:type": "website",
        "og:site_name": "zoexplore",
        "og:title": QUESTION,
        "og:description": in_a_line(from_query(search).setting),
        "og:image": picture,
        "og:image:width": SIZE[0],
        "og:image:height": SIZE[1],
    }
    return written("first", "card", told, picture)


def opening(search: str, where: str = "") -> str:
    """Return the head of a query's page, and what shows until the page is drawn; `where` is the
    page's own address if its server serves pictures.

    The query is untrusted: it is only parsed, looked up and written into a link.
    """
    shown = _pictures.get(search) or (_pictures.get(_UNKNOWN, "") if _is_of_a_run(search) else "")
    if not _pictures and not is_prepared():
        shown = written("first", "compiling", QUESTION, TAKES)
    look = f":root{{color-scheme:light dark;{stylesheets.VARIABLES}}}{stylesheets.css('page', 'first')}"
    given = previewed(search, where), look, stylesheets.script(), shown, STILL
    return written("first", "opening", QUESTION, *given)


def remember(search: str, explorer: Explorer, anew: bool = False) -> None:
    """Keep an explorer's picture for all later pages at its address. If `anew`, replace an earlier
    picture.
    """
    if (
        (anew or search not in _pictures)
        and len(search) <= LONGEST
        and _is_of_a_run(search)
        and not explorer.publish.waiting
    ):
        if not search:
            _pictures[_UNKNOWN] = picture(explorer, numbers=False)
        _pictures[search] = picture(explorer)


def _is_of_a_run(search: str) -> bool:
    return not any(name in search for name in OTHERS)


def picture(explorer: Explorer, numbers: bool = True) -> str:
    """Return a picture of the page as HTML; without `numbers` only what every run's page shares."""
    head, tabs, publish = explorer.headline, explorer.tabs, explorer.publish
    said = (head.number.object, head.odds.object) if numbers else _EMPTY
    still = written(
        "first", "still", QUESTION, CHOICES, publish.publish, list(TABS), tabs.tab, *said
    )
    return still + (_drawing(publish.chart) if numbers else "")


def _drawing(chart: Chart) -> str:
    """Return the figure's script and the data that it draws, as a script tag."""
    lines = []
    for line in chart.lines:
        seen = np.isfinite(line["y"]) & (line["y"] < 2 * chart.given["up"]["end"])
        lines.append(
            line | {axis: [float(f"{each:.4g}") for each in line[axis][seen]] for axis in "xy"}
        )
    given = json.dumps(chart.given | {"lines": lines}).replace("<", "\\u003c")
    return f"<script>{{{script('chart', 'first')}new Chart(find(document)).set({given})}}</script>"
