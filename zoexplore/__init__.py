"""Bounds the privacy loss of zeroth-order training in several ways, and serves a page to explore
it.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from zoexplore.bounds import BOUNDS, Guarantee, curve, epsilon, guarantee
from zoexplore.questions import calibrate, compose, forgetting, recommend
from zoexplore.run.refusals import shown
from zoexplore.run.setting import Accounting, Setting

if TYPE_CHECKING:
    from zoexplore.views import Explorer

__version__ = "0.1.0"
__all__ = ["BOUNDS", "Accounting", "Guarantee", "Setting"]
__all__ += [
    "calibrate",
    "compose",
    "curve",
    "epsilon",
    "explore",
    "forgetting",
    "guarantee",
    "lesson",
    "recommend",
]


def explore(setting: Setting | None = None, accounting: Accounting | None = None) -> "Explorer":
    """Return the whole explorer for a notebook cell, opened at a setting and an accounting.

    Raises:
        ValueError: `setting` is not a `Setting`.
    """
    if not isinstance(setting, Setting | None):
        made = "of a run file: zoexplore.questions.export.from_yaml(text).setting"
        raise ValueError(f"setting = {shown(setting)} is not allowed: give a Setting; {made}")
    from zoexplore.views import Explorer  # imported here, so that the accountant needs no Panel

    return Explorer(setting, accounting)


def lesson(
    setting: Setting,
    sliders: Iterable[str] = ("sigma", "T"),
    path: str | Path = "lesson.html",
    *,
    accounting: Accounting = Accounting(),  # noqa: B008
    link: str = "",
    live: str = "",
) -> Path:
    """Write the explorer of a run as one HTML file. The file takes its numbers from tables, so it
    needs no server, network or Python.

    Args:
        setting: the run that the file starts from.
        sliders: the fields that get a slider. Each field moves alone, while the others keep the
            run's values. "K+beta" names two fields that can move together, in coarser steps. T can
            move together with any field.
        path: where to write the file.
        accounting: how to count.
        link: a link for teaching, whose prompts, view and parts the file takes over.
        live: the address of a server's page, to which the file links where it has no numbers.

    Returns:
        the path.

    Raises:
        ValueError: a slider is unknown, has no place for the run's value, or comes twice.
        OSError: the file was not written; the message says why.
    """
    from zoexplore.views.lesson import page

    return page.save(path, page.html(setting, sliders, accounting, link, live))
