"""The first words: what a page sends before its session is made. A still picture of first sight, in the live page's own style
sheets and so in its places, which goes in the frame after the live page is drawn.

Pictures are made of explorers that have been made for others, by their addresses: the default run's when the server starts. Of an
address that is new everything is there but the run's own numbers and curves.
"""

from collections.abc import Iterator
from html import escape
from typing import Any

import numpy as np
from cachetools import LRUCache

from zoexplore.compute.prepare import TAKES, is_prepared
from zoexplore.questions.export import from_query
from zoexplore.questions.statement import in_a_line
from zoexplore.run.fields import FIELDS
from zoexplore.views.explorer import Explorer
from zoexplore.views.figures.publish import CHOICES, NAMES, Publish
from zoexplore.views.panels.controls import Controls
from zoexplore.views.preview import QUESTION, SIZE
from zoexplore.views.style import theme
from zoexplore.views.tabs import TABS, Tabs

MOST, LONGEST = 200, 500  # pictures that are kept, and characters of an address that has one
OTHERS = ("tab=", "story=", "say=", "show=", "lock=", "all=", "publish.", "dark=")  # addresses of another first sight
WORDS = (
    f"<title>zoexplore: {QUESTION.lower()}</title>"
    '<meta name="description" content="The privacy loss of zeroth-order training, by every bound that is known: every step '
    'published, or only the last.">'
)
STILL = "Without scripts these numbers stand still. The command gives any other: zoexplore epsilon run.yaml"
COMPILING = f"""<p class="zx-opens"><b>zoexplore</b> {QUESTION}</p>
<p class="zx-still" role="status">This server is new, and compiles its formulas once: {TAKES}. This page follows by itself.</p>"""
_pictures: LRUCache[str, str] = LRUCache(MOST)


def previewed(search: str, where: str) -> str:
    """What a link shows to whom it is sent: the run in a line and its picture, by the address of the page, where there is a
    server of pictures.
    """
    picture = f"{where}/preview.png{search}" if where else ""
    told = {
        "og:type": "website", "og:site_name": "zoexplore", "og:title": QUESTION,
        "og:description": in_a_line(from_query(search).setting),
        "og:image": picture, "og:image:width": SIZE[0], "og:image:height": SIZE[1],
    }  # fmt: skip
    shown = [(name, value) for name, value in told.items() if picture or "image" not in name]
    card = '<meta name="twitter:card" content="summary_large_image">' if picture else ""
    return card + "".join(f'<meta property="{name}" content="{escape(str(value))}">' for name, value in shown)


def opening(search: str, where: str = "") -> str:
    """The head of a page of this query, and what is shown until it is drawn; `where` is the page's own address, if pictures are
    served below it. The query is only looked up, and written into a link.
    """
    known = _pictures.get(search) or (_pictures.get("") if _is_of_a_run(search) else None)
    picture = known if known is None or search in _pictures else _without_numbers()
    if not _pictures and not is_prepared():
        picture = COMPILING
    return (
        f'<head><meta charset="utf-8">{WORDS}{previewed(search, where)}<link rel="icon" href="./favicon.ico">'
        '<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark">'
        f"<style>:root{{color-scheme:light dark;{theme.VARIABLES}}}{theme.css('page', 'first')}</style>"
        f'<script>{theme.script()}</script></head><body><p class="zx-opens"><b>zoexplore</b> {QUESTION}</p>'
        f'<div class="zx-first" inert>{picture or ""}</div><noscript><p class="zx-still">{STILL}</p></noscript>'
    )


def remember(search: str, explorer: Explorer, anew: bool = False) -> None:
    """Keep the picture of an explorer that has been made, for all later pages of its address; the first one, or this one."""
    if (anew or search not in _pictures) and len(search) <= LONGEST and _is_of_a_run(search) and not explorer.publish.waiting:
        if not search:
            _pictures[_UNKNOWN] = picture(explorer, numbers=False)
        _pictures[search] = picture(explorer)


_UNKNOWN = "#"  # in place of an address, which has no such sign


def _without_numbers() -> str | None:
    return _pictures.get(_UNKNOWN)


def _is_of_a_run(search: str) -> bool:
    return not any(name in search for name in OTHERS)


def picture(explorer: Explorer, numbers: bool = True) -> str:
    """First sight as HTML; without numbers what is the same for every run."""
    tools = explorer.tools
    front = [
        host("zx-switch", "radio switch", f'<div class="bk-input-group">{_choices(explorer.publish)}</div>'),
        host("zx-tools", "first_row first_above", _buttons(explorer.pin, explorer.all_bounds)),
        host("zx-headline", "text headline", explorer.headline.number.object if numbers else _EMPTY),
        host("zx-said", "text said", explorer.headline.odds.object if numbers else "<p></p>"),
        "<div></div>",  # as a row's gap ends the live page's
    ]
    figure = host("", "view figure first_figure", _figure(explorer.publish, numbers))
    answer = [
        host("", "text question", f"<h1>{QUESTION}</h1>"),
        host("zx-front zx-two", "front", "".join(front)),
        host("zx-publish", "view", host("", "first_row stage", f'<div>{figure}</div><div style="min-height:280px"></div>')),
        host("", "first_more", ""),
    ]
    parts = [
        host("zx-header", "row", _heading(explorer.tabs, _buttons(*tools.more, tools.link, tools.dark))),
        host("zx-controls", "", host("zx-settings", "controls first_dials", "".join(_dials(explorer.controls, numbers)))),
        host("zx-answer", "", "".join(answer)),
    ]
    return host("zx-room", "room", host("zx-explorer", "explorer", "".join(parts)))


