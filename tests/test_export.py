"""What is written is read back the same; what is wrong is reported field by field, and the rest is
used.
"""

import contextlib
import csv
import io
from math import inf
from urllib.parse import urlencode

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from zoexplore import BOUNDS, Accounting, Setting, curve, epsilon
from zoexplore.questions.export import (
    Loaded,
    from_fields,
    from_query,
    from_yaml,
    to_csv,
    to_python,
    to_query,
    to_yaml,
)
from zoexplore.run.presets import DEMONSTRATION
from zoexplore.run.reading import LARGEST_FILE

SETTINGS = [
    DEMONSTRATION,
    DEMONSTRATION.replace(
        n=1000, d=10, K=3, T=20, sigma=1.0, R=inf, xi=1e-7, eta=2.5, batch=100, regime="convex"
    ),
    DEMONSTRATION.replace(clip=2.0, clipping="joint", lipschitz=inf),
    DEMONSTRATION.replace(K=7, M=2.0, m=1.5, ridge=0.25, beta=0.123456789012345, delta=3e-9),
]
ACCOUNTINGS = [Accounting(), Accounting("cks", "clip", "optimal", True)]
pairs = pytest.mark.parametrize(
    ("setting", "accounting"), [(s, a) for s in SETTINGS for a in ACCOUNTINGS]
)
DEFAULT = Loaded(DEMONSTRATION, Accounting())


@pairs
def test_a_query_and_a_file_are_read_back_the_same(setting, accounting):
    assert from_query(to_query(setting, accounting)) == Loaded(setting, accounting)
    assert from_query("?" + to_query(setting, accounting)) == Loaded(setting, accounting)
    assert from_yaml(to_yaml(setting, accounting)) == Loaded(setting, accounting)


def test_a_clip_is_one_on_each_quotient_unless_it_is_said_to_be_joint():
    assert (
        from_query("K=52&clip=2").setting.clipping == from_yaml("K: 52").setting.clipping == "each"
    )
    assert from_query("clipping=both").problems == (
        "clipping = 'both' is not allowed: give one of 'each', 'joint'",
    )


def test_only_what_differs_is_in_the_query():
    assert to_query(DEMONSTRATION, Accounting()) == ""
    answer = to_query(DEMONSTRATION.replace(K=52, sigma=1e-4), Accounting(printed=True))
    assert answer == "K=52&sigma=0.0001&printed=1"


@given(st.floats(min_value=1e-300, max_value=1e300), st.integers(1, 2**53), st.floats(0, 1))
def test_numbers_come_back_exactly(sigma, n, beta):
    setting = DEMONSTRATION.replace(sigma=sigma, n=n, beta=beta)
    assert from_query(to_query(setting, Accounting())).setting == setting
    assert from_yaml(to_yaml(setting, Accounting())).setting == setting


def test_a_file_by_hand():
    """Of the loss nothing is assumed that the file leaves out; of the run's own numbers, what it
    leaves out is said.
    """
    own = "n: 1000\nd: 100\nK: 52\nT: 9\nsigma: 1e-3\nbeta: 0.5\n"
    assert from_yaml(own + "R: ∞\n") == Loaded(
        Setting(n=1000, d=100, K=52, T=9, sigma=1e-3, beta=0.5), Accounting()
    )
    both = from_yaml("setting:\n  T: 9\n  M: 2\naccounting:\n  printed: true\n")
    assert both.accounting.printed and (both.setting.T, both.setting.M, both.setting.regime) == (
        9,
        2,
        "non-convex",
    )
    assert both.problems == (
        "n, d, K, sigma, beta are not given: those of the demonstration run are taken",
    )


@pytest.mark.parametrize("text", ["1", "true", "yes", "True"])
def test_a_linear_model_is_read_from_a_query_and_a_file(text):
    run = DEMONSTRATION.replace(linear=True)
    assert (
        from_query(f"linear={text}")
        == from_query(to_query(run, Accounting()))
        == Loaded(run, Accounting())
    )
    assert from_yaml(to_yaml(run, Accounting())).setting == run
    assert "linear=True" in to_python(run, Accounting())
    assert from_query("linear=2").problems == ("linear = '2' is not allowed: give True or False",)


