"""The command `zoexplore`, also run as `python -m zoexplore`. `command.yaml` lists its subcommands
and their arguments.

Answers go to standard output, errors to standard error. Exit codes:

    0  an answer
    1  no answer: no bound applies, or no value meets the target
    2  a wrong file, field or option
"""

import argparse
import json
import sys
import webbrowser
from argparse import Namespace
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from math import inf
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import yaml

import zoexplore
from zoexplore.bounds import BOUNDS, curve, guarantee
from zoexplore.bounds.epsilons import BEST
from zoexplore.questions import (
    Unreachable,
    calibrate,
    changes_nothing,
    compose,
    forgetting,
    recommend,
    search,
)
from zoexplore.questions.calibration import SOLVABLE_FIELDS
from zoexplore.questions.export import UNASSUMING, from_fields, not_given, to_csv, to_yaml, unknown
from zoexplore.questions.recommendation import PASSES
from zoexplore.questions.statement import in_a_line, plain, remark_on_delta, statement
from zoexplore.run.formatting import round_up
from zoexplore.run.reading import LARGEST_FILE, Unreadable, fields_of
from zoexplore.run.setting import (
    IN_PLACE,
    INTEGER_FIELDS,
    OWN,
    SETTING_FIELDS,
    Accounting,
    Setting,
    supposition,
)
from zoexplore.run.text import decoded, printable, use_utf8, written

ANSWER, NONE, WRONG = 0, 1, 2
MOST_VALUES = 10_000  # the most values of a curve
# placeholders for the fields that a plan chooses unless they are given
UNPLANNED = {"K": "1", "T": "1", "sigma": "1", "beta": "1", "clipping": "joint"}


class Wrong(ValueError):
    """An error that the user can correct; the message says how."""


class Answer(NamedTuple):
    """An answer: whether one was found, its data for JSON, and its text, which a template may
    frame.
    """

    found: bool
    data: dict[str, Any]
    text: str = ""
    template: str = ""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command, and return its exit code."""
    use_utf8()
    parser = _parser()
    given = parser.parse_args(arguments)
    if given.run is None:
        parser.print_help(sys.stderr)
        return WRONG
    try:
        answer = given.run(given)
        return ANSWER if answer is None else _say(answer, given.json)
    except BrokenPipeError:  # the reader has closed the pipe, as `| head` does
        sys.stderr.close()
        return ANSWER
    except (ValueError, OSError, ModuleNotFoundError) as error:
        print(printable(f"zoexplore: {_told(error)}"), file=sys.stderr)
        return NONE if isinstance(error, Unreachable) else WRONG
    except KeyboardInterrupt:
        return 130


def _told(error: Exception) -> str:
    """Return what to tell the user about an error."""
    if isinstance(error, ModuleNotFoundError):
        return f"this needs {error.name}: pip install 'zoexplore[app]'"
    if isinstance(error, OSError):
        return ": ".join(filter(None, (error.filename, error.strerror or str(error))))
    return str(error)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="zoexplore",
        description="The privacy loss of zeroth-order training, by every bound that is known.",
        epilog="Exit codes: 0 an answer; 1 none, since no bound applies or no value meets the target; 2 the question is wrong.",
    )
    parser.add_argument("--version", action="version", version=f"zoexplore {zoexplore.__version__}")
    parser.set_defaults(run=None)
    commands = parser.add_subparsers(metavar="COMMAND")
    table = yaml.safe_load(Path(__file__).with_name("command.yaml").read_text(encoding="utf-8"))
    for name, about in table.items():
        words, aliases = about["help"], about.get("aliases", ())
        command = commands.add_parser(
            name, aliases=aliases, help=words, description=f"{words[0].upper()}{words[1:]}."
        )
        for argument, told in about["arguments"].items():
            command.add_argument(
                argument, **{key: NAMED.get(value, value) for key, value in told.items()}
            )
        command.set_defaults(run=COMMANDS[name])
    return parser


def _say(answer: Answer, as_json: bool) -> int:
    found, data, text, template = answer
    if as_json:
        text = json.dumps(plain(data), ensure_ascii=False, indent=2)
    elif template:
        text = printable(written(f"texts/{template}.txt", data=data, text=text))
    print(text.rstrip("\n"))
    return ANSWER if found else NONE


def _read(
    given: Namespace, file: str, gaps: Mapping[str, str] = MappingProxyType({})
) -> tuple[Setting, Accounting]:
    """Read the run of a file; `gaps` has values for fields that neither the file nor --set gives.
    Raise `Wrong` for a field that cannot be used, since the answer would be about another run.
    """
    needed = [name for name in OWN if name not in gaps]
    needs = f": a run needs {', '.join(needed)}"
    try:
        fields = _over(gaps, _fields(file))
    except UnicodeDecodeError:
        raise Wrong(f"{file} is not text in UTF-8") from None
    except Unreadable as error:
        raise Wrong(f"{file}: {error}{needs}") from None
    for change in given.set or ():
        name, _, value = (part.strip() for part in change.partition("="))
        if not value:
            raise Wrong(f"--set {change}: give FIELD=VALUE, such as --set K=52")
        fields = _over(fields, {name: value})
    if missing := not_given(fields, needed):
        # an unknown name may be a misspelt name of a missing field
        raise Wrong("; ".join([f"{file}: {missing}{needs}", *unknown(fields)]))
    loaded = from_fields(fields, UNASSUMING)
    if loaded.problems:
        unlike = any("did you mean" not in each for each in unknown(fields))
        more = [f"the fields are {', '.join(SETTING_FIELDS)}"] if unlike else []
        raise Wrong("\n".join(f"{file}: {problem}" for problem in [*loaded.problems, *more]))
    return loaded.setting, loaded.accounting


def _fields(file: str) -> dict[str, Any]:
    """Read the fields of a file, or of standard input."""
    with open(0 if file == "-" else file, "rb", closefd=file != "-") as opened:
        raw = opened.read(4 * LARGEST_FILE + 1)  # a character has 4 bytes at most
    return fields_of(decoded(raw))


def _over(fields: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields with `changes`. A change also replaces a field that says the same under
    another name, as `epochs` and `T` do.
    """
    said = {IN_PLACE.get(name, name) for name in changes}
    kept = {name: text for name, text in fields.items() if IN_PLACE.get(name, name) not in said}
    return kept | dict(changes)


