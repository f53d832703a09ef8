"""Pins: settings that a reader keeps to compare with the current one. This module does not import
Panel.
"""

from dataclasses import dataclass

import param

from zoexplore.bounds import BOUNDS
from zoexplore.questions.export import from_fields, to_fields
from zoexplore.run.fields import symbol_of
from zoexplore.run.formatting import format_count
from zoexplore.run.presets import Preset
from zoexplore.run.setting import Accounting, Setting
from zoexplore.views.state import State

MOST_PINS = 6
LONGEST_NAME = 40


@dataclass(frozen=True)
class Pin:
    """A kept setting with a name."""

    name: str
    setting: Setting
    accounting: Accounting

    def text(self) -> str:
        """Return the pin as an address writes it, such as `K:52,T:9~name`."""
        fields = to_fields(self.setting, self.accounting)
        return ",".join(f"{key}:{value}" for key, value in fields.items()) + f"~{self.name}"

    @classmethod
    def of(cls, text: str) -> tuple["Pin", tuple[str, ...]]:
        """Read a pin from a text, and return it with the text's errors."""
        fields, _, name = text.partition("~")
        pairs = (pair.partition(":") for pair in fields.split(",") if pair)
        loaded = from_fields({key: value for key, _, value in pairs})
        return cls(_shortened(name) or "pinned", loaded.setting, loaded.accounting), loaded.problems


class Pins(param.Parameterized):
    """Up to `MOST_PINS` pins in order, and the bound by which they are compared."""

    pins = param.List([], item_type=Pin, bounds=(0, MOST_PINS), doc="what is pinned")
    compare = param.Selector(
        default="",
        objects=["", *BOUNDS],
        doc="the bound whose curves are drawn; empty for each one's smallest",
    )

    def add(self, state: State) -> bool:
        """Pin the current setting under its own description, and return whether there was room."""
        if len(self.pins) == MOST_PINS:
            return False
        differs = to_fields(*state.run).items()
        name = ", ".join(f"{symbol_of(key)} = {grouped(value)}" for key, value in differs)
        self.pins = [*self.pins, Pin(_shortened(name or "the training default"), *state.run)]
        return True

    def remove(self, place: int) -> None:
        self.pins = [pin for at, pin in enumerate(self.pins) if at != place]

    def follow(self, preset: Preset) -> None:
        """Replace the pins by those of a preset. A preset without pins leaves the reader's pins
        alone, but clears those of an earlier comparison (`compare`).
        """
        if preset.pins or self.compare:
            runs = ((_shortened(name), run, preset.accounting) for name, run in preset.pins)
            self.param.update(pins=[Pin(*run) for run in runs], compare=preset.compare)

    def read(self, texts: list[str]) -> list[str]:
        """Set the pins from the texts of an address, and return the errors."""
        read = [Pin.of(text) for text in texts[:MOST_PINS]]
        self.pins = [pin for pin, _ in read]
        told = [f"pin {place}: {said}" for place, (_, p) in enumerate(read, start=1) for said in p]
        return [*told, f"only {MOST_PINS} pins fit"] if len(texts) > MOST_PINS else told


def grouped(text: str) -> str:
    """Return a field's text with whole numbers in groups of three digits."""
    return format_count(int(text)) if text.isdigit() else text


def _shortened(name: str) -> str:
    return name if len(name) <= LONGEST_NAME else name[: LONGEST_NAME - 1] + "…"