def test_bad_values_are_reported_one_by_one_and_the_rest_is_used():
    loaded = from_query(
        "K=0&T=many&sigma=0.01&bogus=3&regime=flat&conversion=cks&printed=perhaps&delta=nan"
    )
    assert loaded.setting == DEMONSTRATION.replace(sigma=0.01)
    assert loaded.accounting == Accounting(conversion="cks")
    answer = " ".join(loaded.problems)
    assert all(
        name in answer
        for name in ("K = 0", "T = 'many'", "bogus", "regime = 'flat'", "printed", "delta = nan")
    )
    assert len(loaded.problems) == 6


SAME = "{n: 1000, d: 100, K: 16, T: 9, sigma: 0.001, beta: 0.5}"


@pytest.mark.parametrize(
    "text",
    [
        "n: 0001000\nd: 100\nK: 016\nT: 09\nsigma: 1e-3\nbeta: .5\n",
        "setting: {n: 1 000, d: 1e2, K: 16.0, T: +9, sigma: 1E-3, beta: '0.5'}",
        "n: &n 1000\nd: 100\nK: 16\nT: 9\nsigma: 0.001\nbeta: 0.5\nbatch: None\neta: ~\nR: .inf\nM: ∞\nlinear: off\n",
        "n: 1_000\nd: 100\nK: 16\nT: 9\nsigma: 1.0e-3\nbeta: 5e-1\nbatch: all\neta: K/M\nm: !!float 0\n",
    ],
)
def test_digits_are_decimal_and_nothing_is_what_people_call_it(text):
    assert (
        from_yaml(text)
        == from_yaml(SAME)
        == Loaded(Setting(n=1000, d=100, K=16, T=9, sigma=1e-3, beta=0.5), Accounting())
    )


@pytest.mark.parametrize(
    "text",
    ["3:20", "0x10", "0o20", "0b1", "1__0", "1 2", "1,5", "2001-01-01", "5\nT: 7", "1/2", "!!int"],
)
def test_what_yaml_would_turn_into_another_number_is_refused_as_it_was_written(text):
    (problem,) = from_fields({"T": text}).problems
    assert problem.startswith(f"T = {text!r} is not allowed")
    assert from_query(urlencode({"T": text})).problems == (problem,)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("n: 5\nK: 1\nsetting:\n  n: 6\n", "n is given twice, in lines 1 and 4: keep one"),
        ("K: 1\n\nK: 1\n", "K is given twice, in lines 1 and 3: keep one"),
        ("n:\t5\n", "this is not YAML, line 1: a tab; YAML wants spaces"),
        (
            "base: &base {n: 5}\nsetting:\n  <<: *base\n",
            "line 3: merge keys ('<<') are not read; write the fields themselves",
        ),
        (
            "n: 5\n---\nn: 6\n",
            "this is not YAML, line 2: a second document begins ('---'); keep one",
        ),
        ("# nothing\n", "the text is empty"),
        ("setting:\naccounting:\n", "the text has no fields"),
        ("K: *unknown\n", "this is not YAML, line 1: found undefined alias 'unknown'"),
    ],
)
def test_a_text_that_cannot_be_read_says_why_and_where(text, why):
    assert from_yaml(text) == Loaded(DEMONSTRATION, Accounting(), (why,), read=False)


@pytest.mark.parametrize(
    ("name", "field"),
    [
        ("k", "K"),
        ("Sigma", "sigma"),
        ("σ", "sigma"),
        ("learning_rate", "eta"),
        ("steps", "T"),
        ("batch_size", "batch"),
        ("noise-multiplier", "noise_multiplier"),
        ("epoch", "epochs"),
        ("conversions", "conversion"),
    ],
)
def test_a_name_that_is_nearly_a_field_is_asked_about(name, field):
    assert from_fields({name: "3"}).problems == (
        f"{name!r} is an unknown setting: did you mean {field}?",
    )
    kind = Accounting() if field == "conversion" else DEMONSTRATION
    with pytest.raises(ValueError, match=f"did you mean {field}"):
        kind.replace(**{name: 3})
    if field != "conversion":
        with pytest.raises(ValueError, match=f"did you mean {field}"):
            Setting.of(n=9, **{name: 3})


