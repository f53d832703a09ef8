"""The first words: what a page sends before its session is made. A still picture of first sight, in
the live page's own style sheets and so in its places, which goes in the frame after the live page
is drawn.

Pictures are made of explorers that have been made for others, by their addresses: the default run's
when the server starts. Of an address that is new everything is there but the run's own numbers and
curves.
"""

import json
from html import escape

import numpy as np
from cachetools import LRUCache

from zoexplore.compute.prepare import TAKES, is_prepared
from zoexplore.questions.export import from_query
from zoexplore.questions.statement import in_a_line
from zoexplore.views.explorer import Explorer
from zoexplore.views.figures.chart import Chart, script
from zoexplore.views.figures.publish import CHOICES
from zoexplore.views.preview import QUESTION, SIZE
from zoexplore.views.style import theme
from zoexplore.views.tabs import TABS

MOST, LONGEST = 200, 500  # pictures that are kept, and characters of an address that has one
# addresses of another first sight
OTHERS = ("tab=", "story=", "say=", "show=", "lock=", "all=", "publish.", "dark=")
WORDS = (
    f"<title>zoexplore: {QUESTION.lower()}</title>"
    '<meta name="description" content="The privacy loss of zeroth-order training, by every bound that is known: every step '
    'published, or only the last.">'
)
STILL = "Without scripts these numbers stand still. The command gives any other: zoexplore epsilon run.yaml"
COMPILING = f"""<p class="zx-opens"><b>zoexplore</b> {QUESTION}</p>
<p class="zx-still" role="status">This server is new, and compiles its formulas once: {TAKES}. This page follows by itself.</p>"""
_EMPTY = '<p class="epsilon"><i>ε</i> = <b class="bar"></b></p><p class="sentence"></p>', "<p></p>"
_UNKNOWN = "#"  # in place of an address, which has no such sign
_pictures: LRUCache[str, str] = LRUCache(MOST)


def previewed(search: str, where: str) -> str:
    """What a link shows to whom it is sent: the run in a line and its picture, by the address of
    the page, where there is a server of pictures.
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
    shown = [(name, value) for name, value in told.items() if picture or "image" not in name]
    card = '<meta name="twitter:card" content="summary_large_image">' if picture else ""
    return card + "".join(
        f'<meta property="{name}" content="{escape(str(value))}">' for name, value in shown
    )


def opening(search: str, where: str = "") -> str:
    """The head of a page of this query, and what is shown until it is drawn; `where` is the page's
    own address, if pictures are served below it. The query is only looked up, and written into a
    link.
    """
    shown = _pictures.get(search) or (_pictures.get(_UNKNOWN, "") if _is_of_a_run(search) else "")
    if not _pictures and not is_prepared():
        shown = COMPILING
    return (
        f'<head><meta charset="utf-8">{WORDS}{previewed(search, where)}<link rel="icon" href="./favicon.ico">'
        '<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark">'
        f"<style>:root{{color-scheme:light dark;{theme.VARIABLES}}}{theme.css('page', 'first')}</style>"
        f'<script>{theme.script()}</script></head><body><p class="zx-opens"><b>zoexplore</b> {QUESTION}</p>'
        f'<div class="zx-first" inert>{shown}</div><noscript><p class="zx-still">{STILL}</p></noscript>'
    )


def remember(search: str, explorer: Explorer, anew: bool = False) -> None:
    """Keep the picture of an explorer that has been made, for all later pages of its address; the
    first one, or this one.
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
    """First sight as HTML; without numbers what is the same for every run."""
    number, odds = (
        (each.object for each in (explorer.headline.number, explorer.headline.odds))
        if numbers
        else _EMPTY
    )
    chosen = explorer.publish.publish
    radios = "".join(
        f'<label><input type="radio"{" checked" if name == chosen else ""}><span>{title}</span></label>'
        for title, name in CHOICES.items()
    )
    titles = "".join(
        f'<button aria-selected="{str(each == explorer.tabs.tab).lower()}">{each}</button>'
        for each in TABS
    )
    front = (
        host("zx-switch", "radio switch", f'<div class="bk-input-group">{radios}</div>'),
        host("zx-tools", "first_tools"),
        host("zx-headline", "text headline", number),
        host("zx-said", "text said", odds),
        "<div></div>",  # as a row's gap ends the live page's
    )
    heading = (
        host("", "title", "<p>zoexplore</p>"),
        host("zx-tabs", "tabs", f"<div>{titles}</div>"),
        host("", "first_tools"),
    )
    figure = host("zx-chart", "chart figure", '<div class="chart"></div>')
    answer = (
        host("", "text question", f"<h1>{QUESTION}</h1>"),
        host("zx-front zx-two", "front", *front),
        host(
            "zx-publish",
            "view",
            host("", "first_row stage", figure, '<div style="min-height:280px"></div>'),
        ),
        host("", "first_more"),
    )
    parts = (
        host("zx-header", "row", host("zx-heading", "first_row heading", *heading)),
        host("zx-controls", "first_dials", "<i></i>"),
        host("zx-answer", "", *answer),
    )
    still = host("zx-room", "room", host("zx-explorer", "explorer", *parts))
    return still + (_drawing(explorer.publish.chart) if numbers else "")


def host(classes: str, sheets: str, *inside: str) -> str:
    """An element whose style is its own, as every component of the live page is."""
    style = theme.css("first_host", *sheets.split())
    return f'<div class="{classes}"><template shadowrootmode="open"><style>{style}</style>{"".join(inside)}</template></div>'


def _drawing(chart: Chart) -> str:
    """The figure's own script, with what it draws."""
    lines = []
    for line in chart.lines:
        seen = np.isfinite(line["y"]) & (line["y"] < 2 * chart.given["up"]["end"])
        lines.append(
            line | {axis: [float(f"{each:.4g}") for each in line[axis][seen]] for axis in "xy"}
        )
    given = json.dumps(chart.given | {"lines": lines}).replace("<", "\\u003c")
    return f"<script>{{{script('chart', 'first')}new Chart(find(document)).set({given})}}</script>"
