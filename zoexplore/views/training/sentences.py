"""Texts of the Train tab, and the words that describe an earlier frontier."""

from typing import TYPE_CHECKING

from zoexplore.run.fields import FIELDS
from zoexplore.run.setting import NUMERIC_FIELDS, Setting
from zoexplore.views.style.inputs import typed

if TYPE_CHECKING:
    pass

FOOT = (
    "ε is of each model on its own. It does not cover choosing among them by these results, watching them train, or noise from a "
    "known seed."
)
TASK = "set by the task: logistic loss, a ridge, rows of length 1"
NAMED = 2  # the most fields that the words for an earlier frontier may name


def difference(one: Setting, other: Setting, when: str = "before") -> str:
    """Describe an earlier frontier, which is drawn dashed: say when it was trained, and in which
    fields its runs differ from the current ones.
    """
    mine, theirs = one.as_dict(), other.as_dict()
    unlike = [
        name
        for name in NUMERIC_FIELDS
        if name not in ("sigma", "M", "m") and mine[name] != theirs[name]
    ]
    if not 0 < len(unlike) <= NAMED:
        return f"dashed: trained {when}"
    values = (f"{FIELDS[name].symbol} = {typed(one, name)}" for name in unlike)
    return f"dashed: trained {when}, with {', '.join(values)}"
