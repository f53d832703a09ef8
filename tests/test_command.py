"""The command answers as the library does, says what is wrong in a line, and ends with the code
that it promises.
"""

import io
import json
import os
import subprocess
import sys
from math import inf
from time import process_time

import pytest

from tests.effort import usually
from tests.running import page_of, running
from tests.test_project import ROOT
from zoexplore import (
    BOUNDS,
    Setting,
    __version__,
    calibrate,
    compose,
    curve,
    epsilon,
    forgetting,
    guarantee,
)
from zoexplore.__main__ import main
from zoexplore.questions.export import from_yaml, to_yaml
from zoexplore.questions.several import search
from zoexplore.questions.statement import plain, statement
from zoexplore.run.presets import DEMONSTRATION
from zoexplore.run.setting import SAMPLINGS, Accounting
from zoexplore.run.text import say


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "run.yaml"
    path.write_text(to_yaml(DEMONSTRATION, Accounting()), encoding="utf-8")
    return str(path)


def ask(capsys, *arguments):
    """The exit code, the answer and the complaint."""
    code = main(arguments)
    said = capsys.readouterr()
    return code, said.out, said.err


def test_epsilon_is_the_librarys_to_the_last_digit(capsys, file):
    code, answer, complaint = ask(capsys, "epsilon", file)
    assert (code, complaint) == (0, "")
    lines, remarks = (
        [line for line in answer.splitlines() if line.startswith("#") == said]
        for said in (False, True)
    )
    echo, *supposed = remarks
    found = {line.split()[0]: float(line.split()[1]) for line in lines}
    assert found == {bound: epsilon(DEMONSTRATION, bound) for bound in BOUNDS}
    assert next(iter(found)) == "sharp", "the one that applies and gives least comes first"
    assert echo.startswith(
        "# K = 260, T = 200, n = 20000, d = 520, σ = 5e-5, β = 0.5, δ = 1e-5, noise multiplier "
    )
    assert (
        supposed.pop(0)
        == "# all under one supposition: every record's gradient is at most L = 1 long"
    )
    assert supposed.pop(0) == "# the least that applies: sharp"
    assert supposed == [
        f"# sharp supposes: {words}" for words in guarantee(DEMONSTRATION, "sharp").supposes
    ]


def test_epsilon_says_where_hiding_cannot_help(capsys, file):
    said = ask(capsys, "epsilon", file, *sets("d=1e9", "R=∞", "lipschitz=∞"))[1]
    assert "# KT ≪ d: composition is the truth, within the digits shown" in said


def sets(*changes):
    return [part for change in changes for part in ("--set", change)]


COMPOSED = ("--bound", "composition")  # a plan that hides takes ten times as long
UNKNOWN = sets("M=∞", "m=0", "ridge=0", "regime=non-convex", "lipschitz=∞", "sigma=1e-2")


def test_a_bound_that_does_not_apply_takes_a_line(capsys, file):
    _, answer, _ = ask(capsys, "epsilon", file, *UNKNOWN, "--set", "K=300")
    assert answer.splitlines()[0].startswith("composition") and "more: --json" in answer
    assert all(line.count("; ") == 0 for line in answer.splitlines() if " inf " in line)


def test_a_plan_says_first_whether_its_noise_drowns_the_steps(capsys, tmp_path):
    path = tmp_path / "known.yaml"
    for n, words in ((1000, "# The noise drowns the step"), (10**6, "# If all records agree")):
        path.write_text(f"n: {n}\nd: 1000000\nbatch: 64\n", encoding="utf-8")
        code, answer, _ = ask(capsys, "plan", str(path), "--epsilon", "0.5", "--passes", "1000")
        planned = from_yaml(answer)
        assert code == 0 and answer.startswith(words) and planned.problems == ()
        assert (
            planned.setting.clipping == "joint"
            and guarantee(planned.setting, "best").epsilon <= 0.5
        )