def test_the_fields_other_numbers_are_read_and_refused_with_what_they_stand_for():
    told = "noise_multiplier=1.1&epochs=3&sample_rate=0.01"
    assert from_query(told).setting == DEMONSTRATION.replace(
        noise_multiplier=1.1, epochs=3.0, sample_rate=0.01
    )
    own = "n: 20000\nd: 520\nK: 260\nbeta: 0.5\n"
    by_file = from_yaml(own + told.replace("=", ": ").replace("&", "\n"))
    given = {"noise_multiplier": 1.1, "epochs": 3, "sample_rate": 0.01}
    assert by_file == Loaded(Setting.of(n=20_000, d=520, K=260, beta=0.5, **given), Accounting())
    assert from_query("sigma=1&noise_multiplier=2").problems == (
        "noise_multiplier and sigma say the same: give one of them",
    )
    assert (
        from_query("clip=1e300&noise_multiplier=1e300")
        .problems[0]
        .startswith("sigma = inf is not allowed")
    )
    assert from_query("epochs=0&sample_rate=2").setting == DEMONSTRATION


def test_values_that_contradict_one_another():
    assert len(from_query("d=100&K=200").problems) == 2
    for query, problem in (
        ("M=0.2", "m = 0.5 is not allowed: give a finite number of at least 0 and at most M = 0.2"),
        ("d=100", "K = 260 is not allowed: give a whole number from 1 to d = 100"),
    ):
        loaded = from_query(f"{query}&T=7")
        assert (loaded.setting, loaded.problems) == (DEMONSTRATION.replace(T=7), (problem,))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[1, 2]",
        "a: [",
        "K: [1, 2]",
        "K: {a: b}",
        "[" * 50_000,
        "K: " + "9" * 9000,
        "K: !!python/name:os.system x",
        "? [1]\n: 2",
        "K: 2001-99-99",
        "x" * (LARGEST_FILE + 1),
        "K: \x00",
    ],
)
def test_what_is_no_setting_is_said_to_be_none(text):
    loaded = from_yaml(text)
    assert (loaded.setting, loaded.accounting) == (DEMONSTRATION, Accounting())
    assert loaded.problems
    assert all(len(problem) < 1000 for problem in loaded.problems)


def test_aliases_that_would_grow_without_end_are_never_written_out():
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, 30)]
    assert len(from_yaml("\n".join([*lines, "K: *a29"])).problems) == 31


@given(st.text(max_size=60))
def test_no_text_is_too_strange(text):
    for read in (from_query, from_yaml):
        assert isinstance(read(text), Loaded)
    assert isinstance(from_fields({"K": text, "printed": text, text: text}), Loaded)


@pairs
def test_the_snippet_prints_every_number_and_foretells_them(setting, accounting):
    code, out = to_python(setting, accounting), io.StringIO()
    names = {}
    with contextlib.redirect_stdout(out):
        exec(code, names)
    assert (names["setting"], names["accounting"]) == (setting, accounting)
    printed = dict(line.split() for line in out.getvalue().splitlines())
    assert {bound: float(text) for bound, text in printed.items()} == {
        bound: epsilon(setting, bound, accounting) for bound in BOUNDS
    }
    assert [
        line[2:] for line in code.splitlines() if line.startswith("#")
    ] == out.getvalue().splitlines()


@pairs
@pytest.mark.parametrize("field", ["T", "sigma"])
def test_a_table_has_the_curves_and_the_setting(setting, accounting, field):
    values = [1, 100] if field == "T" else [0.1, 3.3]
    expected = {field: values, **curve(setting, field, values, accounting=accounting)}
    lines = to_csv(setting, accounting, expected).splitlines()
    header = [line[2:] for line in lines if line.startswith("#")]
    start = header.index("setting:")
    assert from_yaml("\n".join(header[start:])) == Loaded(setting, accounting)
    assert ("as printed in the paper: not a guarantee" in header) == accounting.printed
    rows = list(csv.DictReader(line for line in lines if not line.startswith("#")))
    for name, column in expected.items():
        np.testing.assert_array_equal([float(row[name]) for row in rows], column)
