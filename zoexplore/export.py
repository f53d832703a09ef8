"""Settings and curves as text: a URL's query, YAML, a Python snippet and CSV, and back.

What is read comes from strangers. Nothing here raises for a field that is unknown or has a bad value: the field is left
out, and `Loaded.problems` says so in words that can be shown.
"""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from io import StringIO
from math import inf
from typing import Any
from urllib.parse import parse_qsl, urlencode

import numpy as np
import yaml

from zoexplore.bounds import BOUNDS, curve, epsilon
from zoexplore.setting import FIELDS, INTEGER_FIELDS, Accounting, Setting, shown

OPTIONS = tuple(asdict(Accounting()))
LARGEST_FILE = 100_000  # characters; a setting takes a few hundred
DEEPEST = 10  # lists and mappings within one another; a setting takes two
_WORDS = ("regime", "conversion", "sensitivity", "schedule")
_TRUTH = {"1": True, "true": True, "yes": True, "0": False, "false": False, "no": False}
_AT_MOST = {"K": "d", "m": "M", "ridge": "m"}  # what is lowered where only the other was given
_FOLLOWS = {"eta": "M"}  # what is blamed on the other: K/M is beyond numbers


@dataclass(frozen=True)
class Loaded:
    """A setting and an accounting that were read, and what could not be used of the text, a sentence each.

    `read` is false where nothing could be: then the setting is the default.
    """

    setting: Setting
    accounting: Accounting
    problems: tuple[str, ...] = ()
    read: bool = True


def to_fields(setting: Setting, accounting: Accounting) -> dict[str, str]:
    """What differs from the defaults, as text by the field's name.

    >>> to_fields(Setting(sigma=1e-4), Accounting())
    {'sigma': '0.0001'}
    """
    default = every_field(Setting(), Accounting())
    return {name: text for name, text in every_field(setting, accounting).items() if text != default[name]}


def every_field(setting: Setting, accounting: Accounting) -> dict[str, str]:
    """All that is set, as text by the field's name.

    >>> every_field(Setting(), Accounting())["K"]
    '260'
    """
    return {name: _text(value) for name, value in (setting.as_dict() | asdict(accounting)).items()}


def from_fields(given: Mapping[Any, Any]) -> Loaded:
    """A setting from values or their text, by name; defaults for what is not given.

    >>> from_fields({"K": 52, "sigma": "1e-2"}).setting.K
    52
    """
    values, problems = {}, []
    for name, raw in given.items():
        if name not in (*FIELDS, *OPTIONS):
            problems.append(f"{shown(name)} is not a field")
        elif isinstance(raw, (str, int, float, type(None))):
            values[name] = _value(name, raw)
        else:
            problems.append(f"{name} is not used: give a single value")
    accounting = _built(Accounting, {k: v for k, v in values.items() if k in OPTIONS}, problems)
    setting = _built(Setting, {k: v for k, v in values.items() if k in FIELDS}, problems)
    return Loaded(setting, accounting, tuple(problems))


def to_query(setting: Setting, accounting: Accounting) -> str:
    """The query of a URL, without the question mark; empty for the defaults.

    >>> to_query(Setting(K=52), Accounting(conversion="cks"))
    'K=52&conversion=cks'
    """
    return urlencode(to_fields(setting, accounting))


def from_query(query: str) -> Loaded:
    """The setting in a URL's query. Of a field that comes twice, the last counts.

    >>> from_query("K=52&T=0").problems
    ('T = 0 is not allowed: give a whole number from 1 to 9007199254740992',)
    """
    return from_fields(dict(parse_qsl(query.removeprefix("?"), keep_blank_values=True)))


def to_yaml(setting: Setting, accounting: Accounting) -> str:
    """Every field, for a file to be kept.

    >>> to_yaml(Setting(), Accounting()).splitlines()[:2]
    ['setting:', '  n: 20000']
    """
    parts = {"setting": setting.as_dict(), "accounting": asdict(accounting)}
    return yaml.safe_dump(parts, sort_keys=False, allow_unicode=True)


def from_yaml(text: str) -> Loaded:
    """The setting in what `to_yaml` wrote, or somebody by hand; fields may also stand without their two headings.

    >>> from_yaml("K: 52").setting == Setting(K=52)
    True
    """
    if len(text) > LARGEST_FILE:
        return _nothing(f"the file is longer than {LARGEST_FILE} characters")
    try:
        parts = yaml.load(text, _Plain)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        where = getattr(error, "problem_mark", None)
        at = f", line {where.line + 1}" if where else ""
        return _nothing(f"this is not YAML{at}")
    if not isinstance(parts, dict):
        return _nothing("this is no list of fields, such as 'K: 260'")
    fields: dict[Any, Any] = {}
    for name, value in parts.items():
        inner = value if name in ("setting", "accounting") and isinstance(value, dict) else {name: value}
        fields.update(inner)
    return from_fields(fields)


