"""The controls: eight always in view, and everything else in one fold."""

from collections.abc import Callable
from html import escape
from math import inf
from typing import Any

import panel as pn
import param

from zoexplore.questions.risk import remark_on_delta
from zoexplore.run.fields import FIELDS, OPTIONS
from zoexplore.run.formatting import format_count, format_exact, format_short, format_typed
from zoexplore.run.presets import DEMONSTRATION
from zoexplore.run.setting import NEIGHBOURS, Setting
from zoexplore.views.address import Teaching
from zoexplore.views.component import Text
from zoexplore.views.html import written
from zoexplore.views.state import State
from zoexplore.views.style import theme, widgets
from zoexplore.views.style.inputs import FieldSentence, Ladder, Quick, decades, interval

HINTS = {  # explanations beside the labels of the fold
    "R": "The iterates are projected onto a ball of this radius; ∞ for no ball.",
    "eta": "Left empty, it follows K/M.",
    "lipschitz": (
        "How steep a record's loss may be. Up to Δ the clip never acts. Above it, or at ∞ if nothing is known, it may act. Then "
        "only the ridge outside the clip pulls two runs together; the table says how large it must be."
    ),
    "linear": (
        "Each record's loss depends on the parameters only through one weighted sum of them, as in logistic, Poisson or "
        "least-squares regression, and has no regulariser of its own. A loss over several classes at once is not of this kind. "
        "The sharper bound is lower for linear models where the clip may act or ξ is not 0."
    ),
    "releases": "How many iterates are released, evenly spaced, the last included. Choosing among them then costs nothing more.",
    "records_per_person": "The most records that one person has. ε protects the person, with all of them.",
    "clipping": "Δ limits each of a record's K quotients, or the length of all K as a vector, which keeps its direction. Where "
    "it may act, a joint one needs the stronger ridge for hiding to help.",
    "neighbours": "The two cases that an attacker tries to distinguish: this record or another one, or this record or none.",
}
MENUS = {  # of a field: what its menu says
    "regime": "regime of the loss",
    "clipping": "the clip limits",
    "neighbours": "neighbours",
    "sampling": "batches are",
    "conversion": "conversion",
    "sensitivity": "sensitivity",
    "schedule": "noise share",
}
SUPPOSED: dict[str, dict[str, Any]] = {  # of a record's gradient: L, and how a record is counted
    "nothing": {"lipschitz": inf, "sensitivity": "least"},
    "length": {"lipschitz": DEMONSTRATION.lipschitz, "sensitivity": "least"},
    "clip": {"lipschitz": None, "sensitivity": "clip"},
}
SLIDERS = ("K", "beta", "sigma", "n", "batch", "d", "T")
ENDS = {"K": "d", "batch": "n"}  # of a slider: the field that ends it
COOLED = ("cooldown", "cooldown_beta")
# of a sampling and neighbours that no bound covers: why, what to count instead, and what that means
MISFITS = {
    ("poisson", "replace-one"): (
        "Poisson batches are covered with one record added or removed.",
        "Add or remove one",
        "A replaced record counts as two, one removed and one added: 2ε at (1 + e^ε)δ.",
    ),
    ("without-replacement", "add-remove"): (
        "Batches of one size are covered with one record replaced.",
        "Replace one",
        "Both data sets have n records now, of which one is another.",
    ),
}
_BESIDE = (2, 0, 0, 0)  # the margin of a box below its number
IN_FOLD = (
    "R",
    "eta",
    "clip",
    "M",
    "m",
    "ridge",
    "xi",
    "delta",
    "lipschitz",
    "releases",
    "records_per_person",
)


def ladder_of(state: State, name: str) -> Ladder:
    """The values of a field's slider; those of K end at d, of a batch at n."""
    field = FIELDS[name]
    if field.linear:
        return interval(field.low, field.high, 0.01)
    return decades(
        field.low, getattr(state, ENDS[name]) if name in ENDS else field.high, field.whole
    )