def _serve(given: Namespace) -> None:
    from zoexplore.server.serving import bracketed, run, serve
    from zoexplore.views import app

    address = given.address
    try:
        server = serve(
            {"app": app}, given.port, address, given.origin or (), given.behind_proxy, given.prefix
        )
    except OSError as error:
        raise Wrong(
            f"{address}:{given.port} cannot be listened on: {error.strerror}; give another --port, or 0"
        ) from None
    host = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(address, bracketed(address))
    url = f"http://{host}:{server.port}{given.prefix and '/' + given.prefix.strip('/')}/app"
    print(f"Serving {url} (Ctrl-C stops it)", flush=True)
    if given.show:
        server.io_loop.add_callback(webbrowser.open, url)
    run(server)


def _epsilon(given: Namespace) -> Answer:
    if len(given.file) > 1 or given.delta is not None:
        return _compose(given)
    setting, accounting = _read(given, given.file[0])
    if given.forget is None:
        every = (guarantee(setting, bound, accounting) for bound in given.bound or BOUNDS)
        ranked = sorted(every, key=lambda g: (BOUNDS[g.bound].comparator, g.epsilon))
        by_bound = {g.bound: g for g in ranked}
    else:
        by_bound = {"forgetting": forgetting(setting, given.forget, accounting)}
    about = _about(setting) | {"supposition": supposition(setting, accounting)}
    names = ("epsilon", "reason", "note", "supposes", "truth")
    data = {
        bound: {name: getattr(g, name) for name in names} | {"delta": setting.delta} | about
        for bound, g in by_bound.items()
    }
    return Answer(any(g.valid for g in by_bound.values()), data, template="epsilon")


def _about(run: Setting) -> dict[str, str]:
    """Describe a run in a line, and add a remark on its delta."""
    return {"run": in_a_line(run), "remark": remark_on_delta(run)}


def _compose(given: Namespace) -> Answer:
    if given.bound or given.forget is not None:
        raise Wrong("--bound and --forget are for one run: of several each counts by its best")
    runs = {file: _read(given, file) for file in given.file}
    accounting, *others = {accounting for _, accounting in runs.values()}
    if others:
        raise Wrong(
            "the runs are counted in different ways: give them the same conversion, sensitivity and schedule"
        )
    together = compose([runs[file][0] for file in given.file], given.delta, accounting)
    guarantees = [part.guarantee for part in together.parts if part.guarantee]
    rows = [
        {"file": file, "epsilon": g.epsilon, "bound": g.bound, "run": in_a_line(g.setting)}
        for file, g in zip(given.file, guarantees, strict=True)
    ]
    names = ("epsilon", "delta", "reason", "neighbours", "supposes")
    data = {name: getattr(together, name) for name in names} | {"runs": rows}
    return Answer(together.valid, data, template="compose")