def test_it_says_where_a_field_changes_nothing_and_which_bound_is_the_least(capsys, file):
    public = (*UNKNOWN, "--set", "beta=1")
    code, answer, _ = ask(capsys, "calibrate", file, "K", "--epsilon", "2", *public)
    assert code == 0 and "by composition" in answer and "# K changes nothing here" in answer
    code, _, complaint = ask(capsys, "calibrate", file, "K", "--epsilon", "0.01", *public)
    assert code == 1 and "K changes nothing here, and leaves" in complaint
    _, answer, _ = ask(capsys, "calibrate", file, "K", "--epsilon", "2")
    assert "changes nothing" not in answer and "by sharp" in answer


def test_a_file_keeps_a_joint_clip(capsys, tmp_path):
    """Read as a clip on each quotient, epsilon would be 24 in place of 2."""
    run = Setting(
        n=2000,
        d=10**5,
        T=500,
        K=64,
        sigma=1.0,
        beta=1.0,
        eta=6.4,
        clip=1.0,
        delta=1e-5,
        clipping="joint",
    )
    run = calibrate(run, "sigma", epsilon=2.0, bound="composition")
    path = tmp_path / "made.yaml"
    path.write_text(to_yaml(run, Accounting()), encoding="utf-8")
    _, answer, _ = ask(capsys, "epsilon", str(path), "--bound", "composition")
    assert 2 - 1e-6 < float(answer.split()[1]) <= 2
    _, answer, _ = ask(
        capsys, "epsilon", str(path), "--bound", "composition", "--set", "clipping=each"
    )
    assert 24 < float(answer.split()[1])
    said = str(statement(run, "composition"))
    assert (
        "Clipping: a record's K = 64 difference quotients are scaled together to a length of at most Δ = 1."
        in said
    )


def test_json_is_json_where_a_number_is_infinite(capsys, file):
    code, answer, _ = ask(capsys, "epsilon", file, "--set", "K=300", "--bound", "theorem", "--json")
    (found,) = json.loads(answer, parse_constant=pytest.fail).values()
    assert code == 1 and found["epsilon"] == "inf" and found["reason"] == "2K = 600 exceeds d = 520"


def test_a_curve_is_csv_that_says_of_what(capsys, file):
    code, answer, _ = ask(capsys, "curve", file, "--values", "1:100:3", "--bound", "sharp")
    header = "\n".join(line[2:] for line in answer.splitlines() if line.startswith("# "))
    rows = [line.split(",") for line in answer.splitlines() if not line.startswith("#")]
    expected = curve(DEMONSTRATION, "T", [1, 10, 100], ["sharp"])["sharp"]
    assert code == 0 and rows[0] == ["T", "sharp"]
    assert [(float(T), float(e)) for T, e in rows[1:]] == list(
        zip([1, 10, 100], expected, strict=True)
    )
    assert from_yaml(header.partition("\n")[2]).setting == DEMONSTRATION


@pytest.mark.parametrize("command", ["epsilon", "compose"])
def test_several_files_are_composed_each_by_its_best_bound(capsys, file, tmp_path, command):
    other = tmp_path / "other.yaml"
    runs = [DEMONSTRATION, DEMONSTRATION, DEMONSTRATION.replace(T=50, sigma=1e-4)]
    other.write_text(to_yaml(runs[-1], Accounting()), encoding="utf-8")
    files = [file, file, str(other)]
    together = compose(runs)
    code, answer, _ = ask(capsys, command, *files)
    whole, *alone = [line.split() for line in answer.splitlines() if not line.startswith("#")]
    assert code == 0 and whole == ["together", repr(together.epsilon)]
    expected = [
        (path, repr(epsilon(run, "sharp")), "by", "sharp")
        for path, run in zip(files, runs, strict=True)
    ]
    assert [tuple(line) for line in alone] == expected
    assert f"# {other}: K = 260, T = 50" in answer and all(
        f"# it supposes: {words}" in answer for words in together.supposes
    )
    _, answer, _ = ask(capsys, command, *files, "--json")
    assert (
        json.loads(answer)["epsilon"] == together.epsilon and len(json.loads(answer)["runs"]) == 3
    )


