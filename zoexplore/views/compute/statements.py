"""Statements of a guarantee, as text and as JSON. No Panel here."""

import json

from zoexplore.setting import Accounting, Setting
from zoexplore.statement import statement
from zoexplore.views.compute.remember import remembered


@remembered(beside=True)
def stated(setting: Setting, accounting: Accounting, bound: str) -> tuple[str, str]:
    """What a bound says of a run, to be published: in words, and for a program."""
    found = statement(setting, bound, accounting)
    return str(found), json.dumps(found.as_dict(), ensure_ascii=False, indent=2)
