"""Settings and curves as text: a URL's query, YAML, a Python snippet and CSV, and back.

Input is not trusted. Readers skip a field that is unknown or has a bad value, and `Loaded.problems`
says so in words.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from math import inf
from typing import Any
from urllib.parse import parse_qsl, urlencode

import yaml

from zoexplore.bounds import BOUNDS, epsilon
from zoexplore.run.formatting import format_exact
from zoexplore.run.presets import DEMONSTRATION
from zoexplore.run.reading import Unreadable, fields_of, value_of
from zoexplore.run.refusals import Refused, meant, shown
from zoexplore.run.setting import FIELD_NAMES, IN_PLACE, OWN, Accounting, Setting, supposition
from zoexplore.run.text import written

OPTIONS = tuple(asdict(Accounting()))
NAMES = (*FIELD_NAMES, *OPTIONS)
# a run that assumes nothing of the loss, for files that say nothing of it
UNASSUMING = Setting(**{name: getattr(DEMONSTRATION, name) for name in OWN})
# for each field, the given field to blame if this one was not given but is refused
_BLAMED = {"eta": "M", "K": "d", "m": "M", "ridge": "m"} | {
    field: rate for rate, field in IN_PLACE.items()
}


@dataclass(frozen=True)
class Loaded:
    """A setting and an accounting that were read, and as `problems` a sentence for each part of the
    text that was not used.

    If `read` is false, nothing was used, and the setting is the base.
    """

    setting: Setting
    accounting: Accounting
    problems: tuple[str, ...] = ()
    read: bool = True


def to_fields(setting: Setting, accounting: Accounting) -> dict[str, str]:
    """Return the fields that differ from the demonstration run and the default accounting, as text
    by name.

    >>> to_fields(DEMONSTRATION.replace(sigma=1e-4), Accounting())
    {'sigma': '0.0001'}
    """
    default = every_field(DEMONSTRATION, Accounting())
    return {
        name: text
        for name, text in every_field(setting, accounting).items()
        if text != default[name]
    }


def every_field(setting: Setting, accounting: Accounting) -> dict[str, str]:
    """Return every field as text by name.

    >>> every_field(DEMONSTRATION, Accounting())["K"]
    '260'
    """
    return {name: _text(value) for name, value in (setting.as_dict() | asdict(accounting)).items()}


def from_fields(given: Mapping[Any, Any], base: Setting = DEMONSTRATION) -> Loaded:
    """Make a setting and an accounting from texts by name. `noise_multiplier` and the other names
    of `IN_PLACE` may stand in place of fields. Fields that are not given are taken from `base`.

    >>> from_fields({"K": "52", "sigma": "1e-2"}).setting.K
    52
    """
    known = {name: text for name, text in given.items() if name in NAMES}
    values = {name: value_of(name, text) for name, text in known.items() if isinstance(text, str)}
    problems = [
        *unknown(given),
        *(f"{name} is not used: give a single value" for name in known if name not in values),
    ]
    accounting, options = _built(
        Accounting(), {k: v for k, v in values.items() if k in OPTIONS}, problems
    )
    setting, fields = _built(base, {k: v for k, v in values.items() if k in FIELD_NAMES}, problems)
    return Loaded(setting, accounting, tuple(problems), read=bool(options or fields) or not given)


def unknown(names: Iterable[object]) -> list[str]:
    """Return a sentence for each name that no field has.

    >>> unknown(["K", "k"])
    ["'k' is an unknown setting: did you mean K?"]
    """
    return [
        f"{shown(name)} is an unknown setting{meant(name, NAMES)}"
        for name in names
        if name not in NAMES
    ]


def to_query(setting: Setting, accounting: Accounting) -> str:
    """Return the query of a URL, without the question mark; empty for the demonstration run.

    >>> to_query(DEMONSTRATION.replace(K=52), Accounting(conversion="cks"))
    'K=52&conversion=cks'
    """
    return urlencode(to_fields(setting, accounting))


def from_query(query: str) -> Loaded:
    """Read the setting in a URL's query. The last value of a repeated field counts.

    >>> from_query("K=52&T=0").problems
    ('T = 0 is not allowed: give a whole number from 1 to 9007199254740992',)
    """
    return from_fields(dict(parse_qsl(query.removeprefix("?"), keep_blank_values=True)))


def to_yaml(setting: Setting, accounting: Accounting) -> str:
    """Write every field as YAML.

    >>> to_yaml(DEMONSTRATION, Accounting()).splitlines()[:2]
    ['setting:', '  n: 20000']
    """
    parts = {"setting": setting.as_dict(), "accounting": asdict(accounting)}
    return str(yaml.safe_dump(parts, sort_keys=False, allow_unicode=True))


def from_yaml(text: str) -> Loaded:
    """Read a setting from YAML, written by `to_yaml` or by hand, with or without its two headings.

    As with `Setting`, a file without constants of the loss assumes nothing of it. Missing numbers
    of the run itself are taken from the demonstration run, and `problems` says so.

    >>> from_yaml("K: 52").problems
    ('n, d, T, sigma, beta are not given: those of the demonstration run are taken',)
    """
    try:
        fields = fields_of(text)
    except Unreadable as error:
        return Loaded(DEMONSTRATION, Accounting(), (str(error),), read=False)
    loaded = from_fields(fields, UNASSUMING)
    if not loaded.read:
        return replace(loaded, setting=DEMONSTRATION)
    if missing := not_given(fields):
        taken = f"{missing}: those of the demonstration run are taken"
        return replace(loaded, problems=(*loaded.problems, taken))
    return loaded


def not_given(fields: Collection[str], needed: Iterable[str] = OWN) -> str:
    """Begin a sentence with the needed fields that are given neither by name nor by a number in
    their place; return "" if there are none.

    >>> not_given(["n", "d", "T", "noise_multiplier"])
    'K, beta are not given'
    """
    given = {IN_PLACE.get(name, name) for name in fields}
    missing = [name for name in needed if name not in given]
    return (
        f"{', '.join(missing)} {'are' if len(missing) > 1 else 'is'} not given" if missing else ""
    )


def to_python(setting: Setting, accounting: Accounting) -> str:
    """Write code that prints every bound's epsilon, followed by its output as comments.

    >>> print(to_python(DEMONSTRATION, Accounting()).splitlines()[0])
    from zoexplore import BOUNDS, Accounting, Setting, epsilon
    """
    return written(
        "questions/texts/python.txt",
        run={name: _code(value) for name, value in setting.as_dict().items()},
        options={name: _code(value) for name, value in asdict(accounting).items()},
        supposed=supposition(setting, accounting),
        numbers={bound: epsilon(setting, bound, accounting) for bound in BOUNDS},
    )


def to_csv(setting: Setting, accounting: Accounting, columns: Mapping[str, Iterable[float]]) -> str:
    """Write columns of equal length as CSV: a field's values, then epsilon by each bound, inf if
    the bound does not apply. Comments give the setting as YAML.

    >>> print(to_csv(DEMONSTRATION, Accounting(), {"T": [1, 2], "sharp": [0.25, 0.375]}).splitlines()[-3:])
    ['T,sharp', '1,0.25', '2,0.375']
    """
    field = next(iter(columns))
    remarks = [
        f"epsilon at delta = {setting.delta} against {field}; the setting's own {field} is not used",
        supposition(setting, accounting),
        *(["as printed in the paper: not a guarantee"] if accounting.printed else []),
        *to_yaml(setting, accounting).splitlines(),
    ]
    rows = zip(*columns.values(), strict=True)
    cells = (",".join(_text(float(x)) for x in row) for row in rows)
    return "\n".join([*(f"# {remark}" for remark in remarks), ",".join(columns), *cells, ""])


def _text(value: Any) -> str:
    """Return the shortest text that reads back as exactly this value."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(int(value))
    return format_exact(value) if isinstance(value, float) and value < inf else str(value)


def _built(base: Any, values: dict[str, Any], problems: list[str]) -> tuple[Any, dict[str, Any]]:
    """Return the base with every valid change, and these changes; add each refusal to `problems`."""
    values = dict(values)
    while True:
        try:
            return base.replace(**values), values
        except Refused as error:
            name = error.field if error.field in values else _BLAMED[error.field]
            del values[name]
            problems.append(str(error))


def _code(value: Any) -> str:
    return 'float("inf")' if value == inf else repr(value)
