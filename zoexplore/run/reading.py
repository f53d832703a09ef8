"""Reads a run's fields from YAML as texts, and a field's value from its text. Nothing else parses
them.
"""

from typing import Any

import yaml

from zoexplore.run.fields import FIELDS, OPTIONS
from zoexplore.run.formatting import parse_number

LARGEST_FILE = 10_000  # the most characters of a file; a setting needs a few hundred
LONGEST_REASON = 200
HEADINGS = "setting", "accounting"
_SWITCHES = "linear", "printed"
_TRUE, _FALSE = ("1", "true", "yes", "on"), ("0", "false", "no", "off")
_NOTHING = "", "~", "null", "none"
_REASONS = {  # PyYAML's words for a mistake, and ours
    "found character '\\t'": "a tab; YAML wants spaces",
    "another document": "a second document begins ('---'); keep one",
}


class Unreadable(ValueError):
    """A text is not a list of fields; the message says why, and in which line."""


def fields_of(text: str) -> dict[str, Any]:
    """Read the fields of a run from YAML, with or without the two headings. Values stay texts,
    since YAML itself reads 016 as 14 and 3:20 as 200. A field without a single value becomes None.

    Raises:
        Unreadable: the text is empty, too long, not YAML or not a list of fields, has a merge key,
            or gives a field twice.

    >>> fields_of("{K: 016, setting: {T: 3:20}}")
    {'K': '016', 'T': '3:20'}
    """
    if len(text) > LARGEST_FILE:
        raise Unreadable(f"the text is longer than {LARGEST_FILE} characters")
    try:
        root = yaml.compose(text, yaml.BaseLoader)
    except yaml.YAMLError as error:
        raise Unreadable(_why(error)) from None
    except RecursionError:
        raise Unreadable("this is nested too deeply for a list of fields") from None
    if root is None:
        raise Unreadable("the text is empty")
    if not isinstance(root, yaml.MappingNode):
        raise Unreadable("this is no list of fields, such as 'K: 260'")
    fields: dict[str, Any] = {}
    lines: dict[str, int] = {}
    for key, node in _pairs(root):
        line = key.start_mark.line + 1
        if not isinstance(key, yaml.ScalarNode):
            raise Unreadable(f"line {line}: a name is no list")
        name = key.value
        if name == "<<":
            raise Unreadable(
                f"line {line}: merge keys ('<<') are not read; write the fields themselves"
            )
        if name in fields:
            raise Unreadable(
                f"{name[:LONGEST_REASON]} is given twice, in lines {lines[name]} and {line}: keep one"
            )
        fields[name], lines[name] = node.value if isinstance(node, yaml.ScalarNode) else None, line
    if not fields:
        raise Unreadable("the text has no fields")
    return fields


def value_of(name: str, text: str) -> Any:
    """Return the value of a field's text. A text without a value is returned as it is, and
    `Setting` refuses it.

    >>> value_of("K", "016"), value_of("batch", "all"), value_of("T", "3:20")
    (16, None, '3:20')
    """
    word = text.strip()
    if name in OPTIONS:
        return word
    if name in _SWITCHES:
        said = word.lower()
        return said in _TRUE if said in _TRUE + _FALSE else word
    left_out = FIELDS[name].left_out if name in FIELDS else ""
    if left_out and word.lower() in (*_NOTHING, left_out.lower()):
        return None
    try:
        return parse_number(word)
    except ValueError:
        return word


def _pairs(root: Any) -> Any:
    """Yield the key node and the value node of each field, those under a heading included."""
    for key, node in root.value:
        if key.value not in HEADINGS or (node.value and not isinstance(node, yaml.MappingNode)):
            yield key, node
        else:
            yield from node.value


def _why(error: Any) -> str:
    mark, said = (
        getattr(error, "problem_mark", None),
        str(getattr(error, "problem", None) or error).partition("\n")[0],
    )
    known = next(
        (reason for part, reason in _REASONS.items() if part in said), said[:LONGEST_REASON]
    )
    return f"this is not YAML{f', line {mark.line + 1}' if mark else ''}: {known}"
