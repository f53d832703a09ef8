"""Presets: the paper's figures, published runs and related mechanisms.

For its figures the paper ("Details about numerical results") fixes R = M = Delta = 1, m = 0.9, eta
= K/M, Mironov's conversion, and n = 1000 and 2000 for the non-convex figure. We chose the rest
(other n, d, K, sigma, beta, delta) so that the bounds apply: the curves have the paper's shapes,
but not always its heights.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from zoexplore.run.fields import FIELDS
from zoexplore.run.formatting import format_count, format_short
from zoexplore.run.published import RUNS
from zoexplore.run.setting import Accounting, Setting

# of the figures: the clip is supposed idle, and a record is counted by it
PAPER_CONVENTION = Accounting(sensitivity="clip")
AS_PRINTED = PAPER_CONVENTION.replace(conversion="mironov", printed=True)
_TABLE = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))
_BASES = {name: Setting(**own) for name, own in _TABLE["runs"].items()}
# A run that learns: two classes, logistic loss on rows of length 1, whose gradients have length at
# most 1, with a ridge outside the clip, 520 parameters (docs/training.md).
DEMONSTRATION = _BASES["demonstration"]


@dataclass(frozen=True)
class Preset:
    """A setting with a name and a sentence.

    Args:
        name: its name in menus.
        summary: a sentence that also names what we chose where the source is silent.
        setting: the run.
        accounting: how it is counted.
        pins: further runs of the same figure, each named by its difference.
        compare: the bound by which the figure compares them; empty if it compares none.
    """

    name: str
    summary: str
    setting: Setting
    accounting: Accounting = Accounting()  # noqa: RUF009
    pins: tuple[tuple[str, Setting], ...] = ()
    compare: str = ""


def _preset(about: dict[str, Any]) -> Preset:
    """A line of the table: a run `of` another one with some fields changed, by default counting;
    or, with a field's values as pins, by the paper's.
    """
    run = _BASES[about["of"]].replace(**about.get("run", {}))
    field, values = about.get("pins", ("", ()))
    pins = tuple(
        (f"{FIELDS[field].symbol} = {format_short(value)}", run.replace(**{field: value}))
        for value in values
    )
    accounting = AS_PRINTED if pins else Accounting()
    return Preset(about["name"], about["summary"], run, accounting, pins, about.get("compare", ""))


PRESETS = {key: _preset(about) for key, about in _TABLE["presets"].items()} | {
    key: Preset(
        f"{run.name.replace(', ', ' · ')} · K = {format_count(run.K)}", run.summary, run.setting
    )
    for key, run in RUNS.items()
}
