"""Settings and curves as text: a URL's query, YAML, a Python snippet and CSV, and back.

Input is not trusted. Readers skip a field that is unknown or has a bad value, and `Loaded.problems` says so in words.
"""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from io import StringIO
from math import inf
from typing import Any
from urllib.parse import parse_qsl, urlencode

import numpy as np
import yaml

from zoexplore.bounds import BOUNDS, curve, epsilon
from zoexplore.run.presets import BEFORE, DEMONSTRATION
from zoexplore.run.setting import (
    INTEGER_FIELDS,
    OWN,
    SENSITIVITIES,
    SETTING_FIELDS,
    Accounting,
    Refused,
    Setting,
    shown,
    supposition,
)

OPTIONS = tuple(asdict(Accounting()))
_UNASSUMING = Setting(**{name: getattr(DEMONSTRATION, name) for name in OWN})
LARGEST_FILE = 10_000  # characters; a setting needs a few hundred
DEEPEST = 10  # nested lists and mappings; a setting needs two
_WORDS = ("regime", "clipping", "neighbours", "sampling", "conversion", "sensitivity", "schedule")
_SWITCHES = ("linear", "printed")
_TRUTH = {"1": True, "true": True, "yes": True, "0": False, "false": False, "no": False}
_AT_MOST = {"K": "d", "m": "M", "ridge": "m"}  # fields that are lowered if only the other is given
_FOLLOWS = {"eta": "M"}  # errors blamed on the other field: K/M overflows


@dataclass(frozen=True)
class Loaded:
    """A setting and an accounting that were read, and a sentence for each part of the text that was not used.

    If `read` is false, nothing was used, and the setting is the base.
    """

    setting: Setting
    accounting: Accounting
    problems: tuple[str, ...] = ()
    read: bool = True


def to_fields(setting: Setting, accounting: Accounting) -> dict[str, str]:
    """The fields that differ from the demonstration run and the default accounting, as text by name.

    >>> to_fields(DEMONSTRATION.replace(sigma=1e-4), Accounting())
    {'sigma': '0.0001'}
    """
    default = every_field(DEMONSTRATION, Accounting())
    return {name: text for name, text in every_field(setting, accounting).items() if text != default[name]}


def in_address(setting: Setting, accounting: Accounting) -> dict[str, str]:
    """`to_fields` with `sensitivity`, which only old addresses lack.

    >>> in_address(DEMONSTRATION.replace(sigma=1e-4), Accounting())
    {'sigma': '0.0001', 'sensitivity': 'least'}
    """
    return to_fields(setting, accounting) | {"sensitivity": accounting.sensitivity}


def every_field(setting: Setting, accounting: Accounting) -> dict[str, str]:
    """Every field as text by name.

    >>> every_field(DEMONSTRATION, Accounting())["K"]
    '260'
    """
    return {name: _text(value) for name, value in (setting.as_dict() | asdict(accounting)).items()}


def from_fields(given: Mapping[Any, Any], base: Setting = DEMONSTRATION) -> Loaded:
    """A setting from values or texts by name; fields not given keep the base's values.

    >>> from_fields({"K": 52, "sigma": "1e-2"}).setting.K
    52
    """
    values, problems = {}, []
    for name, raw in given.items():
        if name not in (*SETTING_FIELDS, *OPTIONS):
            problems.append(f"{shown(name)} is an unknown setting")
        elif isinstance(raw, (str, int, float, type(None))):
            values[name] = _value(name, raw)
        else:
            problems.append(f"{name} is not used: give a single value")
    if values.get("sensitivity") in ("clip", "lipschitz") and "lipschitz" not in values and base is _UNASSUMING:
        base = base.replace(lipschitz=None)  # the paper's convention
    accounting, options = _built(Accounting(), {k: v for k, v in values.items() if k in OPTIONS}, problems)
    setting, fields = _built(base, {k: v for k, v in values.items() if k in SETTING_FIELDS}, problems)
    return Loaded(setting, accounting, tuple(problems), read=bool(options or fields) or not given)


def to_query(setting: Setting, accounting: Accounting) -> str:
    """The query of a URL, without the question mark; empty for the demonstration run.

    >>> to_query(DEMONSTRATION.replace(K=52), Accounting(conversion="cks"))
    'K=52&conversion=cks&sensitivity=least'
    """
    return urlencode(in_address(setting, accounting)) if to_fields(setting, accounting) else ""


def from_address(given: Mapping[str, str]) -> Loaded:
    """The setting of an address, or of a pin in one. Without `sensitivity` the address is an old one, which followed the paper's
    convention and started from another demonstration run.

    >>> from_address({"K": "52", "sensitivity": "least"}).setting.sigma, from_address({"K": "52"}).setting.sigma
    (5e-05, 0.001)
    """
    if given.get("sensitivity") in SENSITIVITIES:
        return from_fields(given)
    loaded = from_fields(given, BEFORE)
    return loaded if "sensitivity" in given else replace(loaded, accounting=loaded.accounting.replace(sensitivity="clip"))


def from_query(query: str) -> Loaded:
    """The setting in a URL's query. The last value of a repeated field counts.

    >>> from_query("K=52&T=0").problems
    ('T = 0 is not allowed: give a whole number from 1 to 9007199254740992',)
    """
    given = dict(parse_qsl(query.removeprefix("?"), keep_blank_values=True))
    return from_address(given) if given else from_fields(given)


def to_yaml(setting: Setting, accounting: Accounting) -> str:
    """Every field as YAML.

    >>> to_yaml(DEMONSTRATION, Accounting()).splitlines()[:2]
    ['setting:', '  n: 20000']
    """
    parts = {"setting": setting.as_dict(), "accounting": asdict(accounting)}
    return yaml.safe_dump(parts, sort_keys=False, allow_unicode=True)


