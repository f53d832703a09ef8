"""Lessons: an address that shows parts of the page only, and locks what is not to be moved."""

from collections.abc import Iterable
from dataclasses import dataclass
from html import escape
from urllib.parse import parse_qsl

from zoexplore.setting import SETTING_FIELDS
from zoexplore.views.state import OPTIONS

SETTABLE = (*SETTING_FIELDS, *OPTIONS)
PARTS = ("title", "tools", "verdict", "table", "pins", "axis")
MOST_SAID, LONGEST_SAID = 9, 300


@dataclass(frozen=True)
class Lesson:
    """What of the page is shown, all of it where `show` is empty, which fields are locked, and what is said.

    Names are those of fields and options of a setting, of tabs, and of `PARTS`. With `present` it is for a lecture hall: large
    type, and of the page what is talked about.
    """

    show: tuple[str, ...] = ()
    lock: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    say: tuple[str, ...] = ()
    present: bool = False

    NAMES = ("show", "lock", "say", "present")

    @classmethod
    def of(cls, search: str, tabs: Iterable[str] = ("curves",)) -> "Lesson":
        """The lesson in an address's query. Names that mean nothing are left out, and reported."""
        pairs = parse_qsl(search.removeprefix("?"), keep_blank_values=True)
        given, said = dict(pairs), [" ".join(text.split())[:LONGEST_SAID] for name, text in pairs if name == "say" and text]
        known = {"show": (*PARTS, *tabs, *SETTABLE), "lock": SETTABLE}
        taken, problems = {}, []
        for key, names in known.items():
            asked = [name for name in given.get(key, "").split(",") if name]
            taken[key] = tuple(name for name in asked if name in names)
            problems += [f"there is no {name[:40]!r} to {key}" for name in asked if name not in names]
        problems += [f"only the first {MOST_SAID} prompts are shown"] if len(said) > MOST_SAID else []
        present = given.get("present", "0") != "0"
        return cls(**taken, say=tuple(said[:MOST_SAID]), problems=tuple(problems), present=present)

    def shows(self, *names: str) -> bool:
        """Whether any of these is to be seen."""
        return not self.show or any(name in self.show for name in names)

    def fields(self) -> list[tuple[str, str]]:
        """The lesson as pairs of a query."""
        named = [(key, ",".join(names)) for key, names in (("show", self.show), ("lock", self.lock)) if names]
        return named + [("say", text) for text in self.say] + ([("present", "1")] if self.present else [])

    def html(self) -> str:
        """What is said, several sentences as numbered steps."""
        said = "".join(f"<li>{escape(text)}</li>" for text in self.say)
        return f"<ol>{said}</ol>" if len(self.say) > 1 else f"<p>{escape(self.say[0])}</p>" if self.say else ""
