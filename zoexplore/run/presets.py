"""Presets: the paper's figures, published runs and related mechanisms.

The paper's figures ("Details about numerical results") have R = M = Delta = 1, m = 0.9, eta = K/M
and Mironov's conversion; the non-convex figure has n = 1000 and 2000. We chose the rest (other n,
d, K, sigma, beta, delta) so that the bounds apply. The curves have the paper's shapes, but not
always its heights.
"""

from dataclasses import dataclass
from typing import Any

from zoexplore.run.fields import FIELDS
from zoexplore.run.formatting import format_count, format_short
from zoexplore.run.published import RUNS
from zoexplore.run.setting import Accounting, Setting
from zoexplore.run.text import table_beside

# the paper's figures suppose that the clip is idle, and still count a record by the clip
PAPER_CONVENTION = Accounting(sensitivity="clip")
AS_PRINTED = PAPER_CONVENTION.replace(conversion="mironov", printed=True)
_TABLE = table_beside(__file__)
_BASES = {name: Setting(**own) for name, own in _TABLE["runs"].items()}
# A run that learns: logistic loss of two classes, with a ridge outside the clip and 520 parameters.
# Rows have length 1, and gradients therefore at most 1 (docs/training.md).
DEMONSTRATION = _BASES["demonstration"]


@dataclass(frozen=True)
class Preset:
    """A setting with a name and a sentence.

    Args:
        name: its name in menus.
        summary: a sentence that also names what we chose if the source is silent.
        setting: the run.
        accounting: how it is counted.
        pins: further runs of the same figure, each named by how it differs.
        compare: the bound by which the figure compares the pins; empty if it does not.
    """

    name: str
    summary: str
    setting: Setting
    accounting: Accounting = Accounting()  # noqa: RUF009
    pins: tuple[tuple[str, Setting], ...] = ()
    compare: str = ""


def _preset(about: dict[str, Any]) -> Preset:
    """Make a preset from a line of the table: the base run that `of` names, with some fields
    changed. A preset whose pins are a field's values is accounted as printed in the paper.
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