def test_what_cannot_be_composed_is_reported(capsys, file, tmp_path):
    other = tmp_path / "other.yaml"
    for changed, said in (
        (
            to_yaml(DEMONSTRATION.replace(neighbours="add-remove"), Accounting()),
            "unlike neighbours",
        ),
        (
            to_yaml(DEMONSTRATION.replace(delta=1e-6), Accounting()),
            "give the delta of all together",
        ),
        (to_yaml(DEMONSTRATION, Accounting(conversion="cks")), "counted in different ways"),
    ):
        other.write_text(changed, encoding="utf-8")
        code, answer, complaint = ask(capsys, "compose", file, str(other))
        assert (code, answer) == (2, "") and said in complaint
    other.write_text(to_yaml(DEMONSTRATION.replace(delta=1e-6), Accounting()), encoding="utf-8")
    code, answer, _ = ask(capsys, "compose", file, str(other), "--delta", "1e-5")
    assert code == 0 and float(answer.split()[1]) == pytest.approx(
        compose([DEMONSTRATION] * 2).epsilon
    )
    code, _, complaint = ask(capsys, "epsilon", file, file, "--bound", "sharp")
    assert code == 2 and "--bound and --forget are for one run" in complaint


def test_a_plan_says_what_a_search_among_such_runs_costs(capsys, file):
    _, answer, _ = ask(capsys, "plan", file, "--epsilon", "1", *COMPOSED)
    assert "# trying several runs costs more; --search 20 says how much" in answer
    _, answer, _ = ask(capsys, "plan", file, "--epsilon", "1", "--search", "20", *COMPOSED)
    tried = (line for line in answer.splitlines() if "trying 20" in line)
    fixed, geometric, logarithmic = (float(line.split("ε = ")[1].split(":")[0]) for line in tried)
    run = from_yaml(answer).setting
    assert (
        fixed == pytest.approx(search(run, runs=20).epsilon, rel=1e-3)
        and 1 < logarithmic < geometric < fixed
    )
    _, answer, _ = ask(capsys, "plan", file, "--epsilon", "1", "--search", "1", "--json", *COMPOSED)
    assert list(json.loads(answer)["search"].values()) == [
        pytest.approx(json.loads(answer)["epsilon"], rel=3e-3)
    ]


@pytest.mark.parametrize("form", [[], ["--json"]])
def test_a_curve_of_infinities_is_no_answer(capsys, file, form):
    code, answer, _ = ask(
        capsys, "curve", file, "--values", "1,10", "--set", "K=300", "--bound", "theorem", *form
    )
    assert code == 1 and answer.count("inf") >= 2


