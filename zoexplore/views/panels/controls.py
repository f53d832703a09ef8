"""The controls: eight always in view, and everything else in one fold."""

from functools import partial
from html import escape
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
import panel as pn
import param
import yaml

from zoexplore.questions.statement import remark_on_delta
from zoexplore.run.fields import FIELDS, OPTIONS
from zoexplore.run.formatting import format_short
from zoexplore.run.presets import DEMONSTRATION
from zoexplore.run.setting import Setting
from zoexplore.views.address import Teaching
from zoexplore.views.component import Text
from zoexplore.views.html import written
from zoexplore.views.state import State
from zoexplore.views.style import stylesheets, widgets
from zoexplore.views.style.inputs import FieldSentence, Quick, nearest, rungs, typed

HINTS, MENUS, COVERED = yaml.safe_load(
    Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8")
).values()
SUPPOSED: dict[str, dict[str, Any]] = {  # fields by what is known of a gradient
    "nothing": {"lipschitz": inf, "sensitivity": "least"},
    "length": {"lipschitz": DEMONSTRATION.lipschitz, "sensitivity": "least"},
    "clip": {"lipschitz": None, "sensitivity": "clip"},
}
SLIDERS = ("K", "beta", "sigma", "n", "batch", "d", "T")
ENDS = {"K": "d", "batch": "n"}  # for a slider with a moving end: the field whose value is the end
COOLED = ("cooldown", "cooldown_beta")
_BESIDE = (2, 0, 0, 0)  # the margin of a box below its number
IN_FOLD = tuple(field for field in HINTS if field in FIELDS)
# by part of the panel: the other names that a link for teaching may use for it
ALSO = {"beta": COOLED, "batch": ("sampling",), "by_task": ("regime",), "top": ("tools",)}
ALSO |= {"fold": (*IN_FOLD, *HINTS, *MENUS)}


def values_of(state: State, name: str) -> np.ndarray:
    """Return the values on a field's slider. The slider of K ends at d, and that of a batch at n."""
    field = FIELDS[name]
    high = getattr(state, ENDS[name]) if name in ENDS else field.high
    return rungs(field.low, high, field.whole, field.linear)


def flaw(state: State, field: str) -> Text:
    """Make a line of text that says why the current view cannot use a field's value."""
    line = widgets.html("", "flaw", visible=False)

    def mark(*_: Any) -> None:
        why = state.flaws.get(field, "")
        line.param.update(object=f'<p role="alert">▲ {escape(why)}</p>', visible=bool(why))

    state.param.watch(mark, "flaws")
    mark()
    return line


def number(state: State, field: str) -> pn.widgets.TextInput:
    """Make a text input for a field. The state says why it refuses a text."""
    symbol = ["symbol"] if len(FIELDS[field].symbol) == 1 else []  # a symbol, not a word
    return widgets.mirror(
        widgets.field(FIELDS[field].caption, "number", *symbol),
        state,
        lambda: {"value": typed(state.setting, field)},
        lambda text: state.ask_text(field, text),
    )


class Dial(pn.viewable.Viewer):
    """A field's text input with a slider under it, and the `below` controls that belong to it."""

    def __init__(self, state: State, field: str, *below: Any) -> None:
        super().__init__()
        self.state, self.field, self.text = state, field, number(state, field)
        look = widgets.look("slider", **stylesheets.STRETCH)
        self.slider = Quick(start=0, end=1, step=1, show_value=False, tooltips=False, **look)
        widgets.mirror(self.slider, state, self._shown, self._moved)
        self.slider.param.watch(self._released, "value_throttled")
        parts = self.text, self.slider, *below, flaw(state, field)
        self.whole = widgets.component("dial", *parts, sheet="")

    @property
    def values(self) -> np.ndarray:
        """The slider's values."""
        return values_of(self.state, self.field)

    def _shown(self) -> dict[str, Any]:
        """Return the slider's params: its end and its rung, which is the last one for all records.
        `tags` tell screen readers the slider's name and the value, which may lie between two rungs.
        """
        values, value = self.values, getattr(self.state, self.field)
        top = max(len(values) - 1, 1)  # a slider needs a range
        rung = top if value is None else nearest(values, value)
        tags = [FIELDS[self.field].caption, rung, typed(self.state.setting, self.field)]
        return {"end": top, "value": rung, "tags": tags}

    def _moved(self, rung: int) -> None:
        # the slider's last move may arrive after its release
        change = self.state.ask if rung == self.slider.value_throttled else self.state.slide
        every = self.field == "batch" and rung >= self.slider.end
        value = None if every else float(self.values[min(rung, len(self.values) - 1)])
        with pn.io.hold():  # send the figure and the number beside the slider in one message
            change(**{self.field: value})

    def _released(self, event: Any) -> None:
        if event.new == self.slider.value:
            self.state.moving = False

    def __panel__(self) -> pn.viewable.Viewable:
        return self.whole


def cooldown(s: Setting) -> str:
    """Say how many of the last steps have another share of their noise along the directions, and
    which share.
    """
    same = s.cooldown and s.beta_at(s.T - 1) == s.beta
    remark = ", as all others: nothing changes. Take β = 1 for those before" if same else ""
    return f"the last {{cooldown}} steps with β = {{cooldown_beta}}{remark}"


def follow(widget: Any, state: State, field: str) -> Any:
    """Keep a widget and one of the state's fields equal."""
    return widgets.mirror(
        widget,
        state,
        lambda: {"value": getattr(state, field)},
        lambda value: state.ask(**{field: value}),
    )


def options_of(field: str) -> dict[str, str]:
    """Return the options of a field's menu, as values by label."""
    return {name: option for option, name in OPTIONS[field].items()}