def flaw(state: State, field: str, widget: Any, holder: Any) -> None:
    """At the end of a control's holder say why the shown view cannot take its value."""
    line = widgets.html("", "flaw")
    parts, looks = list(holder), widget.css_classes

    def mark(*_: Any) -> None:
        why = state.flaws.get(field)
        line.object = f'<p role="alert">▲ {escape(why or "")}</p>'
        holder.objects, widget.css_classes = (
            ([*parts, line], [*looks, "zx-flawed"]) if why else (parts, looks)
        )

    state.param.watch(mark, "flaws")
    mark()


class Field(pn.viewable.Viewer):
    """One number of the state as text: type it and press Enter. The state explains what it refuses."""

    def __init__(self, state: State, field: str, **params: Any) -> None:
        super().__init__(**params)
        self.state, self.field = state, field
        sheets = ["number", *(["symbol"] if len(FIELDS[field].symbol) == 1 else [])]  # no word
        self.text = widgets.field(FIELDS[field].caption, *sheets, value=self.shown())
        self.inputs = [self.text]
        self.text.param.watch(self._typed, "value")
        state.param.watch(self.show, [field, *(("K", "M") if field == "eta" else ())])

    def shown(self) -> str:
        """The value as text; a step size that follows K/M is shown as that number."""
        value = getattr(self.state, self.field)
        if value is not None or self.field != "eta":
            return format_typed(value) if value is not None else FIELDS[self.field].left_out
        eta = self.state.setting.eta
        return "not set" if eta is None else format_exact(float(f"{eta:.5g}"))

    def show(self, *_: Any) -> None:
        """Write the value into the text."""
        self.text.value = self.shown()

    def _typed(self, event: Any) -> None:
        if event.new != self.shown():
            self.state.ask_text(self.field, event.new)
            self.show()

    def __panel__(self) -> pn.viewable.Viewable:
        return self.text


class Dial(Field):
    """A field with a slider under it; beta's has the cool-down below, the batch's how batches are
    drawn.
    """

    def __init__(self, state: State, field: str, **params: Any) -> None:
        super().__init__(state, field, **params)
        self.ladder = ladder_of(state, field)
        self.slider = Quick(
            value=self._rung(),
            start=0,
            end=self.ladder.top,
            step=1,
            show_value=False,
            tooltips=False,
            tags=self._said(),
            **widgets.look("slider", **theme.STRETCH),
        )
        self.inputs += [self.slider]
        self.below: Any = BELOW[field](state) if field in BELOW else None
        more = [self.below] if self.below else []
        self.whole = widgets.component("dial", self.text, self.slider, *more, sheet="")
        flaw(state, field, self.text, self.whole)
        self.slider.param.watch(self._moved, "value")
        self.slider.param.watch(self._released, "value_throttled")
        if field in ENDS:
            state.param.watch(self._reach, ENDS[field])

    def show(self, *_: Any) -> None:
        super().show()
        self.slider.param.update(value=self._rung(), tags=self._said())

    def _rung(self) -> int:
        """The rung of the value; all records are the last one."""
        value = getattr(self.state, self.field)
        return self.ladder.top if value is None else self.ladder.rung(value)

    def _said(self) -> list[Any]:
        """For screen readers: its name, and the value on the current rung, which need not be the
        rung's own.
        """
        return [FIELDS[self.field].caption, self._rung(), self.shown()]

    def _moved(self, event: Any) -> None:
        if event.new != self._rung():
            # its last move may come after its release
            released = event.new == self.slider.value_throttled
            change = self.state.ask if released else self.state.slide
            value = (
                None
                if self.field == "batch" and event.new >= self.ladder.top
                else self.ladder.value(event.new)
            )
            with pn.io.hold():  # the figure and the number beside the slider are one message
                change(**{self.field: value})
                self.show()

    def _released(self, event: Any) -> None:
        if event.new == self.slider.value:
            self.state.moving = False

    def _reach(self, *_: Any) -> None:
        """End the slider at the field that ends it now."""
        self.ladder = ladder_of(self.state, self.field)
        self.slider.param.update(end=self.ladder.top, value=self._rung())

    def __panel__(self) -> pn.viewable.Viewable:
        return self.whole