def _heading(tabs: Tabs, tools: str) -> str:
    titles = (f'<button aria-selected="{str(each == tabs.tab).lower()}">{escape(each)}</button>' for each in TABS)
    bar = host("zx-tabs", "tabs", f"<div>{''.join(titles)}</div>")
    name = host("", "title", "<p>zoexplore</p>")
    return host("zx-heading", "first_row heading", name + bar + host("zx-tools", "first_row", tools))


def _buttons(*widgets: Any) -> str:
    return "".join(host("", "button", f'<button class="bk-btn">{escape(each.label)}</button>') for each in widgets)


_EMPTY = '<p class="epsilon"><i>ε</i> = <b class="bar"></b></p><p class="sentence"></p>'


def host(classes: str, sheets: str, inside: str = "") -> str:
    """An element whose style is its own, as every component of the live page is."""
    style = theme.css("first_host", *sheets.split())
    return f'<div class="{classes}"><template shadowrootmode="open"><style>{style}</style>{inside}</template></div>'


def _choices(publish: Publish) -> str:
    return "".join(
        f'<label><input type="radio"{" checked" if name == publish.publish else ""}><span>{title}</span></label>'
        for title, name in CHOICES.items()
    )


def _dials(controls: Controls, numbers: bool) -> Iterator[str]:
    yield '<div class="top"></div>'
    for name, dial in controls.dials.items():
        place = dial.slider.value / dial.ladder.top
        below = name if name == "beta" or (name == "batch" and dial.below.parts.visible) else ""
        shown = escape(dial.text.value) if numbers else ""
        knob = f'<i style="left:{100 * place:.2f}%"></i>' if numbers else ""
        what = escape(FIELDS[name].caption)
        yield (
            f'<div class="dial {below}"><span class="what">{what}</span><span class="value">{shown}</span>'
            f'<div class="track">{knob}</div></div>'
        )
    yield '<div class="rest"></div>'


def _figure(publish: Publish, numbers: bool) -> str:
    """The curves in a box of a thousand units each way that stretches to the frame's; words lie on it in per cents."""
    given = publish.chart.given if numbers else {}
    lines = [line for line in publish.chart.lines if line["key"] in NAMES]
    marks, curves = "", ""
    if given:
        end, top, T = given["across"]["end"], given["up"]["end"], given["handle"]["at"]
        at = f'style="left:{100 * T / end:.2f}%"'
        curves = "".join(_curve(line, end, top, T) for line in lines)
        pill = f'<span class="pill" {at}>{given["handle"]["label"]}</span><span class="of">{given["across"]["title"]}</span>'
        ticks = [*_ticks(given["across"], "x"), *_ticks(given["up"], "y")]
        marks = "".join([*ticks, f'<hr class="T" {at}>', pill, *(_name(line, top) for line in lines)])
    return (
        f'<p class="title">{escape(given.get("title", ""))}</p><div class="frame" style="{_MARGINS}">'
        f'<svg viewBox="0 0 1000 1000" preserveAspectRatio="none">{curves}</svg>{marks}</div>'
    )


_MARGINS = "--right:158px;--brief:108px"  # for the names, as chart.js leaves them


def _curve(line: dict[str, Any], end: float, top: float, T: float) -> str:
    """One of the two, faint, and up to T as it is drawn at rest."""
    x, y = line["x"], line["y"]
    seen = np.isfinite(y) & (y < 2 * top)
    points = [f"{a:.0f},{b:.1f}" for a, b in zip(1000 * x[seen] / end, 1000 - 1000 * y[seen] / top, strict=True)]
    to_T = points[: int(np.sum(x[seen] <= T))]
    look = f'style="stroke:{_hue(line)}" stroke-width="{line["width"]:g}"'
    faint = max(0.4 * line["alpha"], 0.3)
    return (
        f'<polyline points="{" ".join(points)}" {look} opacity="{faint:g}"/>'
        f'<polyline points="{" ".join(to_T)}" {look} opacity="{line["alpha"]:g}"/>'
    )


def _name(line: dict[str, Any], top: float) -> str:
    """A curve's name and number beside its end, as chart.js places them."""
    seen = line["y"][np.isfinite(line["y"])]
    at = min(float(seen[-1]) / top, 1.0) if seen.size else 1.0
    look = f'style="top:calc({100 - 100 * at:.2f}% - 17px);color:{_hue(line)}"'
    return f'<span class="name{" bold" if line["bold"] else ""}" {look}>{escape(line["name"])}\n{escape(line["note"])}</span>'


def _hue(line: dict[str, Any]) -> str:
    return f"light-dark({line['light']},{line['dark']})"


def _ticks(axis: dict[str, Any], kind: str) -> Iterator[str]:
    """The words at an axis's ticks, by their part of the way to its end; those of y count from below."""
    for at, word in axis["ticks"]:
        share = 100 * at / axis["end"]
        place = f'style="left:{share:.2f}%"' if kind == "x" else f'style="top:{100 - share:.2f}%"'
        yield f'<span class="{kind}" {place}>{escape(word)}</span><hr class="{kind}" {place}>'
