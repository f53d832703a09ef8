"""The explorer's state: the reader's choices, which are always valid. This module does not import
Panel.
"""

from dataclasses import fields
from typing import Any

import param

from zoexplore.run.fields import FIELDS
from zoexplore.run.formatting import parse_number
from zoexplore.run.presets import DEMONSTRATION
from zoexplore.run.refusals import in_symbols
from zoexplore.run.setting import SETTING_FIELDS, Accounting, Setting

OPTIONS = tuple(option.name for option in fields(Accounting))
LONGEST = 40  # the most characters of a typed number
_HELD = "K is held at d = {d}: there are no more orthonormal directions than dimensions (asked for: K = {asked})."


def _of_run(name: str) -> property:
    """Return a property that reads an option, or a field of the run as it was given: an eta that
    follows K/M reads as None.
    """
    if name in OPTIONS:
        return property(lambda state: getattr(state.accounting, name))
    return property(lambda state: state.setting.as_dict()[name])


_Fields: Any = type("_Fields", (), {name: _of_run(name) for name in (*SETTING_FIELDS, *OPTIONS)})


class State(_Fields, param.Parameterized):
    """One run and its accounting. The run's fields and the accounting's options are attributes,
    too. `ask` changes fields and options, or says in `refusal` why it does not.

    K never exceeds d: if d falls below the requested K, the state holds K at d and says so in
    `note`. Once d rises again, so does K, up to the requested value.
    """

    setting = param.ClassSelector(class_=Setting, default=DEMONSTRATION, doc="the run")
    accounting = param.ClassSelector(
        class_=Accounting, default=Accounting(), doc="how it is accounted"
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
        self, setting: Setting | None = None, accounting: Accounting | None = None
    ) -> None:
        super().__init__(setting=setting or DEMONSTRATION, accounting=accounting or Accounting())
        self._asked_K = self.setting.K

    @property
    def run(self) -> tuple[Setting, Accounting]:
        """The run and how it is accounted."""
        return self.setting, self.accounting

    def ask(self, **values: Any) -> bool:
        """Change all values, or none and say why in `refusal`. Return whether the values were
        accepted.
        """
        self.moving = False
        return self._ask(values)

    def ask_text(self, field: str, text: str) -> bool:
        """Ask for a numeric field's value by a text; return whether the value was accepted. If the
        field may be left out, an empty text and the field's word for that mean None.
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
        """Ask for values while a slider is held; the browser's history gets only the final run."""
        self.moving = True
        return self._ask(values)

    def replace(self, setting: Setting, accounting: Accounting) -> None:
        """Replace the setting and its accounting."""
        self.replaced += 1
        self.ask(**setting.as_dict(), **vars(accounting))

    def _ask(self, values: dict[str, Any]) -> bool:
        options = {name: value for name, value in values.items() if name in OPTIONS}
        run = {name: value for name, value in values.items() if name not in OPTIONS}
        asked = run.get("K", self._asked_K)
        try:
            if "d" in run and "K" not in run:
                run["K"] = min(asked, self.setting.replace(**run, K=1).d)
            found = self.setting.replace(**run), self.accounting.replace(**options)
        except ValueError as error:
            self.refusal = in_symbols(str(error))
            return False
        self._asked_K, self.refusal = asked, ""
        new = {
            name: value
            for name, value in zip(("setting", "accounting"), found, strict=True)
            if value != getattr(self, name)  # param would take an equal value for a change
        }
        if new:
            K = found[0].K
            self.param.update(**new, note=_HELD.format(d=K, asked=asked) if K < asked else "")
        return True


def refused(label: str, typed: str, why: ValueError) -> str:
    """Return the message for an invalid text."""
    if not typed.strip():
        return f"{label} cannot be left empty: {why}"
    equals = " =" if len(label.split()[-1]) == 1 else ""  # a symbol takes the sign, words do not
    return f"{label}{equals} {typed if len(typed) <= LONGEST else f'{typed[:LONGEST]}…'} is not allowed: {why}"