def cooldown(state: State) -> FieldSentence:
    """How many steps at the end have another share of their noise along the directions, and which."""

    def said(s: Setting) -> str:
        words = "the last {cooldown} steps with β = {cooldown_beta}"
        if s.cooldown >= s.T:
            return (
                f"{words}: that is all {format_count(s.T)}, and none has β = {format_short(s.beta)}"
            )
        same = s.cooldown and s.beta_at(s.T - 1) == s.beta
        return (
            f"{words}, as all others: nothing changes. Take β = 1 for those before"
            if same
            else words
        )

    return FieldSentence(state, said, "tiny_blanks")


class Drawn(pn.viewable.Viewer):
    """How batches are drawn, and where no bound covers them with these neighbours, the ones with
    which it does.
    """

    def __init__(self, state: State) -> None:
        super().__init__()
        self.state, self.menu = state, menu(state, "sampling")
        self.why, self.switch = widgets.html("", "flaw"), widgets.button("", self._switch)
        self.misfit = widgets.stack(self.why, self.switch)
        self.parts = widgets.stack(self.menu, self.misfit)
        state.param.watch(self._show, "setting")
        self._show()
        flaw(state, "sampling", self.menu, self.parts)

    def _show(self, *_: Any) -> None:
        why, label, self._note = MISFITS.get(
            (self.state.sampling, self.state.neighbours), ("", "", "")
        )
        self.why.object, self.switch.label = f"<p>▲ {why}</p>", label
        self.misfit.visible, self.parts.visible = bool(why), not self.state.setting.full_batch

    def _switch(self) -> None:
        note = self._note
        self.state.ask(neighbours=next(who for who in NEIGHBOURS if who != self.state.neighbours))
        self.state.note = note

    def __panel__(self) -> pn.viewable.Viewable:
        return self.parts


BELOW: dict[str, Callable[[State], Any]] = {"beta": cooldown, "batch": Drawn}


def follow(widget: Any, state: State, field: str) -> Any:
    """Keep a widget and one of the state's fields equal."""
    return widgets.mirror(
        widget,
        state,
        [field],
        lambda: {"value": getattr(state, field)},
        lambda value: state.ask(**{field: value}),
    )


def menu(state: State, field: str, made: Callable[..., Any] = widgets.select) -> Any:
    """A menu of a field's options, or a row of them."""
    options = {name: option for option, name in OPTIONS[field].items()}
    return follow(made(MENUS[field], options), state, field)


