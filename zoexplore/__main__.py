"""The command `zoexplore`, also as `python -m zoexplore`: its questions are those of `_parser`.

Answers go to standard output, errors to standard error. Exit codes:

    0  an answer
    1  no answer: no bound applies, or no value meets the target
    2  a wrong file, field or option
"""

import argparse
import gc
import json
import sys
import webbrowser
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from math import inf
from typing import Any

import zoexplore
from zoexplore.bounds import BOUNDS, curve, guarantee
from zoexplore.bounds.guarantee import BEST
from zoexplore.questions import Unreachable, calibrate, changes_nothing, forgetting, recommend
from zoexplore.questions.calibration import SOLVABLE_FIELDS
from zoexplore.questions.export import UNASSUMING, Loaded, from_fields, not_given, to_csv, to_yaml
from zoexplore.questions.recommendation import PASSES
from zoexplore.questions.risk import remark_on_delta
from zoexplore.questions.several import compose, search
from zoexplore.questions.statement import in_a_line, plain, statement
from zoexplore.run.formatting import round_up
from zoexplore.run.reading import LARGEST_FILE, Empty, Unreadable, fields_of
from zoexplore.run.setting import IN_PLACE, OWN, SETTING_FIELDS, Accounting, Setting, supposition
from zoexplore.run.text import decoded, printable, use_utf8

ANSWER, NONE, WRONG = 0, 1, 2
MOST_VALUES = 10_000  # of a curve
UNPLANNED = {"K": "1", "T": "1", "sigma": "1", "beta": "1", "clipping": "joint"}  # which a plan chooses, unless they are given
INSTEAD = "in place of the file's; may come twice"
RUN = "a run as YAML, such as the page's Export writes; - reads it from standard input"


class Wrong(Exception):
    """An error that the caller can mend, as the message says."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command, and return its exit code."""
    use_utf8()
    parser = _parser()
    given = parser.parse_args(arguments)
    if given.run is None:
        parser.print_help(sys.stderr)
        return WRONG
    try:
        return int(given.run(given))
    except Wrong as wrong:
        return _complain(str(wrong), WRONG)
    except Unreachable as unreachable:
        return _complain(str(unreachable), NONE)
    except ValueError as error:
        return _complain(str(error), WRONG)
    except BrokenPipeError:  # the reader has closed the pipe, as `| head` does
        sys.stderr.close()
        return ANSWER
    except KeyboardInterrupt:
        return 130