def _curve(given: Namespace) -> Answer:
    (setting, accounting), along = _read(given, given.file), given.along
    values = _values(given.values, along in INTEGER_FIELDS)
    found = curve(setting, along, values, given.bound or list(BOUNDS), accounting)
    columns = {along: values} | {name: epsilons.tolist() for name, epsilons in found.items()}
    some = any(min(epsilons) < inf for epsilons in found.values())
    return Answer(some, columns, to_csv(setting, accounting, columns))


def _values(text: str, whole: bool) -> list[float]:
    try:
        if ":" not in text:
            return [float(value) for value in text.split(",")]
        low, high, count = text.split(":")
        if int(count) > MOST_VALUES:
            raise ValueError
        spread = np.geomspace(float(low), float(high), int(count))
    except ValueError:
        form = f"FROM:TO:COUNT with both ends above 0 and a COUNT of at most {MOST_VALUES}"
        raise Wrong(f"--values {text}: give numbers with commas between them, or {form}") from None
    return [float(value) for value in np.unique(spread.round() if whole else spread)]


def _calibrate(given: Namespace) -> Answer:
    field, bound = given.field, given.bound
    setting, accounting = _read(given, given.file, {field: "1"})
    targets = {"epsilon": given.epsilon, "advantage": given.advantage, "tpr": given.tpr}
    solved = calibrate(setting, field, bound=bound, accounting=accounting, **targets)
    g, value = guarantee(solved, bound, accounting), getattr(solved, field)
    idle = changes_nothing(solved, field, bound, accounting)
    proved = {"epsilon": g.epsilon, "bound": g.bound, "supposes": g.supposes}
    about = {"field": field, "value": value, "changes_nothing": idle}
    return _with_run("calibrate", about | proved, solved, accounting)


def _with_run(template: str, data: dict[str, Any], run: Setting, accounting: Accounting) -> Answer:
    """Make an answer that ends with a run as YAML."""
    data |= {"setting": run.as_dict(), "accounting": asdict(accounting)} | _about(run)
    return Answer(True, data, to_yaml(run, accounting), template)


def _plan(given: Namespace) -> Answer:
    run, accounting = _read(given, given.file, UNPLANNED)
    # a file without K and T gives no budget
    passes = PASSES if given.passes is None and run.K == run.T == 1 else given.passes
    asked: dict[str, Any] = {"epsilon": given.epsilon, "passes": passes, "bound": given.bound}
    asked |= {"clipping": run.clipping, "cooldown": run.cooldown}
    plan = recommend(run, **asked, accounting=accounting)
    searched = _searched(plan.setting, given.search, accounting)
    about = {"search": searched, "tried": given.search, "supposes": plan.supposed}
    about |= {"target": given.epsilon}
    return _with_run("plan", asdict(plan) | about, plan.setting, accounting)


def _searched(run: Setting, runs: int | None, accounting: Accounting) -> dict[str, float]:
    """Return the epsilon of a search over `runs` runs for each way to choose their number; return
    {} if `runs` is None.
    """
    if runs is None:
        return {}
    ways: dict[str, dict[str, Any]] = {"a fixed number, all released": {"runs": runs}}
    for law in ("geometric", "logarithmic") if runs > 1 else ():
        ways[f"a {law} number of this mean, the best released"] = {"mean": runs, "law": law}
    return {
        how: round_up(search(run, **way, accounting=accounting).epsilon)
        for how, way in ways.items()
    }


def _statement(given: Namespace) -> Answer:
    setting, accounting = _read(given, given.file)
    said = statement(setting, given.bound, accounting)
    return Answer(said.guarantee.valid, said.as_dict(), str(said))


def _lesson(given: Namespace) -> None:
    from zoexplore.views.lesson import page

    (setting, accounting), sliders = _read(given, given.file), given.sliders.split(",")
    for name, (places, size, seconds) in page.expected(setting, sliders).items():
        expected = f"{places} places, about {size // 1000} kB and {seconds} s of computing"
        print(f"{name}: {expected}", flush=True)
    text = page.html(setting, sliders, accounting, given.link, given.live)
    page.save(given.out, text)
    print(f"{given.out}: {len(text.encode()) // 1000} kB; open it in any browser")


# what the names in `command.yaml` stand for
NAMED: dict[Any, Any] = {
    "int": int,
    "float": float,
    "bounds": [*BOUNDS, BEST],
    "fields": SETTING_FIELDS,
    "solvable": SOLVABLE_FIELDS,
}
COMMANDS: dict[str, Callable[[Namespace], Answer | None]] = {
    "serve": _serve,
    "epsilon": _epsilon,
    "curve": _curve,
    "calibrate": _calibrate,
    "plan": _plan,
    "statement": _statement,
    "lesson": _lesson,
}


if __name__ == "__main__":
    sys.exit(main())