def test_a_curve_on_batches_complains_of_nothing():
    """Of nothing that is a library's business, either."""
    batches = to_yaml(DEMONSTRATION.replace(batch=100), Accounting())
    command = [
        sys.executable,
        "-W",
        "error",
        "-m",
        "zoexplore",
        "curve",
        "-",
        "--along",
        "batch",
        "--values",
        "100,200",
    ]
    done = subprocess.run(
        [*command, "--bound", "composition"], input=batches, capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_calibrate_writes_a_run_that_keeps_the_target(capsys, file):
    code, answer, _ = ask(capsys, "calibrate", file, "sigma", "--epsilon", "1")
    solved = from_yaml(answer).setting
    assert code == 0 and 0.999 < epsilon(solved, "sharp") <= 1
    _, again, _ = ask(capsys, "calibrate", file, "sigma", "--epsilon", "1", "--json")
    assert json.loads(again)["value"] == solved.sigma


@pytest.mark.parametrize("target", [("--advantage", "0.2"), ("--tpr", "0.01", "0.03")])
def test_calibrate_keeps_an_attacker_below_a_target(capsys, file, target):
    code, answer, _ = ask(capsys, "calibrate", file, "sigma", *target, "--bound", "composition")
    g = guarantee(from_yaml(answer).setting, "composition")
    assert code == 0 and (0.199 < g.advantage <= 0.2 or 0.0299 < g.true_positive_rate(0.01) <= 0.03)


def test_what_cannot_be_reached_is_no_answer(capsys, file):
    code, answer, complaint = ask(capsys, "calibrate", file, "beta", "--epsilon", "1e-9")
    assert (code, answer) == (1, "") and complaint.startswith("zoexplore: ")


def test_a_reason_that_no_value_changes_is_reported_without_one(capsys, file):
    for field, symbol in (("sigma", "σ"), ("n", "n")):
        _, _, complaint = ask(
            capsys,
            "calibrate",
            file,
            field,
            "--epsilon",
            "1",
            "--bound",
            "theorem",
            "--set",
            "K=300",
        )
        assert f"applies at no {symbol}: 2K = 600 exceeds d = 520" in complaint
    few = ("--set", "d=80", "--set", "K=20")
    _, _, complaint = ask(
        capsys, "calibrate", file, "K", "--epsilon", "1", "--bound", "corollary", *few
    )
    assert "applies at no K; at K = " in complaint


def test_the_run_that_the_page_about_it_begins_with_has_an_answer(capsys, tmp_path):
    page = (ROOT / "docs" / "command.md").read_text(encoding="utf-8")
    run = tmp_path / "run.yaml"
    run.write_text(page.split("```yaml\n")[1].split("```")[0], encoding="utf-8")
    code, answer, _ = ask(capsys, "calibrate", str(run), "sigma", "--epsilon", "1")
    assert code == 0 and guarantee(from_yaml(answer).setting, "sharp").epsilon <= 1


def test_a_statement_says_what_is_supposed_and_what_computed_it(capsys, file):
    code, answer, _ = ask(capsys, "statement", file)
    assert code == 0 and "differentially private" in answer and f"zoexplore {__version__}" in answer
    for check in guarantee(DEMONSTRATION, "sharp").checks:
        assert check.words in answer
    _, answer, _ = ask(capsys, "statement", file, "--json")
    assert json.loads(answer) == statement(DEMONSTRATION).as_dict()


def test_a_statement_without_a_guarantee_says_why(capsys, file):
    code, answer, _ = ask(capsys, "statement", file, "--bound", "theorem", "--set", "K=300")
    assert code == 1 and answer.startswith("No guarantee") and "2K = 600 exceeds d = 520" in answer


def test_a_statement_about_public_iterates_does_not_ask_for_secrecy():
    public, hidden = statement(DEMONSTRATION, "composition"), statement(DEMONSTRATION, "sharp")
    assert public.facts["released"] == "every iterate, the last included"
    assert len(hidden.lists["not_covered"]) == len(public.lists["not_covered"]) + 1
    assert all(
        "stay secret" in statement(DEMONSTRATION, bound).facts["released"]
        for bound in BOUNDS
        if bound != "composition"
    )


def test_a_statement_says_what_the_run_releases_and_of_whom():
    said = statement(
        DEMONSTRATION.replace(releases=5, records_per_person=3, neighbours="add-remove")
    ).facts
    assert (
        said["released"].startswith("5 of 200 iterates")
        and said["unit"] == "one person, with at most 3 records"
    )
    assert "a unit more" in said["neighbours"]
    one_form = (
        "What is clipped of every record's loss is a function of one linear form of the parameters"
    )
    linear = statement(DEMONSTRATION.replace(lipschitz=inf, linear=True))
    assert (
        any(words.startswith(one_form) for words in linear.guarantee.supposes)
        and linear.as_dict()["setting"]["linear"]
    )
    assert one_form not in str(statement(DEMONSTRATION.replace(lipschitz=inf)))
    for sampling in SAMPLINGS:
        assert (
            "100 of n ="
            in statement(DEMONSTRATION.replace(batch=100, sampling=sampling)).facts["sampling"]
        )


@pytest.mark.parametrize(
    ("value", "text"),
    [(inf, "inf"), (-inf, "-inf"), (float("nan"), None), ({1: (2.5, inf)}, {"1": [2.5, "inf"]})],
)
def test_what_json_has_no_number_for_is_text(value, text):
    assert plain(value) == text


@pytest.mark.parametrize(
    ("text", "changes", "said"),
    [
        (None, ["K=0"], "K = 0 is not allowed: give a whole number from 1 to d = 520"),
        (None, ["K"], "--set K: give FIELD=VALUE"),
        (None, ["colour=red"], "'colour' is an unknown setting"),
        (None, ["steps=3"], "'steps' is an unknown setting: did you mean T?"),
        (None, ["K=5\nT: 7"], "K = '5\\nT: 7' is not allowed"),
        (None, ["sigma=1", "noise_multiplier=-2"], "noise_multiplier = -2 is not allowed"),
        ("{", [], "this is not YAML"),
        ("K: 52", [], "n, d, T, sigma, beta are not given: a run needs n, d, K, T, sigma, beta\n"),
        (
            "k: 52",
            [],
            "are not given: a run needs n, d, K, T, sigma, beta; 'k' is an unknown setting: did you mean K?",
        ),
        (
            "{n: 9, d: 5, k: 5, steps: 3, Sigma: 1, beta: 1}",
            [],
            "an unknown setting: did you mean T?; 'Sigma' is",
        ),
        ("# K: 52", [], "the text is empty: a run needs n, d, K, T, sigma, beta\n"),
        ("x" * 50_000, [], "the text is longer than 10000 characters"),
        ("K: \xff", [], "not text in UTF-8"),
    ],
)
def test_a_wrong_file_is_reported_in_a_line_and_answered_with_nothing(
    capsys, file, tmp_path, text, changes, said
):
    if text is not None:
        file = tmp_path / "wrong.yaml"
        file.write_bytes(text.encode("latin-1"))
    code, answer, complaint = ask(capsys, "epsilon", str(file), *sets(*changes))
    assert (code, answer) == (2, "") and said in complaint and "Traceback" not in complaint


OWN = "{n: 20000, d: 520, K: 016, epochs: 3, sample_rate: 0.01, noise_multiplier: 1.1, beta: 1}"


def test_a_run_on_one_line_by_the_fields_own_numbers(capsys, tmp_path):
    path = tmp_path / "run.yaml"
    path.write_text(OWN, encoding="utf-8")
    run = Setting.of(
        n=20_000, d=520, K=16, epochs=3, sample_rate=0.01, noise_multiplier=1.1, beta=1.0
    )
    for changes, same in (
        ([], run),
        (["T=9", "batch=all"], run.replace(T=9, batch=None, noise_multiplier=1.1)),
    ):
        _, answer, _ = ask(capsys, "epsilon", str(path), "--bound", "composition", *sets(*changes))
        assert float(answer.split()[1]) == epsilon(same, "composition")
    _, answer, _ = ask(capsys, "calibrate", str(path), "sigma", "--epsilon", "3")
    assert guarantee(from_yaml(answer).setting, "best").epsilon <= 3
    path.write_text("{n: 20000, d: 1e6}", encoding="utf-8")
    code, answer, _ = ask(capsys, "plan", str(path), "--epsilon", "2")
    assert code == 0 and from_yaml(answer).problems == () and from_yaml(answer).setting.d == 10**6
    code, answer, _ = ask(
        capsys, "calibrate", str(path), "sigma", "--epsilon", "2", *sets("K=1", "T=9", "beta=1")
    )
    assert code == 0 and from_yaml(answer).setting.T == 9, (
        "the field that is solved for need not be given"
    )


def test_a_file_name_cannot_control_the_terminal(capsys):
    _, _, complaint = ask(capsys, "epsilon", "\x1b[2J\x07\udcff.yaml")
    assert complaint.startswith("zoexplore: \\x1b[2J\\x07\\udcff.yaml: ")


def test_a_delta_of_one_in_n_is_remarked_on(capsys, file):
    commands = (
        ["epsilon"],
        ["calibrate", "sigma", "--epsilon", "1"],
        ["plan", "--epsilon", "1", *COMPOSED],
        ["statement"],
    )
    for delta, remarked in (("1e-4", True), ("1e-5", False)):
        for command in commands:
            name, *options = command
            _, answer, _ = ask(capsys, name, file, *options, "--set", f"delta={delta}")
            assert (
                "is at least 1/n: publishing every record with this probability, 2 of" in answer
            ) == remarked


def test_calibrate_says_at_once_that_any_noise_does(capsys, file):
    """Of a delta above the probability that the record is ever drawn nothing is left to hide."""
    rare = sets(
        "d=1000",
        "K=1000",
        "T=7",
        "beta=0",
        "delta=0.01",
        "batch=7",
        "sampling=poisson",
        "neighbours=add-remove",
    )
    started = process_time()
    code, answer, _ = ask(capsys, "calibrate", file, "sigma", "--epsilon", "1", *UNKNOWN, *rare)
    assert code == 0 and "# sigma changes nothing here" in answer and "epsilon = 0.0" in answer
    assert process_time() - started < 1


COMMANDS = (
    ["epsilon"],
    ["epsilon", "--json"],
    ["statement"],
    ["statement", "--json"],
    ["calibrate", "sigma", "--epsilon", "1"],
    ["curve", "--values", "1,10"],
    ["plan", "--epsilon", "1"],
    ["compose"],
)


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_every_command_answers_in_utf8_whatever_the_shell_takes_it_for(monkeypatch, file, command):
    name, *options = command
    answers = []
    for encoding in ("utf-8", "cp1252", "cp932", "ascii"):
        stream = io.BytesIO()
        monkeypatch.setattr(
            sys, "stdout", io.TextIOWrapper(stream, encoding=encoding, write_through=True)
        )
        assert main([name, file, *options, *sets("K=1", "T=9")]) == 0
        answers.append(stream.getvalue().decode("utf-8"))
    assert len(set(answers)) == 1 and (not answers[0].isascii() or name == "curve")


class Terminal(io.TextIOWrapper):
    def isatty(self):
        return True


@pytest.mark.parametrize("encoding", ["cp1252", "cp932", "ascii"])
def test_a_terminal_keeps_its_encoding_and_no_print_fails(monkeypatch, file, encoding):
    stream = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", Terminal(stream, encoding=encoding, write_through=True))
    assert main(["statement", file]) == 0
    assert r"\u03b5" in stream.getvalue().decode(encoding) or encoding == "cp932", (
        "which has Greek letters"
    )
    say("ε ≤ 1, \udcff")


SHELLS = [
    {"PYTHONIOENCODING": "cp1252"},
    {"PYTHONIOENCODING": "cp932"},
    {"PYTHONUTF8": "0", "LC_ALL": "C", "PYTHONCOERCECLOCALE": "0"},
]


@pytest.mark.parametrize("shell", usually(SHELLS[:1], of=SHELLS), ids=str)
def test_what_a_shell_writes_to_a_file_is_read_back(tmp_path, shell):
    known, plan = tmp_path / "known.yaml", tmp_path / "plan.yaml"
    known.write_text("n: 20000\nd: 1000000\nbatch: 64\n", encoding="utf-8")
    command, alike = (
        [sys.executable, "-m", "zoexplore"],
        {"env": os.environ | shell, "cwd": ROOT, "stderr": subprocess.PIPE},
    )
    with plan.open("wb") as out:
        done = subprocess.run([*command, "plan", str(known), "--epsilon", "2"], stdout=out, **alike)
    assert (done.returncode, done.stderr) == (0, b"") and from_yaml(
        plan.read_text(encoding="utf-8")
    ).problems == ()
    done = subprocess.run(
        [*command, "epsilon", "-"], input=plan.read_bytes(), stdout=subprocess.PIPE, **alike
    )
    assert done.returncode == 0 and done.stdout.decode("utf-8").startswith(
        "composition          1.99"
    )


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_a_file_with_a_byte_order_mark_is_read(capsys, tmp_path, encoding):
    path = tmp_path / "run.yaml"
    path.write_text(f"# σ\n{OWN}", encoding=encoding)
    assert ask(capsys, "epsilon", str(path), "--bound", "composition")[0] == 0


@pytest.mark.parametrize("values", ["a", "1:2", "0:10:5", "1,,2"])
def test_wrong_values_are_reported(capsys, file, values):
    code, answer, complaint = ask(capsys, "curve", file, "--values", values)
    assert (code, answer) == (2, "") and "give numbers with commas" in complaint


def test_more_values_than_anybody_reads_are_refused(capsys, file):
    code, answer, complaint = ask(capsys, "curve", file, "--values", "1:10:100000000000")
    assert (code, answer) == (2, "") and "a COUNT of at most 10000" in complaint


def test_a_missing_file_is_reported(capsys):
    assert ask(capsys, "epsilon", "/no/such/run.yaml") == (
        2,
        "",
        "zoexplore: /no/such/run.yaml: No such file or directory\n",
    )


def test_an_unknown_field_is_answered_with_those_there_are(capsys, file):
    _, _, complaint = ask(capsys, "epsilon", file, "--set", "colour=red")
    assert "the fields are n, d, K, T, sigma" in complaint


def test_the_command_alone_says_what_it_can_do(capsys):
    code, answer, complaint = ask(capsys)
    assert (code, answer) == (2, "") and "calibrate" in complaint and "Exit codes" in complaint


@pytest.mark.parametrize(
    "arguments", [["epsilon"], ["calibrate", "run.yaml", "colour", "--epsilon", "1"], ["dance"]]
)
def test_wrong_usage_ends_with_two(capsys, arguments):
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2 and "usage: zoexplore" in capsys.readouterr().err


def test_standard_input_and_a_reader_that_leaves():
    command = [
        sys.executable,
        "-m",
        "zoexplore",
        "curve",
        "-",
        "--values",
        "1:1000000:3000",
        "--bound",
        "composition",
    ]
    asked = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    asked.stdin.write(to_yaml(DEMONSTRATION, Accounting()))
    asked.stdin.close()
    assert asked.stdout.readline().startswith("# epsilon at delta")
    asked.stdout.close()
    complaint = asked.stderr.read()
    asked.wait(60)
    assert "Traceback" not in complaint


def test_serve_answers_with_the_page(tmp_path):
    log = tmp_path / "serve.log"
    with running(
        [sys.executable, "-m", "zoexplore", "serve", "--port", "0"], log, cwd=tmp_path
    ) as server:
        address, page = page_of(server, log)
        assert "<title>zoexplore" in page
        taken = main(["serve", "--port", address.split(":")[2].split("/")[0]])
    assert taken == 2


def test_what_steps_without_a_record_leave_of_it(capsys, file):
    code, answer, _ = ask(capsys, "epsilon", file, "--forget", "10")
    assert code == 0 and f"forgetting  {forgetting(DEMONSTRATION, 10).epsilon!r}" in answer
    code, answer, _ = ask(capsys, "epsilon", file, "--forget", "10", "--set", "releases=3")
    assert code == 1 and "released before the end" in answer
    code, answer, _ = ask(capsys, "epsilon", file, "--forget", "10", "--json")
    assert (
        code == 0
        and json.loads(answer)["forgetting"]["epsilon"] == forgetting(DEMONSTRATION, 10).epsilon
    )
