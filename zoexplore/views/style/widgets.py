"""Panel's widgets and panes as the page has them, and pieces of HTML that several views write.

Each widget has the style sheets of its kind, and its kind as its class, `zx-kind`. `sheets` are the names of further style sheets
(`theme.css`); whatever else is given goes to Panel as it is.
"""

from collections.abc import Callable, Iterable, Sequence
from html import escape
from typing import Any

import panel as pn
import param

from zoexplore.views.notebooks import Component
from zoexplore.views.style import theme


def look(kind: str, *sheets: str, **more: Any) -> dict[str, Any]:
    """What a component of a kind is given."""
    return {"css_classes": [f"zx-{kind}"], "stylesheets": [theme.css(kind, *sheets)], **more}


def html(text: str = "", *sheets: str, **more: Any) -> pn.pane.HTML:
    """Text that fills the width."""
    return pn.pane.HTML(text, stylesheets=[theme.css("text", *sheets)], **theme.STRETCH | more)


def short(text: str = "", *sheets: str, **more: Any) -> pn.pane.HTML:
    """Text as wide as it is, for a row or a cell."""
    return pn.pane.HTML(text, stylesheets=[theme.css("text", *sheets)], **{"margin": 0} | more)


def answer(kind: str) -> pn.pane.HTML:
    """Text that a view writes, and that shows while it is of an earlier state (`View.veil`)."""
    return pn.pane.HTML("", css_classes=[f"zx-{kind}"], stylesheets=[theme.root("text", kind, "waiting")], **theme.STRETCH)


def label(text: str, *sheets: str) -> pn.pane.HTML:
    """What a row or a group of widgets is about."""
    return short(f'<p class="label">{text}</p>', *sheets)


def button(text: str, do: Callable[[], Any] | None = None, *sheets: str, **more: Any) -> pn.widgets.Button:
    """A button with its action."""
    made = pn.widgets.Button(label=text, **look("button", *sheets, margin=0) | more)
    if do:
        made.on_click(lambda _: do())
    return made


def toggle(text: str, *sheets: str, **more: Any) -> pn.widgets.Toggle:
    """A toggle button."""
    return pn.widgets.Toggle(label=text, **look("button", *sheets, margin=0) | more)


def copier(text: str, copied: str = "", before: str = "") -> pn.widgets.Button:
    """A button that copies a text to the clipboard, the page's address where there is none, and says so.

    The text is the first tag of the `button`, which the script `before` may write.
    """
    made = button(text, tags=[copied])
    made.js_on_click(args={"button": made}, code=before + _COPY.replace("LABEL", text))
    return made


_COPY = """
const shape = Bokeh.index.find_one(button)?.el;
const say = (label) => {
  if (shape) shape.style.minWidth = `${shape.offsetWidth}px`;  // so that nothing beside it moves
  button.label = label;
  setTimeout(() => { button.label = "LABEL"; }, 1800);
};
const text = button.tags[0] || window.location.href;
const by_hand = () => window.prompt("This browser does not let a page copy. Copy it by hand:", text);
if (navigator.clipboard) navigator.clipboard.writeText(text).then(() => say("Copied"), by_hand);
else by_hand();
"""


def select(text: str, options: Any, *sheets: str, of: param.Parameter | None = None, **more: Any) -> pn.widgets.Select:
    """A menu, if of a param, then with its value."""
    given = look("select", "arrow", *sheets, **theme.STRETCH, **more)
    return _choice(pn.widgets.Select, of, label=text, options=options, description=None, **given)


def radio(name: str, options: Any, *sheets: str, of: param.Parameter | None = None, **more: Any) -> pn.widgets.RadioBoxGroup:
    """A row of which one is chosen, if of a param, then with its value; it is named for screen readers only."""
    given = look("radio", *sheets, **theme.STRETCH) | more
    return _choice(pn.widgets.RadioBoxGroup, of, label="", options=options, inline=True, tags=[name], **given)


def _choice(kind: Any, of: param.Parameter | None, **given: Any) -> Any:
    return kind.from_param(of, **given) if of else kind(**given)


def field(text: str, *sheets: str, **more: Any) -> pn.widgets.TextInput:
    """A line to type into."""
    return pn.widgets.TextInput(label=text, **look("field", *sheets) | (theme.STRETCH if "width" not in more else {}) | more)