def draw(state: State, sampling: str) -> None:
    """Set how batches are drawn, and choose neighbours that the bounds cover with this sampling."""
    before = state.neighbours
    neighbours, note = COVERED.get(sampling, (before, ""))
    state.ask(sampling=sampling, neighbours=neighbours)
    if neighbours != before:
        state.note = note


class Controls(pn.viewable.Viewer):
    """Controls of the whole state. Other components may share a given state."""

    sole = param.String("", doc="the one field whose dial is shown, or none; empty for all")

    def __init__(
        self, state: State | None = None, teaching: Teaching | None = None, **params: Any
    ) -> None:
        super().__init__(**params)
        self.state, self.teaching = state or State(), teaching or Teaching()
        self.fields = {f: number(self.state, f) for f in IN_FOLD}
        self.options = self._options()
        self.known = self._known()
        self.cooldown = FieldSentence(self.state, cooldown, "tiny_blanks")
        self.drawn = widgets.stack(self.options["sampling"], flaw(self.state, "sampling"))
        below = {"beta": self.cooldown, "batch": self.drawn}
        self.dials = {f: Dial(self.state, f, *filter(None, [below.get(f)])) for f in SLIDERS}
        self.top = widgets.row("top")  # above the dials: presets and reset
        self.notice = Text("", **widgets.look("notice", margin=0))
        self.by_task = widgets.html("", "by_task")  # in place of locked controls
        regime = widgets.label("the loss is"), self.options["regime"]
        parts: dict[str, Any] = {
            "top": self.top,
            **{field: dial.whole for field, dial in self.dials.items()},
            "regime": widgets.stack(*regime, css_classes=["zx-dial"]),
            "lipschitz": self.known,
            "by_task": self.by_task,
            "fold": self._fold(),
        }
        shows = self.teaching.shows
        # parts that may be shown, by field
        self.parts = {f: part for f, part in parts.items() if shows(f, *ALSO.get(f, ()))}
        # the notice stands below the dials, so that no dial moves while the reader drags it
        last = [self.notice, *(part for field, part in self.parts.items() if field == "fold")]
        above = [part for field, part in self.parts.items() if field != "fold"]
        self.whole = widgets.component("settings", *above, *last, sheet="controls")
        self.state.param.watch(self._write, ["refusal", "note", "setting"])
        self.state.param.watch(self._narrow, "by_task")
        self.param.watch(self._narrow, "sole")
        self._write()
        self._narrow()

    def _options(self) -> dict[str, Any]:
        """Make the menus and boxes, by field."""
        state, linear = self.state, "a linear model, one score a record"
        made = {field: widgets.select(words, options_of(field)) for field, words in MENUS.items()}
        made["regime"] = widgets.radio(MENUS["regime"], options_of("regime"))
        made["linear"] = widgets.box(linear, False, margin=_BESIDE)
        sampling = made.pop("sampling")
        kept = {field: follow(widget, state, field) for field, widget in made.items()}
        drawn = widgets.mirror(
            sampling, state, lambda: {"value": state.sampling}, partial(draw, state)
        )
        return kept | {"sampling": drawn}

    def _narrow(self, *_: Any) -> None:
        """Lock the fields that a link for teaching locks or that the current view sets. Hide those
        that the view sets, and if there is a sole field, all others.
        """
        given = self.state.by_task
        self.cooldown.locked = {*self.teaching.lock, *given}
        self.cooldown.show()
        self.cooldown.visible = not self.sole  # the cool-down would be a second control
        inputs = [(field, each) for field, dial in self.dials.items() for each in dial.whole[:2]]
        inputs += [*self.fields.items(), *self.options.items(), ("lipschitz", self.known)]
        for field, widget in inputs:
            widget.disabled = field in self.cooldown.locked
        self.by_task.object = f"<p>{escape('; '.join(dict.fromkeys(given.values())))}</p>"
        for field, part in self.parts.items():
            told = bool(given) if field == "by_task" else field not in given
            part.visible = self.sole in ("", field) and told

    def _known(self) -> pn.widgets.Select:
        """Make the menu of L, the known bound on a record's gradient, on which every ε rests."""

        def shown() -> dict[str, Any]:
            L, by_clip = self.state.lipschitz, self.state.sensitivity == "clip"
            length = "Δ" if L is None else format_short(L) if L < inf else "1"
            kinds = "of any length, clipped", f"at most {length} long"
            options = dict(zip((*kinds, "clipped, at most Δ (the paper)"), SUPPOSED, strict=True))
            value = "nothing" if L == inf else "clip" if by_clip else "length"
            return {"options": options, "value": value}

        menu = widgets.select("one record's gradient is", {}, "known")
        return widgets.mirror(
            menu, self.state, shown, lambda kind: self.state.ask(**SUPPOSED[kind])
        )

    def _write(self, *_: Any) -> None:
        refusal, remark = self.state.refusal, remark_on_delta(self.state.setting)
        refused = refusal and f"{refusal}. Nothing was changed."
        lines = (refused, "refused"), (self.state.note, "note"), (remark and f"{remark}.", "note")
        said = written("page", "notice", lines)
        self.notice.param.update(object=said, visible=bool(said))
        self.drawn.visible = not self.state.setting.full_batch

    def _fold(self) -> pn.Card:
        inputs = self.fields | {n: o for n, o in self.options.items() if n in HINTS}
        shown = [
            widgets.stack(widget, widgets.short(f"<p>{HINTS[name]}</p>", "hint"))
            for name, widget in inputs.items()
            if self.teaching.shows(name)
        ]
        # a link for teaching opens the fold, so that its fields are in sight
        return widgets.fold("More settings", *shown, collapsed=not self.teaching.show)

    def __panel__(self) -> pn.viewable.Viewable:
        return self.whole
