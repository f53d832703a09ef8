"""The tables of a lesson: every number is the package's in the digits that are shown, at places
that the run allows.
"""

import json
import re
import zlib
from base64 import b64decode
from math import inf

import numpy as np
import panel as pn
import pytest
from bokeh.document import Document
from panel.models.markup import HTML
from pyviz_comms import Comm

from zoexplore import BOUNDS, curve, epsilon, explore, lesson
from zoexplore.__main__ import main
from zoexplore.run.formatting import format_number
from zoexplore.run.presets import DEMONSTRATION
from zoexplore.run.setting import Accounting
from zoexplore.views import Curves, State
from zoexplore.views.lesson import page, tables

EVERY = 30  # of the places of a lesson's sliders, these are tabled here


@pytest.fixture
def thin(monkeypatch):
    """Lessons with few places, which are made in a moment."""
    whole = tables._values
    monkeypatch.setattr(tables, "_values", lambda *given: whole(*given)[::EVERY])


def decoded(low, code):
    """A number as the page's script has it."""
    if code < tables.FIRST:
        return 0.0 if code == tables.ZERO else inf
    return float(f"{1000 + (code - tables.FIRST) % 9000}e{low + (code - tables.FIRST) // 9000}")


def given(text):
    """What a lesson's file has."""
    return json.loads(zlib.decompress(b64decode(re.search(r'id="zx-given">([^<]*)<', text)[1])))


def test_codes_are_rounded_up_as_all_numbers_are():
    rng = np.random.default_rng(1)
    some = np.concatenate(
        [
            10 ** rng.uniform(-12, 60, 3000),
            rng.integers(1, 1000, 500) / 100,
            [0.0, inf, 9.991, 0.999, 65_504.5, 1e300],
        ]
    )
    low, codes = tables.codes(some)
    assert [format_number(decoded(low, int(code))) for code in codes] == [
        format_number(float(x)) for x in some
    ]