def box(text: str, value: bool, **more: Any) -> pn.widgets.Checkbox:
    """A box to tick."""
    return pn.widgets.Checkbox(label=text, value=value, **{"stylesheets": [theme.css("check")], "margin": (2, 14, 2, 0)} | more)


def download(text: str, filename: str, callback: Callable[[], Any], **more: Any) -> pn.widgets.FileDownload:
    """A button that saves what `callback` returns as a file."""
    return pn.widgets.FileDownload(label=text, filename=filename, callback=callback, icon=None, **look("button", margin=0) | more)


def bar(name: str) -> pn.indicators.Progress:
    """How far something is, in percent."""
    sheet = [theme.css("bar")]
    return pn.indicators.Progress(
        value=0, max=100, width=120, height=8, margin=(0, 10, 0, 0), align="center", tags=[name], stylesheets=sheet
    )


def row(kind: str, *parts: Any, **more: Any) -> pn.Row:
    """Parts beside each other, in the layout of their kind, over the whole width."""
    return pn.Row(*parts, **look(kind, **theme.STRETCH) | more)


def tools(*parts: Any, margin: Any = 0) -> pn.Row:
    """Buttons and their labels in a row that wraps."""
    return pn.Row(*parts, **look("tools", margin=margin))


def pairs(*labelled: Sequence[Any]) -> pn.Row:
    """Buttons in a row that wraps, none of which is parted from its label."""
    return pn.Row(*(tools(*pair) for pair in labelled), **look("tools", "pairs", margin=0))


def column(kind: str, *parts: Any, **more: Any) -> pn.Column:
    """Parts in the layout of their kind, over the whole width."""
    return pn.Column(*parts, **look(kind, **theme.STRETCH) | more)


def stack(*parts: Any, **more: Any) -> pn.Column:
    """Parts below each other."""
    return pn.Column(*parts, **theme.STRETCH | more)


def fold(title: str, *parts: Any, collapsed: bool = True) -> pn.Card:
    """What is shown when its title is clicked."""
    header = short(f"<h3>{escape(title)}</h3>", "head")  # Panel's own is as small in a lecture as anywhere
    return pn.Card(*parts, title=title, header=header, collapsed=collapsed, **look("fold", **theme.STRETCH))


def component(name: str, *parts: Any, sheet: str = "view", **more: Any) -> Component:
    """Parts as a component that looks right wherever it is, in a notebook's cell too: a view, or an area of the page."""
    sheets = [theme.root(*([sheet] if sheet else []))]
    return Component(*parts, css_classes=[f"zx-{name}"], stylesheets=sheets, **theme.STRETCH | more)


def later(holder: pn.layout.ListLike) -> None:
    """Have a holder's parts rendered when they are first looked at: a card's when it is opened, others' when they are visible.

    They exist, keep up with the state and can be asked; it is their models that a page opens sooner without.
    """
    switch = "collapsed" if isinstance(holder, pn.Card) else "visible"
    closed = switch == "collapsed"
    if getattr(holder, switch) != closed:
        return
    parts, holder.objects = list(holder), []

    def open_(*_: Any) -> None:
        holder.param.unwatch(watcher)
        holder.objects = parts

    watcher = holder.param.watch(open_, switch)


def status(words: str) -> str:
    """How something stands, which screen readers say when they come to it. `words` is text, as in all that follows."""
    return f'<p role="status">{escape(words)}</p>'


def warning(words: str) -> str:
    """What went wrong, which screen readers say at once."""
    return f'<p class="warn" role="alert">{escape(words)}</p>'


def link(url: str, words: str) -> str:
    """A link that opens beside the page."""
    return f'<a href="{url}" target="_blank" rel="noopener">{words}</a>'


def details(title: str, inner: str) -> str:
    """What is shown when its title is clicked; both are HTML."""
    return f"<details><summary>{title}</summary>{inner}</details>"


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
    kept = [0, *(at for at in range(1, len(titles)) if any(row[at] not in ("", "–") for row in rows))]
    head = "".join(f'<th scope="col">{escape(titles[at])}</th>' for at in kept)
    cells = ("".join(f"<td>{escape(row[at])}</td>" for at in kept[1:]) for row in rows)
    body = "".join(f'<tr><th scope="row">{escape(row[0])}</th>{each}</tr>' for row, each in zip(rows, cells, strict=True))
    inner = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    return region(label, inner, "wide")
