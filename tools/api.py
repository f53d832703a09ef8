"""Writes docs/api.md from the docstrings of the public names: `python -m tools.api`."""

import inspect
import re
from importlib import import_module
from pathlib import Path

PAGE = Path(__file__).parents[1] / "docs" / "api.md"
HEAD = """# The public names

From the docstrings, by `python -m tools.api`. Symbols are the paper's; [concepts](concepts.md) says what they mean.
"""
MODULES = (
    "zoexplore", "zoexplore.planning", "zoexplore.utility", "zoexplore.export", "zoexplore.statement", "zoexplore.plots",
    "zoexplore.mechanism", "zoexplore.hf", "zoexplore.training",
)  # fmt: skip
SECTION = re.compile(r"^(Args|Returns|Raises|Yields|Source):\s*$")
MANY = 40  # parameters that a reader does not want in one line
ENTRY = re.compile(r"^(\*{0,2}[\w, ]+): ")


def page() -> str:
    """The whole page."""
    seen: set[int] = set()
    return HEAD + "".join(chapter(name, seen) for name in MODULES)


def public(module: str) -> list[str]:
    """A module's `__all__`; without one the classes and functions of its own whose names begin with no underscore."""
    home = import_module(module)
    own = [name for name, thing in vars(home).items() if getattr(thing, "__module__", "") == module and name[0] != "_"]
    return list(getattr(home, "__all__", own))


def chapter(module: str, seen: set[int]) -> str:
    """A module's names; what another chapter has said already is left to it."""
    home = import_module(module)
    things = [(name, getattr(home, name)) for name in public(module)]
    told = "".join(entry(name, thing) for name, thing in things if callable(thing) and id(thing) not in seen)
    seen.update(id(thing) for _, thing in things)
    return f"\n## `{module}`\n\n{inspect.getdoc(home)}\n{told}" if told else ""


def entry(name: str, thing: object) -> str:
    """A class or function: its call, and its docstring."""
    return f"\n### `{name}{signature(thing)}`\n\n{markdown(inspect.getdoc(thing) or '')}\n"


def signature(thing: object) -> str:
    """How it is called, without types: the docstring says them in words."""
    try:
        parameters = inspect.signature(thing).parameters.values()  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return ""
    if len(parameters) > MANY:
        return "(...)"
    plain = [p.replace(annotation=p.empty) for p in parameters]
    return re.sub(r"<[^>]*>", "...", str(inspect.Signature(plain)))


def markdown(text: str) -> str:
    """A docstring's sections as lists."""
    lines, within = [], False
    for line in text.splitlines():
        section = SECTION.match(line)
        if section:
            lines += [f"*{section[1]}*", ""]
            within = True
        elif within and line.startswith("    ") and not line.startswith("     "):
            lines.append("- " + ENTRY.sub(r"`\1`: ", line.strip()))
        elif within and line.startswith("     "):
            lines.append("  " + line.strip())
        else:
            within = within and not line
            lines.append(line)
    return "\n".join(lines)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