def to_python(setting: Setting, accounting: Accounting) -> str:
    """Code that prints every bound's epsilon of the setting, with what it will print below it.

    >>> print(to_python(Setting(), Accounting()).splitlines()[0])
    from zoexplore import BOUNDS, Accounting, Setting, epsilon
    """
    arguments = "".join(f"    {name}={_code(value)},\n" for name, value in setting.as_dict().items())
    options = ", ".join(f"{name}={_code(value)}" for name, value in asdict(accounting).items())
    numbers = "".join(f"# {bound} {epsilon(setting, bound, accounting)!r}\n" for bound in BOUNDS)
    return (
        "from zoexplore import BOUNDS, Accounting, Setting, epsilon\n\n"
        f"setting = Setting(\n{arguments})\n"
        f"accounting = Accounting({options})\n"
        "for bound in BOUNDS:\n    print(bound, epsilon(setting, bound, accounting))\n"
        f"{numbers}"
    )


def to_csv(setting: Setting, accounting: Accounting, field: str, values: Iterable[float]) -> str:
    """Every bound's epsilon along a field, inf where it does not apply; the setting as YAML in lines with a #.

    >>> print(to_csv(Setting(), Accounting(), "T", [1, 2]).splitlines()[-3])  # doctest: +ELLIPSIS
    T,composition,output-perturbation,corollary,theorem,sharp,noisy-gd...
    """
    along = np.asarray(list(values), dtype=float)
    columns = {field: along, **curve(setting, field, along, accounting=accounting)}
    out = StringIO()
    out.write(f"# epsilon at delta = {setting.delta} against {field}; the setting's own {field} is not used\n")
    if accounting.printed:
        out.write("# as printed in the paper: not a guarantee\n")
    out.writelines(f"# {line}\n" for line in to_yaml(setting, accounting).splitlines())
    out.write(",".join(columns) + "\n")
    out.writelines(",".join(_text(float(x)) for x in row) + "\n" for row in zip(*columns.values(), strict=True))
    return out.getvalue()


class _Plain(yaml.SafeLoader):
    """YAML without depth and without merged mappings: in both, a short file can take hours to read."""

    depth = 0

    def compose_node(self, parent: Any, index: Any) -> Any:
        self.depth += 1
        if self.depth > DEEPEST:
            raise yaml.YAMLError("nested too deeply")
        node = super().compose_node(parent, index)
        self.depth -= 1
        return node

    def flatten_mapping(self, node: Any) -> None:
        """Leave a merge key where it is, for the constructor to refuse."""


def _nothing(why: str) -> Loaded:
    return Loaded(Setting(), Accounting(), (f"{why}; nothing was read",), read=False)


def _text(value: Any) -> str:
    """A value as short as it can be read back exactly."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, float):
        text = repr(value).removesuffix(".0")
        return text.replace("e-0", "e-").replace("e+0", "e").replace("e+", "e")
    return str(value)


def _value(name: str, raw: Any) -> Any:
    """What was meant by a text; the text itself where it means nothing, for `Setting` to refuse."""
    if not isinstance(raw, str):
        return raw
    text = raw.strip()
    if name in _WORDS:
        return text
    if name == "printed":
        return _TRUTH.get(text.lower(), text)
    if not text and name in ("eta", "batch"):
        return None
    if text == "∞":
        return inf
    try:
        return int(text) if name in INTEGER_FIELDS and text.isdecimal() else float(text)
    except ValueError:
        return text


def _built(kind: type, values: dict[str, Any], problems: list[str]) -> Any:
    """The value with every field that it takes; for each one refused a line is added to `problems`."""
    values, given = dict(values), set(values)
    while True:
        try:
            return kind(**values)
        except ValueError as error:
            name = str(error).partition(" = ")[0]
            name = _FOLLOWS.get(name, name) if name not in given else name
            if name in given:
                del values[name]
                given.discard(name)
                problems.append(str(error))
            else:  # a default that is too much for what was given
                values[name] = values.get(_AT_MOST[name], getattr(kind(), _AT_MOST[name]))
                problems.append(f"{name} is lowered to {_AT_MOST[name]} = {_text(values[name])}")


def _code(value: Any) -> str:
    return 'float("inf")' if value == inf else repr(value)
