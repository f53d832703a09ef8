"""Inputs that Panel lacks: round values for a slider, a slider without delay, and a sentence with
blanks.
"""

import re
from collections.abc import Callable
from functools import lru_cache
from math import ceil, floor, log10
from pathlib import Path
from typing import Any

import numpy as np
import panel as pn
import param
from panel.widgets import IntSlider

from zoexplore.run.fields import FIELDS
from zoexplore.run.formatting import format_typed
from zoexplore.run.setting import Setting
from zoexplore.views.state import LONGEST, State
from zoexplore.views.style import stylesheets

STEPS_PER_DECADE, SHARES = 40, 101  # the values in a decade of a slider, and on a share's slider
_BLANK = re.compile(r"\{(\w+)\}")


@lru_cache(maxsize=256)
def rungs(low: float, high: float, whole: bool = False, linear: bool = False) -> np.ndarray:
    """Return ascending round values from low to high, both included. A slider moves over their
    indices, so that every key press changes the value, even on a scale of ten decades.
    """
    if linear:
        return np.linspace(low, high, SHARES).round(2)
    first, last = floor(STEPS_PER_DECADE * log10(low)), ceil(STEPS_PER_DECADE * log10(high))
    even = 10.0 ** (np.arange(first, last + 1) / STEPS_PER_DECADE)
    short = np.array([low, *(float(f"{x:.1e}") for x in even), high])
    return np.unique(np.clip(short.round() if whole else short, low, high))


def nearest(values: np.ndarray, value: float) -> int:
    """Return the index of the value nearest to `value`: by ratio if all values are positive, by
    difference if the values begin at 0.
    """
    place = np.log if values[0] > 0 else np.asarray
    return int(np.argmin(np.abs(place(values) - place(value))))


class Quick(IntSlider):
    """A slider that reports moves at once, not after Panel's 50 ms. Panel merges the moves that
    arrive while it handles an earlier one.
    """

    _debounce = 1


class Sentence(pn.custom.JSComponent):
    """A sentence with blanks, written `{name}` in `said`. A blank is a number to type or a menu."""

    said = param.String("", doc="the sentence")
    blanks = param.Dict(
        {},
        doc="name -> its text, its label, a menu's options as pairs, whether it is wrong, or disabled",
    )
    asked = param.List([], doc="a blank's name, what the reader has put there, and the time")

    _esm = Path(__file__).with_name("sentence.js")

    def __init__(self, take: Callable[[str, str], Any], *sheets: str) -> None:
        """Make a sentence that calls `take` with a blank's name and text. If `take` refuses the
        text, it puts the text in `wrong`.
        """
        super().__init__(
            stylesheets=[stylesheets.css("sentence_of_blanks", *sheets)], **stylesheets.STRETCH
        )
        self._take = take
        self.wrong: dict[str, str] = {}  # refused texts by blank
        self.param.watch(self._asked, "asked")

    def _asked(self, event: Any) -> None:
        name, text, _ = event.new
        if name in self.blanks and isinstance(text, str):
            self.wrong = {}
            self._take(name, text[:LONGEST])

    def write(self, said: str, blanks: dict[str, dict[str, Any]]) -> None:
        """Show a sentence with its blanks; a refused text replaces the value of its blank."""
        shown = {
            name: blanks[name] | {"wrong": name in self.wrong} for name in _BLANK.findall(said)
        }
        for name in self.wrong.keys() & shown:
            shown[name]["text"] = self.wrong[name]
        self.param.update(blanks=shown, said=said)


class FieldSentence(Sentence):
    """A sentence whose blanks are fields of the state. The state refuses invalid values."""

    def __init__(self, state: State, said: Callable[[Setting], str], *sheets: str) -> None:
        """Make the sentence; `said` returns its text for a run."""
        super().__init__(self._set, *sheets)
        self.state, self.said_of, self.locked = state, said, set[str]()
        state.param.watch(self.show, "setting")
        self.show()

    def _set(self, name: str, text: str) -> None:
        self.wrong = {} if self.state.ask_text(name, text) else {name: text}
        self.show()

    def show(self, *_: Any) -> None:
        """Show the current values, and disable the blanks of `locked` fields."""
        said = self.said_of(self.state.setting)
        self.write(
            said,
            {
                n: self.blank(self.state, n) | {"disabled": n in self.locked}
                for n in _BLANK.findall(said)
            },
        )

    @staticmethod
    def blank(state: State, name: str) -> dict[str, Any]:
        """Return the blank of a field."""
        return {"text": typed(state.setting, name), "label": FIELDS[name].noun}


def typed(setting: Setting, field: str) -> str:
    """Return a field's value as text to edit, or the field's word for a value left out."""
    return format_typed(getattr(setting, field)) or FIELDS[field].left_out