def from_yaml(text: str) -> Loaded:
    """The setting in YAML from `to_yaml` or written by hand, with or without its two headings.

    As with `Setting`, a file without constants of the loss assumes nothing of it. Missing numbers of the run itself are taken
    from the demonstration run, and `problems` says so.

    >>> from_yaml("K: 52").problems
    ('n, d, T, sigma, beta are not given: they are taken from the demonstration run',)
    """
    if len(text) > LARGEST_FILE:
        return _nothing(f"the text is longer than {LARGEST_FILE} characters")
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
    loaded = from_fields(fields, _UNASSUMING)
    if not loaded.read:
        return Loaded(DEMONSTRATION, Accounting(), loaded.problems or ("the text is empty",), read=False)
    missing = ", ".join(name for name in OWN if name not in fields)
    if missing:
        are, they = ("are", "they are") if ", " in missing else ("is", "it is")
        said = f"{missing} {are} not given: {they} taken from the demonstration run"
        return replace(loaded, problems=(*loaded.problems, said))
    return loaded


def to_python(setting: Setting, accounting: Accounting) -> str:
    """Code that prints every bound's epsilon, followed by its output as comments.

    >>> print(to_python(DEMONSTRATION, Accounting()).splitlines()[0])
    from zoexplore import BOUNDS, Accounting, Setting, epsilon
    """
    arguments = "".join(f"    {name}={_code(value)},\n" for name, value in setting.as_dict().items())
    options = ", ".join(f"{name}={_code(value)}" for name, value in asdict(accounting).items())
    numbers = "".join(f"# {bound} {epsilon(setting, bound, accounting)!r}\n" for bound in BOUNDS)
    return (
        "from zoexplore import BOUNDS, Accounting, Setting, epsilon\n\n"
        f"setting = Setting(\n{arguments})\n"
        f"accounting = Accounting({options})  # {supposition(setting, accounting)}\n"
        "for bound in BOUNDS:\n    print(bound, epsilon(setting, bound, accounting))\n"
        f"{numbers}"
    )


def to_csv(
    setting: Setting, accounting: Accounting, field: str, values: Iterable[float], bounds: Iterable[str] | None = None
) -> str:
    """epsilon along a field by some or all bounds, inf where one does not apply; the setting as YAML in comments.

    >>> print(to_csv(DEMONSTRATION, Accounting(), "T", [1, 2]).splitlines()[-3])  # doctest: +ELLIPSIS
    T,composition,output-perturbation,corollary,theorem,sharp,noisy-gd...
    """
    along = np.asarray(list(values), dtype=float)
    columns = {field: along, **curve(setting, field, along, list(bounds or BOUNDS), accounting)}
    out = StringIO()
    out.write(f"# epsilon at delta = {setting.delta} against {field}; the setting's own {field} is not used\n")
    out.write(f"# {supposition(setting, accounting)}\n")
    if accounting.printed:
        out.write("# as printed in the paper: not a guarantee\n")
    out.writelines(f"# {line}\n" for line in to_yaml(setting, accounting).splitlines())
    out.write(",".join(columns) + "\n")
    out.writelines(",".join(_text(float(x)) for x in row) + "\n" for row in zip(*columns.values(), strict=True))
    return out.getvalue()


class _Plain(yaml.SafeLoader):
    """YAML without deep nesting and merge keys, which let a short file take hours to read."""

    depth = 0

    def compose_node(self, parent: Any, index: Any) -> Any:
        self.depth += 1
        if self.depth > DEEPEST:
            raise yaml.YAMLError("nested too deeply")
        node = super().compose_node(parent, index)
        self.depth -= 1
        return node

    def flatten_mapping(self, node: Any) -> None:
        """Keep a merge key, which the constructor then refuses."""


def _nothing(why: str) -> Loaded:
    return Loaded(DEMONSTRATION, Accounting(), (why,), read=False)


def _text(value: Any) -> str:
    """The shortest text that reads back as exactly this value."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, float):
        text = repr(value).removesuffix(".0")
        return text.replace("e-0", "e-").replace("e+0", "e").replace("e+", "e")
    return str(value)


def _value(name: str, raw: Any) -> Any:
    """The value of a text; the text itself if it has none, which `Setting` then refuses."""
    if not isinstance(raw, str):
        return raw
    text = raw.strip()
    if name in _WORDS:
        return text
    if name in _SWITCHES:
        return _TRUTH.get(text.lower(), text)
    if not text and name in ("eta", "batch", "lipschitz"):
        return None
    if text == "∞":
        return inf
    try:
        return int(text) if name in INTEGER_FIELDS and text.isdecimal() else float(text)
    except ValueError:
        return text


def _built(base: Any, values: dict[str, Any], problems: list[str]) -> tuple[Any, set[str]]:
    """The base with every valid change, and their names; each refusal becomes a line in `problems`."""
    values, given = dict(values), set(values)
    while True:
        try:
            return base.replace(**values), given
        except Refused as error:
            name = error.field
            name = _FOLLOWS.get(name, name) if name not in given else name
            if name in given:
                del values[name]
                given.discard(name)
                problems.append(str(error))
            else:  # a default that conflicts with a given value
                values[name] = values.get(_AT_MOST[name], getattr(base, _AT_MOST[name]))
                problems.append(f"{name} is lowered to {_AT_MOST[name]} = {_text(values[name])}")


def _code(value: Any) -> str:
    return 'float("inf")' if value == inf else repr(value)