@pytest.mark.parametrize("sliders", [("sigma", "T"), ("K+beta",), ("d",)], ids=str)
def test_a_table_has_the_packages_numbers(sliders, thin):
    """At the run's own T those of `epsilon`; elsewhere those of `curve`, whose points help each
    other.
    """
    run = DEMONSTRATION
    found = page.numbers(run, Accounting(), tables.groups_of(run, sliders))
    steps = found["steps"]["values"]
    for fields, table in zip(found["groups"], found["tables"], strict=True):
        places = [slider["values"] for slider in found["sliders"] if slider["field"] in fields]
        shape = [*map(len, places), len(BOUNDS), len(steps)]
        differences = np.array(table["epsilons"]).reshape(-1, *shape[-2:])
        codes = differences.cumsum(0).cumsum(-1).reshape(shape)
        for place in {
            tuple(0 for _ in places),
            tuple(len(x) // 2 for x in places),
            tuple(len(x) - 1 for x in places),
        }:
            at = {field: values[i] for field, values, i in zip(fields, places, place, strict=True)}
            true = curve(run.replace(**at), "T", steps)
            for b, bound in enumerate(BOUNDS):
                shown = [
                    format_number(decoded(table["low"], int(code))) for code in codes[(*place, b)]
                ]
                for t, T in enumerate(steps):
                    single = T == run.T or not fields
                    known = epsilon(run.replace(**at, T=T), bound) if single else true[bound][t]
                    assert shown[t] == format_number(float(known)), (at, bound, T)


def test_the_run_itself_has_a_place_and_no_place_is_impossible():
    run = DEMONSTRATION.replace(K=257, d=521, sigma=1.2345e-3, T=217)
    for field in ("K", "sigma", "T", "beta", "n", "d"):
        slider = tables.Slider.of(run, field)
        assert slider.values[slider.at] == getattr(run, field) and 70 <= len(slider.values) <= 180
        for value in (slider.values[0], slider.values[-1]):
            assert getattr(run.replace(**{field: value}), field) == value


@pytest.mark.parametrize(
    "sliders, says",
    [
        (["q"], "slider = 'q' is not allowed: give some of T, K"),
        (["delta"], "slider = 'delta' is not allowed"),
        (["K", "sigma+K"], "name each once"),
        (["K+sigma+n"], "at most two together"),
        (["R"], "R = inf has no place on a slider"),
    ],
)
def test_a_slider_that_cannot_be_is_refused_in_words(sliders, says, tmp_path):
    with pytest.raises(ValueError, match=re.escape(says)):
        lesson(DEMONSTRATION.replace(R=inf), sliders, tmp_path / "lesson.html")
    assert not list(tmp_path.iterdir())


def test_two_values_that_exclude_each_other_have_the_reason_in_place_of_numbers(thin):
    group = tables.groups_of(DEMONSTRATION, ["K+d"])[0]
    found = tables.table(DEMONSTRATION, Accounting(), group, [1, 200])
    excluded = [facts["why"][0] for facts in found["facts"] if "odds" not in facts]
    assert excluded and all("K = " in why and "d" in why for why in excluded)


def test_the_command_says_what_it_takes_and_writes_a_lesson_with_the_links_prompts(
    thin, tmp_path, capsys
):
    run, out = tmp_path / "run.yaml", tmp_path / "l.html"
    run.write_text("n: 1000\nd: 100\nK: 10\nT: 40\nsigma: 0.1\nbeta: 0.5\n", encoding="utf-8")
    link = "/app?show=curves,T&say=Move%20it.&against=sigma"
    assert (
        main(
            [
                "lesson",
                str(run),
                "--sliders",
                "sigma,T",
                "--out",
                str(out),
                "--link",
                link,
                "--live",
                "https://x.org/app",
            ]
        )
        == 0
    )
    said, text = capsys.readouterr().out, out.read_text(encoding="utf-8")
    assert (
        re.search(r"sigma: \d+ places, about \d+ kB and \d+ s", said)
        and f"{len(text.encode()) // 1000} kB" in said
    )
    found = given(text)
    shown = {name for name, on in found["shows"].items() if on}
    assert (
        shown == {"curves"}
        and found["say"] == "<p>Move it.</p>"
        and "against=sigma" in found["link"]
    )
    assert found["live"] == "https://x.org/app" and "n=1000" in found["query"]
    assert main(["lesson", str(run), "--out", str(tmp_path / "none" / "l.html")]) == 2


def test_an_explorer_saves_the_run_and_the_view_that_it_shows(thin, tmp_path):
    explorer = explore(DEMONSTRATION.replace(T=77))
    explorer.tabs.selected, explorer.curves.along = "curves", "K"
    found = given(explorer.save(tmp_path / "l.html").read_text(encoding="utf-8"))
    assert (found["link"], found["query"]) == ("tab=curves&against=K", "T=77")


def test_what_panel_saves_says_above_all_else_that_its_controls_do_nothing():
    whole, part = (
        pn.panel(explore()).get_root(Document(), Comm()),
        pn.Column(Curves(State())).get_root(Document(), Comm()).children[0],
    )
    for saved in (whole, part):
        assert "A picture: the controls do nothing." in saved.children[0].text
        assert (
            len(
                [
                    each
                    for each in saved.select({"type": HTML})
                    if "the controls do nothing" in each.text
                ]
            )
            == 1
        )


def test_what_is_as_printed_is_no_guarantee_and_says_so(thin):
    found = page.numbers(DEMONSTRATION, Accounting(printed=True), [])
    printed = {each["line"]["key"] for each in found["bounds"] if each["printed"]}
    assert (
        printed == {bound for bound in BOUNDS if BOUNDS[bound].printed}
        and "no guarantee" in found["warning"]
    )
    assert all(
        ("(as printed)" in each["entry"]["title"]) == each["printed"] for each in found["bounds"]
    )
