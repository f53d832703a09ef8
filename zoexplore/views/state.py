"""The explorer's state: the reader's choices, always valid. Free of Panel."""

from dataclasses import asdict, fields
from typing import Any

import param

from zoexplore.run.fields import FIELDS, in_symbols
from zoexplore.run.formatting import parse_number
from zoexplore.run.presets import DEMONSTRATION
from zoexplore.run.setting import SETTING_FIELDS, Accounting, Setting

OPTIONS = tuple(option.name for option in fields(Accounting))
LONGEST = 40  # characters of a typed number, at most
_DEFAULTS = DEMONSTRATION.as_dict() | asdict(Accounting())
_MEANINGS = {
    "regime": "what the reader knows about the loss",
    "clipping": "what the clip limits",
    "linear": "the clipped loss is a function of one linear form of the parameters",
    "neighbours": "what two datasets differ by",
    "sampling": "how batches are drawn",
    "conversion": "from the shift budget to ε",
    "sensitivity": "what bounds a record's effect on a step",
    "schedule": "the share β along the run",
    "printed": "the constants as printed in the paper, which are no guarantee",
}
_HELD = "K is held at d = {d}: there are no more orthonormal directions than dimensions (asked for: K = {asked})."


def _given(name: str) -> Any:
    """A param with the demonstration run's value. `Setting` and `Accounting` know which values are
    possible.
    """
    return param.Parameter(
        _DEFAULTS[name], doc=FIELDS[name].meaning if name in FIELDS else _MEANINGS[name]
    )


_Values: Any = param.parameterized_class(
    "_Values", {name: _given(name) for name in (*SETTING_FIELDS, *OPTIONS)}
)


class State(_Values):
    """One run's parameters and its accounting as params; `setting` and `accounting` are the
    validated values.

    Setting a param to an impossible value (K above d, m above M) raises `ValueError` and changes
    nothing. `ask` refuses instead, and says why in `refusal`.

    K never exceeds d: if d falls below the requested K, K is held at d, `note` says so, and K
    returns when d does.
    """

    K: int

    setting = param.ClassSelector(class_=Setting, constant=True, doc="the run, validated")
    accounting = param.ClassSelector(
        class_=Accounting, constant=True, doc="how it is accounted, validated"
    )
    refusal = param.String("", doc="why the last change was refused; empty once one is accepted")
    note = param.String("", doc="fields that had to follow the last change")
    moving = param.Boolean(
        False, doc="whether a slider is held, so that more changes are about to come"
    )
    by_task = param.Dict(
        {}, doc="fields that the shown view sets, and not the reader: field -> by what, in words"
    )
    flaws = param.Dict(
        {}, doc="fields whose value the shown view cannot take: field -> why, in words"
    )
    replaced = param.Integer(
        0, doc="how often a whole run took the place of another, as of a preset or an address"
    )

    def __init__(
        self, setting: Setting | None = None, accounting: Accounting | None = None, **params: Any
    ) -> None:
        setting, accounting = setting or DEMONSTRATION, accounting or Accounting()
        super().__init__(**{**setting.as_dict(), **asdict(accounting), **params})
        self._asked_K = self.K
        self._accept(*self._built())

    @param.depends(*SETTING_FIELDS, *OPTIONS, watch=True)
    def _settle(self) -> None:
        """After a joint change of fields: validate, or restore all of them."""
        if self._current() == self._accepted():
            return
        moved_K, moved_d = self.K != self.setting.K, self.d != self.setting.d
        asked = self.K if moved_K else self._asked_K
        K = min(asked, self.d) if moved_d and not moved_K else self.K
        try:
            built = self._built(K=K)
        except ValueError:
            self.param.update(**self._accepted())
            raise
        self._asked_K = asked
        with param.parameterized.batch_call_watchers(self):
            self._accept(*built)
            self.K = K
            self.note = _HELD.format(d=K, asked=asked) if K < asked else ""

    @property
    def run(self) -> tuple[Setting, Accounting]:
        """The run and how it is accounted."""
        return self.setting, self.accounting

    def ask(self, **values: Any) -> bool:
        """Change values together, or refuse them together and say why in `refusal`. Returns whether
        they changed.
        """
        self.moving = False
        return self._ask(values)

    def ask_text(self, field: str, text: str) -> bool:
        """`ask` for a numeric field as a text; what it says where it is left out, or nothing, means
        None.
        """
        left_out = FIELDS[field].left_out
        try:
            if len(text) > LONGEST:
                raise ValueError(f"give a number of at most {LONGEST} characters")
            value = None if left_out and text.strip() in ("", left_out) else parse_number(text)
        except ValueError as error:
            self.refusal = refused(FIELDS[field].symbol, text, error)
            return False
        return self.ask(**{field: value})

    def slide(self, **values: Any) -> bool:
        """`ask` while a slider is held; the history records only the final run."""
        self.moving = True
        return self._ask(values)

    def replace(self, setting: Setting, accounting: Accounting) -> None:
        """Replace the setting and its accounting."""
        self.replaced += 1
        self.ask(**setting.as_dict(), **asdict(accounting))

    def _ask(self, values: dict[str, Any]) -> bool:
        try:
            run = _part(values, SETTING_FIELDS)
            # K is held at d, whatever it is now
            follows = {"K": 1} if "d" in run and "K" not in run else {}
            new = self.setting.replace(**follows, **run).as_dict()
            new |= asdict(self.accounting.replace(**_part(values, OPTIONS)))
            self.param.update(**{name: new[name] for name in values})
        except ValueError as error:
            self.refusal = in_symbols(str(error))
            return False
        self.refusal = ""
        return True

    def _current(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in (*SETTING_FIELDS, *OPTIONS)}

    def _accepted(self) -> dict[str, Any]:
        return {**self.setting.as_dict(), **asdict(self.accounting)}

    def _built(self, **changes: Any) -> tuple[Setting, Accounting]:
        values = self._current() | changes
        return Setting(**_part(values, SETTING_FIELDS)), Accounting(**_part(values, OPTIONS))

    def _accept(self, setting: Setting, accounting: Accounting) -> None:
        with param.edit_constant(self):
            self.param.update(setting=setting, accounting=accounting, refusal="")


def refused(label: str, typed: str, why: ValueError) -> str:
    """The message for an invalid text."""
    if not typed.strip():
        return f"{label} cannot be left empty: {why}"
    equals = " =" if len(label.split()[-1]) == 1 else ""  # after a symbol; a label in words runs on
    return f"{label}{equals} {typed if len(typed) <= LONGEST else f'{typed[:LONGEST]}…'} is not allowed: {why}"


def _part(values: dict[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if name in names}
