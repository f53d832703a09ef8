"""Text in and out, whatever encoding a shell or a system uses, and templates of text."""

import codecs
import io
import json
import sys
from functools import cache
from math import inf
from pathlib import Path
from typing import Any
from unicodedata import category

from zoexplore.run import formatting

UTF_16 = codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE


def use_utf8() -> None:
    """Make standard streams UTF-8, except terminals, which keep their encoding. After that, no
    print fails.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # neither a notebook's stream nor a closed one
            stream.reconfigure(
                encoding=None if stream.isatty() else "utf-8", errors="backslashreplace"
            )


def say(text: str) -> None:
    """Print, with escapes for characters that the stream cannot encode."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    print(text.encode(encoding, "backslashreplace").decode(encoding))


def decoded(raw: bytes) -> str:
    """Decode the text of a file from UTF-8, or from UTF-16 with a byte-order mark, as some shells
    write.

    Raises:
        UnicodeDecodeError: the text is neither.
    """
    return raw.decode("utf-16" if raw.startswith(UTF_16) else "utf-8-sig")


def table_beside(module: str) -> Any:
    """Read the JSON file that has the name of a module, given the module's `__file__`."""
    return json.loads(Path(module).with_suffix(".json").read_text(encoding="utf-8"))


def printable(text: str) -> str:
    """Escape characters that control a terminal, and lone surrogates; newlines stay.

    >>> printable("a" + chr(27) + "[2J.yaml")
    'a\\\\x1b[2J.yaml'
    """
    return "".join(
        c.encode("unicode_escape").decode() if category(c)[0] == "C" and c != "\n" else c
        for c in text
    )


def written(template: str, **given: Any) -> str:
    """Fill in a template of the package, as plain text."""
    return str(_templates().get_template(template).render(given))


@cache
def _templates() -> Any:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined  # the import takes a while

    loader = FileSystemLoader(Path(__file__).parents[1])
    made = Environment(
        loader=loader, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    made.globals["inf"] = inf
    for name in ("count", "delta", "number", "sentence", "short"):
        made.filters[name] = getattr(formatting, f"format_{name}")
    return made