def _complain(words: str, code: int) -> int:
    print(printable(f"zoexplore: {words}"), file=sys.stderr)
    return code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="zoexplore", description="The privacy loss of zeroth-order training, by every bound that is known.",
        epilog="Exit codes: 0 an answer; 1 none, since no bound applies or no value meets the target; 2 the question is wrong.",
    )  # fmt: skip
    parser.add_argument("--version", action="version", version=f"zoexplore {zoexplore.__version__}")
    parser.set_defaults(run=None)
    commands = parser.add_subparsers(metavar="COMMAND")

    words = "serve the explorer in a browser"
    serving = commands.add_parser("serve", help=words, description=_sentence(words))
    serving.add_argument("--port", type=int, default=5006, help="to listen on; 0 for any free one (default: 5006)")
    address = "to listen on; 0.0.0.0 for all of the machine's (default: 127.0.0.1)"
    serving.add_argument("--address", default="127.0.0.1", help=address)
    origin = "where readers find the page, if not at the address; may come twice"
    serving.add_argument("--origin", action="append", default=[], metavar="HOST[:PORT]", help=origin)
    proxy = "believe a proxy's headers; only where readers cannot reach the port themselves"
    serving.add_argument("--behind-proxy", action="store_true", help=proxy)
    serving.add_argument("--prefix", default="", help="of the path, as in zoexplore for /zoexplore/app")
    serving.add_argument("--show", action="store_true", help="open it in a browser")
    serving.set_defaults(run=_serve)

    words = "epsilon of a run by every bound, and why where there is none; of several on the same data together"
    asking = _question(commands, "epsilon", _epsilon, words, "+")
    _choose_bounds(asking, [*BOUNDS, BEST], "all, the least first")
    without = "instead, what is left after so many steps without the record"
    asking.add_argument("--forget", type=int, metavar="STEPS", help=without)
    asking.set_defaults(delta=None)

    words = "epsilon of runs on the same data together, each by its best bound"
    composing = _question(commands, "compose", _compose, words, "+")
    composing.add_argument("--delta", type=float, help="of all together (default: theirs)")

    along = _question(commands, "curve", _curve, "epsilon by every bound along a field, as CSV")
    along.add_argument("--along", default="T", choices=SETTING_FIELDS, metavar="FIELD", help="the field (default: T)")
    along.add_argument("--values", required=True, help="where: 1,10,100 or FROM:TO:COUNT, evenly spread in logarithms")
    _choose_bounds(along, list(BOUNDS), "all")

    solving = _question(commands, "calibrate", _calibrate, "the run with one field at the best value that keeps a target")
    solving.add_argument(
        "field", choices=SOLVABLE_FIELDS, metavar="FIELD", help=f"what is solved for: {', '.join(SOLVABLE_FIELDS)}"
    )
    target = solving.add_mutually_exclusive_group(required=True)
    target.add_argument("--epsilon", type=float, help="the target: epsilon at most")
    target.add_argument("--advantage", type=float, help="or: an attacker's advantage at most")
    rates = "or: an attacker's true positives at most TPR at a false-positive rate of FPR"
    target.add_argument("--tpr", type=float, nargs=2, metavar=("FPR", "TPR"), help=rates)
    _choose_bound(solving, "that keeps it")

    planning = _question(commands, "plan", _plan, "a run for a target, from data, model size, batch and forward passes")
    planning.add_argument("--epsilon", type=float, required=True, help="the target: epsilon at most")
    budget = "forward passes a record, 2KTb/n (default: as many as the file's run takes, or 100 where it has no K or T)"
    planning.add_argument("--passes", type=float, help=budget)
    planning.add_argument("--search", type=int, metavar="RUNS", help="say what it costs to try so many such runs")
    _choose_bound(planning, "that keeps it")

    telling = _question(commands, "statement", _statement, "what the guarantee says, in words: for a paper or a model card")
    _choose_bound(telling, "by which")
    _add_lesson(commands)
    return parser


def _add_lesson(commands: Any) -> None:
    words = "the explorer of a run as one file, which moves without a server, a network or Python"
    parser = commands.add_parser("lesson", help=words, description=_sentence(words))
    parser.add_argument("file", metavar="RUN.yaml", help=RUN)
    parser.add_argument("--set", action="append", default=[], metavar="FIELD=VALUE", help=INSTEAD)
    sliders = "fields with commas between them; K+beta for two that move together, on coarser places (default: sigma,T)"
    parser.add_argument("--sliders", default="sigma,T", metavar="FIELDS", help=sliders)
    parser.add_argument("--out", default="lesson.html", metavar="FILE", help="where to write it (default: lesson.html)")
    parser.add_argument("--link", default="", help="a link for teaching, whose prompts, view and parts it takes")
    live = "of a server's page, to which it links for what it does not have"
    parser.add_argument("--live", default="", metavar="ADDRESS", help=live)
    parser.set_defaults(run=_lesson)


def _sentence(words: str) -> str:
    return f"{words[0].upper()}{words[1:]}."


def _question(commands: Any, name: str, run: Any, words: str, files: str | None = None) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(name, help=words, description=_sentence(words))
    parser.add_argument("file", metavar="RUN.yaml", help=RUN, nargs=files)
    parser.add_argument("--set", action="append", default=[], metavar="FIELD=VALUE", help=INSTEAD)
    parser.add_argument("--json", action="store_true", help="answer in JSON")
    parser.set_defaults(run=run)
    return parser


def _choose_bounds(parser: argparse.ArgumentParser, names: list[str], default: str) -> None:
    words = f"one of {', '.join(names)}; may come twice (default: {default})"
    parser.add_argument("--bound", action="append", choices=names, metavar="BOUND", help=words)


def _choose_bound(parser: argparse.ArgumentParser, words: str) -> None:
    least = f"{words} (default: {BEST}, the least that applies)"
    parser.add_argument("--bound", default=BEST, choices=[*BOUNDS, BEST], metavar="BOUND", help=least)


