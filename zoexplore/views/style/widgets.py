"""Panel's widgets and panes in the page's style, and pieces of HTML for several views.

A widget of the kind "button", for example, has the style sheet `button` and the class `zx-button`.
`sheets` are the names of further style sheets (`stylesheets.css`); other arguments go to Panel.
"""

from collections.abc import Callable
from html import escape
from typing import Any

import panel as pn
import param

from zoexplore.views.component import Component, Text
from zoexplore.views.style import stylesheets


def look(kind: str, *sheets: str, **more: Any) -> dict[str, Any]:
    """Return Panel's arguments for a component: the class and the style sheets of its `kind`, those
    named in `sheets`, and `more`.
    """
    return {"css_classes": [f"zx-{kind}"], "stylesheets": [stylesheets.css(kind, *sheets)], **more}


def html(text: str = "", *sheets: str, **more: Any) -> Text:
    """Make a text that fills the width."""
    return Text(text, stylesheets=[stylesheets.css("text", *sheets)], **stylesheets.STRETCH | more)


def short(text: str = "", *sheets: str, **more: Any) -> Text:
    """Make a text as wide as its words, for a row or a cell."""
    return html(text, *sheets, sizing_mode=None, **more)


def answer(kind: str) -> Text:
    """Make a view's text, which can be marked as out of date (`View.veil`)."""
    return Text(
        "",
        css_classes=[f"zx-{kind}"],
        stylesheets=[stylesheets.root("text", kind, "waiting")],
        **stylesheets.STRETCH,
    )


def label(text: str, *sheets: str) -> Text:
    """Make the label of a row or group of widgets."""
    return short(f'<p class="label">{text}</p>', *sheets)


def button(
    text: str, do: Callable[[], Any] | None = None, *sheets: str, **more: Any
) -> pn.widgets.Button:
    """Make a button; a click calls `do`."""
    made = pn.widgets.Button(label=text, **look("button", *sheets, margin=0) | more)
    if do:
        made.on_click(lambda _: do())
    return made


def copier(text: str, copied: str = "") -> pn.widgets.Button:
    """Make a button that copies its first tag to the clipboard and says so. If the tag is empty,
    the button copies the page's address.
    """
    made = button(text, tags=[copied])
    # do not pass the button to the code as an argument: that would keep it in memory for good
    made.js_on_click(code=_COPY.replace("LABEL", text))
    return made


_COPY = """
const button = source, shape = Bokeh.index.find_one(button)?.el;
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


def select(
    text: str, options: Any, *sheets: str, of: param.Parameter | None = None, **more: Any
) -> pn.widgets.Select:
    """Make a menu; link it to the param `of` if given."""
    given = look("select", "arrow", *sheets, **stylesheets.STRETCH, **more)
    return _choice(pn.widgets.Select, of, label=text, options=options, description=None, **given)


def radio(
    name: str, options: Any, *sheets: str, of: param.Parameter | None = None, **more: Any
) -> pn.widgets.RadioBoxGroup:
    """Make a row of options; link it to the param `of` if given. Only screen readers get its name."""
    given = look("radio", *sheets, **stylesheets.STRETCH) | more
    return _choice(
        pn.widgets.RadioBoxGroup, of, label="", options=options, inline=True, tags=[name], **given
    )


def _choice(kind: Any, of: param.Parameter | None, **given: Any) -> Any:
    return kind.from_param(of, **given) if of else kind(**given)


def mirror(
    widget: Any,
    state: param.Parameterized,
    shown: Callable[[], dict[str, Any]],
    chosen: Callable[[Any], Any],
) -> Any:
    """Keep a widget's params equal to what `shown` returns as the state changes. Call `chosen` with
    each value that the reader chooses; then show the state again, which may have refused it.
    """
    following = False

    def show(*_: Any) -> None:
        nonlocal following
        following = True
        widget.param.update(**shown())
        following = False

    def choose(event: Any) -> None:
        if not following:
            chosen(event.new)
            show()

    show()
    state.param.watch(show, ["setting", "accounting"])
    widget.param.watch(choose, "value")
    return widget


def field(text: str, *sheets: str, **more: Any) -> pn.widgets.TextInput:
    """Make a text input."""
    return pn.widgets.TextInput(label=text, **look("field", *sheets, **stylesheets.STRETCH, **more))


def box(text: str, value: bool, **more: Any) -> pn.widgets.Checkbox:
    """Make a checkbox."""
    return pn.widgets.Checkbox(
        label=text,
        value=value,
        **{"stylesheets": [stylesheets.css("check")], "margin": (2, 14, 2, 0)} | more,
    )


def download(
    text: str, filename: str, callback: Callable[[], Any], **more: Any
) -> pn.widgets.FileDownload:
    """Make a button that saves what `callback` returns as a file."""
    return pn.widgets.FileDownload(
        label=text,
        filename=filename,
        callback=callback,
        icon=None,
        **look("button", margin=0) | more,
    )


def row(kind: str, *parts: Any, **more: Any) -> pn.Row:
    """Lay out parts side by side over the whole width."""
    return pn.Row(*parts, **look(kind, **stylesheets.STRETCH) | more)


def tools(*parts: Any, margin: Any = 0) -> pn.Row:
    """Lay out buttons and their labels in a row that wraps."""
    return pn.Row(*parts, **look("tools", margin=margin))


def stack(*parts: Any, **more: Any) -> pn.Column:
    """Lay out parts below each other."""
    return pn.Column(*parts, **stylesheets.STRETCH | more)


def fold(title: str, *parts: Any, collapsed: bool = True) -> pn.Card:
    """Fold parts away under a title. A click on the title shows them."""
    header = short(f"<h2>{escape(title)}</h2>", "head")
    return pn.Card(
        *parts,
        title=title,
        header=header,
        collapsed=collapsed,
        **look("fold", **stylesheets.STRETCH),
    )


def component(name: str, *parts: Any, sheet: str = "view", **more: Any) -> Component:
    """Make a component of several parts, such as a view or an area of the page. It also looks right
    in a notebook.
    """
    sheets = [stylesheets.root(*([sheet] if sheet else []))]
    return Component(
        *parts, css_classes=[f"zx-{name}"], stylesheets=sheets, **stylesheets.STRETCH | more
    )


def later(holder: pn.layout.ListLike) -> None:
    """Render the parts of a holder when first needed: when a card opens, or when another holder
    becomes visible.

    The parts exist and follow the state from the start. Only their models are made later, so that
    the page opens sooner.
    """
    switch = "collapsed" if isinstance(holder, pn.Card) else "visible"
    closed = switch == "collapsed"
    if getattr(holder, switch) != closed:
        return
    parts, holder.objects = list(holder), []

    def open_(*_: Any) -> None:
        holder.param.unwatch(watcher)
        holder.objects = [*parts, *holder]

    watcher = holder.param.watch(open_, switch)


def warning(words: str) -> str:
    """Return an error's words as HTML that screen readers announce at once."""
    return f'<p class="warn" role="alert">{escape(words)}</p>'


def link(url: str, words: str) -> str:
    """Return a link that opens in a new tab."""
    return f'<a href="{url}" target="_blank" rel="noopener">{words}</a>'


def unbroken(words: str) -> str:
    """Return a text whose lines do not break within an equation."""
    return words.replace(" = ", "\u00a0=\u00a0")
