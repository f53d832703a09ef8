"""Text in and out is UTF-8, whatever the system's own encoding is."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from zoexplore.run.text import decoded, printable

PACKAGE = Path(__file__).parents[1] / "zoexplore"
WITHOUT_UTF8 = {
    "PYTHONUTF8": "0",
    "LC_ALL": "C",
    "PYTHONCOERCECLOCALE": "0",
    "PATH": "",
    "PYTHONPATH": str(PACKAGE.parent),
}


def as_text(call):
    """Whether a call reads or writes text, in an encoding that it does not name."""
    name = getattr(call.func, "attr", getattr(call.func, "id", ""))
    binary = any(
        "b" in str(getattr(each, "value", ""))
        for each in [*call.args, *(kw.value for kw in call.keywords)]
    )
    opened = isinstance(call.func, ast.Name) and name == "open" and not binary
    return (opened or name in ("read_text", "write_text")) and not any(
        keyword.arg == "encoding" for keyword in call.keywords
    )


def test_every_file_of_text_is_opened_in_an_encoding_that_is_named():
    found = [
        f"{path.name}:{node.lineno}"
        for path in PACKAGE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_bytes()))
        if isinstance(node, ast.Call) and as_text(node)
    ]
    assert found == []


def test_a_print_does_not_fail_where_only_ascii_can_be_written():
    code = "from zoexplore.run.text import say; say(chr(0x3b5))"
    done = subprocess.run([sys.executable, "-c", code], env=WITHOUT_UTF8, capture_output=True)
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, b"\\u03b5", b"")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_a_file_in_utf8_or_with_a_mark_is_read(encoding):
    assert decoded("σ: 1".encode(encoding)) == "σ: 1"


@pytest.mark.parametrize("raw", ["σ".encode("cp1253"), b"\xff\xfe\x00", b"\x80"])
def test_another_encoding_is_no_text(raw):
    with pytest.raises(UnicodeDecodeError):
        decoded(raw)


def test_what_controls_a_terminal_is_escaped_and_the_rest_stays():
    assert (
        printable("ε\u202f≤\u00a01\n\x1b[2J\u202e\udc80")
        == "ε\u202f≤\u00a01\n\\x1b[2J\\u202e\\udc80"
    )