def _read(
    given: argparse.Namespace, file: str, needed: Sequence[str] = OWN, otherwise: Mapping[str, str] | None = None
) -> Loaded:
    """The run, `otherwise` filling gaps. A field that cannot be used is an error: the answer would be about another run."""
    needs = f": a run needs {', '.join(needed)}"
    try:
        fields = _with(_fields(file), given.set)
    except OSError as error:
        raise Wrong(f"{file}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise Wrong(f"{file} is not text in UTF-8") from None
    except Unreadable as error:
        raise Wrong(f"{file}: {error}{needs if isinstance(error, Empty) else ''}") from None
    if missing := not_given(fields, needed):
        raise Wrong(f"{file}: {missing}{needs}")
    gaps = {name: text for name, text in (otherwise or {}).items() if not_given(fields, [name])}
    loaded = from_fields(gaps | fields, UNASSUMING)
    if loaded.problems:
        unknown = [each for each in loaded.problems if each.endswith("is an unknown setting")]  # and no other is meant
        more = [f"the fields are {', '.join(SETTING_FIELDS)}"] if unknown else []
        raise Wrong("\n".join(f"{file}: {problem}" for problem in [*loaded.problems, *more]))
    return loaded


def _fields(file: str) -> dict[str, Any]:
    """The fields of a file, or of standard input."""
    longest = 4 * LARGEST_FILE  # bytes
    if file == "-":
        raw = sys.stdin.buffer.read(longest + 1)
    else:
        with open(file, "rb") as opened:
            raw = opened.read(longest + 1)
    if len(raw) > longest:
        raise Unreadable(f"the text is longer than {LARGEST_FILE} characters")
    return fields_of(decoded(raw))


def _with(fields: dict[str, Any], changes: Sequence[str]) -> dict[str, Any]:
    """The fields with some in place of those that say the same."""
    for change in changes:
        name, _, value = (part.strip() for part in change.partition("="))
        if not value:
            raise Wrong(f"--set {change}: give FIELD=VALUE, such as --set K=52")
        fields = {key: text for key, text in fields.items() if IN_PLACE.get(key, key) != IN_PLACE.get(name, name)} | {name: value}
    return fields


def _remark(setting: Setting) -> None:
    """Print which run the answer is about, and what to know of its delta."""
    print("\n".join(f"# {words}" for words in (in_a_line(setting), remark_on_delta(setting)) if words))


def _serve(given: argparse.Namespace) -> int:
    gc.disable()  # imported modules are never garbage: looking for some would take a tenth of the time
    try:
        from zoexplore.server.serving import free_port, run, serve
        from zoexplore.views import app
    except ModuleNotFoundError as missing:
        raise Wrong(f"the explorer needs {missing.name}: pip install 'zoexplore[app]'") from None
    finally:
        gc.enable()
    address, port = given.address, given.port
    try:
        port = port or free_port(address)
        server = serve({"app": app}, port, address, given.origin, given.behind_proxy, given.prefix)
    except OSError as error:
        raise Wrong(f"{address}:{port} cannot be listened on: {error.strerror}; give another --port, or 0 for any") from None
    host = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(address, f"[{address}]" if ":" in address else address)
    url = f"http://{host}:{port}{given.prefix and '/' + given.prefix.strip('/')}/app"
    print(f"Serving {url} (Ctrl-C stops it)", flush=True)
    if given.show:
        server.io_loop.add_callback(webbrowser.open, url)
    run(server)
    return ANSWER


def _epsilon(given: argparse.Namespace) -> int:
    if len(given.file) > 1:
        if given.bound:
            raise Wrong("--bound is for one run: of several each counts by its best one")
        return _compose(given)
    loaded = _read(given, given.file[0])
    if given.forget is not None:
        return _forget(given, loaded)
    found = [guarantee(loaded.setting, bound, loaded.accounting) for bound in given.bound or BOUNDS]
    if not given.bound:
        found = sorted(found, key=lambda g: (BOUNDS[g.bound].comparator, g.epsilon))
    if given.json:
        rows = {
            g.bound: {
                "epsilon": g.epsilon, "delta": g.setting.delta, "reason": g.reason, "note": g.note, "supposes": g.supposes,
                "run": in_a_line(g.setting),
            }
            for g in found
        }
        print(json.dumps(plain(rows), ensure_ascii=False, indent=2))
    else:
        width = max(len(g.bound) for g in found)
        for g in found:
            print(f"{g.bound:{width}}  {g.epsilon!r:22}  {_in_a_line(g.reason or g.note)}".rstrip())
        _remark(loaded.setting)
        print(f"# all under one supposition: {supposition(loaded.setting, loaded.accounting)}")
        if found[0].valid:
            print("" if given.bound else f"# the least that applies: {found[0].bound}\n", end="")
            print("\n".join(f"# {found[0].bound} supposes: {words}" for words in found[0].supposes))
    return ANSWER if any(g.valid for g in found) else NONE


def _forget(given: argparse.Namespace, loaded: Loaded) -> int:
    found = forgetting(loaded.setting, given.forget, loaded.accounting)
    if given.json:
        row = {"epsilon": found.epsilon, "delta": loaded.setting.delta, "reason": found.reason, "note": found.note}
        print(json.dumps(plain(row | {"supposes": found.supposes}), ensure_ascii=False, indent=2))
    else:
        print(f"forgetting  {found.epsilon!r:22}  {_in_a_line(found.reason or found.note)}".rstrip())
        print("\n".join(f"# supposes: {words}" for words in found.supposes))
    return ANSWER if found.valid else NONE


def _compose(given: argparse.Namespace) -> int:
    runs = {file: _read(given, file) for file in given.file}
    accounting, *others = {run.accounting for run in runs.values()}
    if others:
        raise Wrong("the runs are counted in different ways: give them the same conversion, sensitivity and schedule")
    together = compose([runs[file].setting for file in given.file], given.delta, accounting)
    alone = [(file, part.guarantee) for file, part in zip(given.file, together.parts, strict=True) if part.guarantee]
    if given.json:
        rows = [{"file": file, "epsilon": g.epsilon, "bound": g.bound, "run": in_a_line(g.setting)} for file, g in alone]
        whole = {name: getattr(together, name) for name in ("epsilon", "delta", "reason", "supposes")}
        print(json.dumps(plain(whole | {"runs": rows}), ensure_ascii=False, indent=2))
    else:
        width = max(map(len, ("together", *given.file)))
        print(f"{'together':{width}}  {together.epsilon!r:22}  {together.reason}".rstrip())
        for file, g in alone:
            print(printable(f"{file:{width}}  {g.epsilon!r:22}  by {g.bound}"))
        for file in runs:
            print(f"# {printable(file)}: {in_a_line(runs[file].setting)}")
        print(f"# δ = {together.delta!r}; neighbours: {together.neighbours}")
        print("\n".join(f"# it supposes: {words}" for words in together.supposes))
    return ANSWER if together.valid else NONE


def _in_a_line(said: str) -> str:
    """The first reason and the number of the others, which --json lists."""
    first, *more = said.split("; ")
    return f"{first} (and {len(more)} more: --json)" if more else first


def _curve(given: argparse.Namespace) -> int:
    loaded, values = _read(given, given.file), _values(given.values)
    if given.json:
        found = curve(loaded.setting, given.along, values, given.bound or list(BOUNDS), loaded.accounting)
        rows = {given.along: values, **{bound: epsilon.tolist() for bound, epsilon in found.items()}}
        print(json.dumps(plain(rows), indent=2))
        return ANSWER if any((epsilon < inf).any() for epsilon in found.values()) else NONE
    text = to_csv(loaded.setting, loaded.accounting, given.along, values, given.bound)
    print(text, end="")
    _, *lines = (line for line in text.splitlines() if not line.startswith("#"))
    return ANSWER if any(float(cell) < inf for line in lines for cell in line.split(",")[1:]) else NONE


def _values(text: str) -> list[float]:
    try:
        if ":" not in text:
            return [float(value) for value in text.split(",")]
        first, last, count = text.split(":")
        low, high, points = float(first), float(last), int(count)
        if not (0 < low < inf and 0 < high < inf and points > 1):
            raise ValueError
    except ValueError:
        raise Wrong(f"--values {text}: give numbers with commas between them, or FROM:TO:COUNT with both ends above 0") from None
    if points > MOST_VALUES:
        raise Wrong(f"--values {text}: give a COUNT of at most {MOST_VALUES}")
    spread = [low * (high / low) ** (i / (points - 1)) for i in range(points)]
    whole = low == int(low) and high == int(high)  # counts such as T and K
    return list(dict.fromkeys(float(round(x)) if whole else x for x in spread))


def _calibrate(given: argparse.Namespace) -> int:
    loaded = _read(given, given.file, [name for name in OWN if name != given.field], {given.field: "1"})
    targets = {"epsilon": given.epsilon, "advantage": given.advantage, "tpr": given.tpr}
    solved = calibrate(loaded.setting, given.field, bound=given.bound, accounting=loaded.accounting, **targets)
    g = guarantee(solved, given.bound, loaded.accounting)
    idle = changes_nothing(solved, given.field, given.bound, loaded.accounting)
    if given.json:
        answer = {
            "field": given.field, "value": getattr(solved, given.field), "epsilon": g.epsilon, "bound": g.bound,
            "changes_nothing": idle, "supposes": g.supposes,
            "setting": solved.as_dict(), "accounting": asdict(loaded.accounting),
        }  # fmt: skip
        print(json.dumps(plain(answer), indent=2))
    else:
        print(f"# {given.field} = {getattr(solved, given.field)!r}: epsilon = {g.epsilon!r} by {g.bound}")
        print("\n".join(f"# it supposes: {words}" for words in g.supposes))
        if idle:
            print(f"# {given.field} changes nothing here: epsilon is the same at every {given.field}")
        _remark(solved)
        print(to_yaml(solved, loaded.accounting), end="")
    return ANSWER


def _plan(given: argparse.Namespace) -> int:
    loaded = _read(given, given.file, ("n", "d"), UNPLANNED)
    run = loaded.setting
    passes = PASSES if given.passes is None and run.K == run.T == 1 else given.passes  # without K and T there is no budget
    plan = recommend(
        run, epsilon=given.epsilon, passes=passes, bound=given.bound, accounting=loaded.accounting, clipping=run.clipping
    )
    searched = _searched(plan.setting, given.search, loaded.accounting)
    if given.json:
        answer = asdict(plan) | {"setting": plan.setting.as_dict(), "accounting": asdict(loaded.accounting), "search": searched}
        print(json.dumps(plain(answer), ensure_ascii=False, indent=2))
    else:
        heard, *more = plan.reasons  # first whether the noise drowns the steps
        met = f"epsilon = {plan.epsilon!r} by {plan.bound}"
        print("\n".join(f"# {words}" for words in (heard, met, *more, *plan.warnings)))
        print("\n".join(f"# it supposes: {words}" for words in plan.supposed))
        tried = [f"trying {given.search} such runs costs ε = {cost:.4g}: {how}" for how, cost in searched.items()]
        print("\n".join(f"# {words}" for words in tried or ["trying several runs costs more; --search 20 says how much"]))
        _remark(plan.setting)
        print(to_yaml(plan.setting, loaded.accounting), end="")
    return ANSWER


def _searched(run: Setting, runs: int | None, accounting: Accounting) -> dict[str, float]:
    """epsilon of a search of so many runs, by how their number is chosen; nothing where none is asked for."""
    if runs is None:
        return {}
    found = {"a fixed number, all released": search(run, runs=runs, accounting=accounting)}
    for law in ("geometric", "logarithmic") if runs > 1 else ():
        found[f"a {law} number of this mean, the best released"] = search(run, mean=runs, law=law, accounting=accounting)
    return {how: round_up(tried.epsilon) for how, tried in found.items()}


def _statement(given: argparse.Namespace) -> int:
    loaded = _read(given, given.file)
    said = statement(loaded.setting, given.bound, loaded.accounting)
    print(json.dumps(said.as_dict(), ensure_ascii=False, indent=2) if given.json else said)
    return ANSWER if said.guarantee.valid else NONE


def _lesson(given: argparse.Namespace) -> int:
    try:
        from zoexplore.views.lesson import page
    except ModuleNotFoundError as missing:
        raise Wrong(f"a lesson needs {missing.name}: pip install 'zoexplore[app]'") from None
    loaded, sliders = _read(given, given.file), given.sliders.split(",")
    for name, (places, size, seconds) in page.expected(loaded.setting, sliders).items():
        print(f"{name}: {places} places, about {size // 1000} kB and {seconds} s of computing", flush=True)
    text = page.html(loaded.setting, sliders, loaded.accounting, given.link, given.live)
    try:
        page.save(given.out, text)
    except OSError as error:
        raise Wrong(error.strerror or str(error)) from None
    print(f"{given.out}: {len(text.encode()) // 1000} kB; open it in any browser")
    return ANSWER


if __name__ == "__main__":
    sys.exit(main())
