"""Lessons: an address that shows parts of the page only, and locks what is not to be moved."""

from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import parse_qsl

from zoexplore.setting import FIELDS
from zoexplore.views.state import OPTIONS

SETTABLE = (*FIELDS, *OPTIONS)
PARTS = ("title", "tools", "verdict", "table", "pins")


@dataclass(frozen=True)
class Lesson:
    """What of the page is shown, all of it where `show` is empty, and which fields are locked.

    Names are those of fields and options of a setting, of tabs, and of `PARTS`.
    """

    show: tuple[str, ...] = ()
    lock: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()

    NAMES = ("show", "lock")

    @classmethod
    def of(cls, search: str, tabs: Iterable[str] = ("curves",)) -> "Lesson":
        """The lesson in an address's query. Names that mean nothing are left out, and reported."""
        given = dict(parse_qsl(search.removeprefix("?")))
        known = {"show": (*PARTS, *tabs, *SETTABLE), "lock": SETTABLE}
        taken, problems = {}, []
        for key, names in known.items():
            asked = [name for name in given.get(key, "").split(",") if name]
            taken[key] = tuple(name for name in asked if name in names)
            problems += [f"{name[:40]!r} is nothing to {key}" for name in asked if name not in names]
        return cls(**taken, problems=tuple(problems))

    def shows(self, *names: str) -> bool:
        """Whether any of these is to be seen."""
        return not self.show or any(name in self.show for name in names)

    def fields(self) -> list[tuple[str, str]]:
        """The lesson as pairs of a query."""
        return [(key, ",".join(names)) for key, names in (("show", self.show), ("lock", self.lock)) if names]