class Controls(pn.viewable.Viewer):
    """Controls of the whole state, a given one that other components share, or a new one."""

    sole = param.String("", doc="the one field whose dial is shown, or none; empty for all")

    def __init__(
        self, state: State | None = None, teaching: Teaching | None = None, **params: Any
    ) -> None:
        super().__init__(**params)
        self.state, self.teaching = state or State(), teaching or Teaching()
        self.dials = {field: Dial(self.state, field) for field in SLIDERS}
        self.fields = {f: Field(self.state, f) for f in IN_FOLD}
        self.options = {
            "regime": menu(self.state, "regime", widgets.radio),
            "linear": follow(
                widgets.box("a linear model, one score a record", False, margin=_BESIDE),
                self.state,
                "linear",
            ),
            **{
                field: menu(self.state, field)
                for field in MENUS
                if field not in ("regime", "sampling")
            },
        }
        self.known = self._known()
        self.cooldown, self.drawn = self.dials["beta"].below, self.dials["batch"].below
        self.top: list[pn.viewable.Viewable] = []  # above the dials: presets and reset
        self.notice = Text("", **widgets.look("notice", margin=0))
        self.by_task = widgets.html("", "by_task")  # in place of what the reader does not set
        # that come and go, by the field of each
        self._parts: dict[str, Any] = {"by_task": self.by_task}
        self.state.param.watch(self._write_notice, ["refusal", "note", "setting"])
        self.state.param.watch(self._narrow, "by_task")
        self.param.watch(self._narrow, "sole")
        self._write_notice()
        self._narrow()

    def _narrow(self, *_: Any) -> None:
        """Lock the fields that a link for teaching locks, or that the shown view sets, and show the
        others, or the sole one.
        """
        given = self.state.by_task
        locked = self.cooldown.locked = {*self.teaching.lock, *given}
        self.cooldown.show()
        self.cooldown.visible = not self.sole  # one control is one
        inputs = [
            (control.field, each)
            for control in (*self.dials.values(), *self.fields.values())
            for each in control.inputs
        ]
        for field, widget in (
            *inputs,
            *self.options.items(),
            ("lipschitz", self.known),
            ("sampling", self.drawn.menu),
        ):
            widget.disabled = field in locked
        self.by_task.object = f"<p>{escape('; '.join(dict.fromkeys(given.values())))}</p>"
        for field, part in self._parts.items():
            part.visible = self.sole in ("", field) and (
                bool(given) if field == "by_task" else field not in given
            )

    def _known(self) -> pn.widgets.Select:
        """A menu of the field L, the known bound on a record's gradient, on which every ε rests."""

        def shown() -> dict[str, Any]:
            L, by_clip = self.state.lipschitz, self.state.sensitivity == "clip"
            length = "Δ" if L is None else format_short(L) if L < inf else "1"
            kinds = "of any length, clipped", f"at most {length} long"
            options = dict(zip((*kinds, "clipped, at most Δ (the paper)"), SUPPOSED, strict=True))
            return {
                "options": options,
                "value": "nothing" if L == inf else "clip" if by_clip else "length",
            }

        return widgets.mirror(
            widgets.select("one record's gradient is", {}, "known"),
            self.state,
            ["lipschitz", "sensitivity"],
            shown,
            lambda kind: self.state.ask(**SUPPOSED[kind]),
        )

    def _write_notice(self, *_: Any) -> None:
        refusal, remark = self.state.refusal, remark_on_delta(self.state.setting)
        refused = refusal and f"{refusal}. Nothing was changed."
        lines = (refused, "refused"), (self.state.note, "note"), (remark and f"{remark}.", "note")
        said = written("page", "notice", lines)
        self.notice.param.update(object=said, visible=bool(said))

    def __panel__(self) -> pn.viewable.Viewable:
        regime = widgets.stack(
            widgets.label("the loss is"), self.options["regime"], css_classes=["zx-dial"]
        )
        dials = {field: dial.whole for field, dial in self.dials.items()}
        parts = {**dials, "regime": regime, "lipschitz": self.known, "by_task": self.by_task}
        also = {"beta": COOLED, "batch": ("sampling",), "by_task": ("regime",)}
        parts = {
            field: part
            for field, part in parts.items()
            if self.teaching.shows(field, *also.get(field, ()))
        }
        fold, top = self._fold(), widgets.row("top", *self.top)
        self._parts = {**parts, "fold": fold, "top": top}
        self._narrow()
        return widgets.component(
            "settings",
            *([top] if self.top and self.teaching.shows("tools") else []),
            *parts.values(),
            self.notice,  # below the dials, so that none moves under the reader's hand
            *([fold] if len(fold) else []),
            sheet="controls",
        )

    def _fold(self) -> pn.Card:
        inputs = {name: field.text for name, field in self.fields.items()} | self.options
        shown = [
            widgets.stack(widget, widgets.short(f"<p>{HINTS[name]}</p>", "hint"))
            if name in HINTS
            else widget
            for name, widget in inputs.items()
            if name != "regime" and self.teaching.shows(name)
        ]
        # open, so that a link's fields show
        return widgets.fold("More settings", *shown, collapsed=not self.teaching.show)
