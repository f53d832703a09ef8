"""Writes docs/api.md from the docstrings of the public names: `python -m tools.api`."""

import inspect
import re
from importlib import import_module
from pathlib import Path

PAGE = Path(__file__).parents[1] / "docs" / "api.md"
HEAD = """# The public names

From the docstrings, by `python -m tools.api`. Symbols are the paper's; [concepts](concepts.md) says what they mean.
"""
# module: what of it is public, all of its `__all__` where None
MODULES: dict[str, tuple[str, ...] | None] = {
    "zoexplore": None,
    "zoexplore.planning": None,
    "zoexplore.utility": ("Utility", "utility", "utility_bound"),
    "zoexplore.export": (
        "Loaded", "to_query", "from_query", "to_yaml", "from_yaml", "to_python", "to_csv", "to_fields", "from_fields",
    ),
    "zoexplore.mechanism": None,
    "zoexplore.training": None,
}  # fmt: skip
SECTION = re.compile(r"^(Args|Returns|Raises|Yields|Source):\s*$")
ENTRY = re.compile(r"^(\*{0,2}[\w, ]+): ")


def page() -> str:
    """The whole page."""
    seen: set[int] = set()
    return HEAD + "".join(chapter(name, names, seen) for name, names in MODULES.items())


def chapter(module: str, names: tuple[str, ...] | None, seen: set[int]) -> str:
    """A module's names; what another chapter has said already is left to it."""
    home = import_module(module)
    chosen = [name for name in names or home.__all__ if hasattr(home, name)]
    things = [(name, getattr(home, name)) for name in chosen]
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
