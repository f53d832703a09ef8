"""What the page says: its own notation, plain sentences, and which paper it is about."""

import re

import pytest
import yaml

from tests.effort import usually
from tests.test_project import ROOT
from tools.sentences import PARTS, plain, states
from zoexplore import Accounting, __version__, guarantee
from zoexplore.bounds import BOUNDS
from zoexplore.questions import Unreachable, calibrate, recommend
from zoexplore.run import paper
from zoexplore.run.formatting import THIN, format_short, format_tex
from zoexplore.run.presets import DEMONSTRATION
from zoexplore.views import State
from zoexplore.views.explorer import Explorer, colophon
from zoexplore.views.figures.curves import Curves
from zoexplore.views.figures.inside import Inside, describe_trajectory
from zoexplore.views.panels.controls import Controls
from zoexplore.views.panels.planner import Planner, _plan
from zoexplore.views.panels.readouts import More
from zoexplore.views.panels.theory import Theory


@pytest.mark.parametrize(
    ("x", "shown"),
    [
        (1e-5, "10⁻⁵"),
        (2e-6, f"2{THIN}×{THIN}10⁻⁶"),
        (0.001, "0.001"),
        (0.25, "0.25"),
        (1000, f"1{THIN}000"),
        (0, "0"),
        (346.6666, "347"),
        (float("inf"), "∞"),
        (1.23121e-15, f"1.23{THIN}×{THIN}10⁻¹⁵"),
        (20_000, f"20{THIN}000"),
    ],
)
def test_short_numbers(x, shown):
    assert format_short(x) == shown


def behind(run, accounting=None):
    """What stands behind the number of a run."""
    view = More(State(run, accounting or Accounting()))
    view.fold.collapsed = False
    return view


@pytest.mark.parametrize("part", usually(["teaching"], of=list(PARTS)))
def test_what_the_page_says_is_in_sentences_of_thirty_words(part):
    said = list(states([part]))
    assert len(said) > 5 and sum(len(lines) for _, lines in said) > 50
    sentences = [
        each
        for _, lines in said
        for line in lines
        for each in re.split(r"(?<=[.!?])\s+", line)
        if each.endswith(".")
    ]
    assert not [
        each for each in sentences if len(re.findall(r"\w[^\s]*", each)) > 30 and "$$" not in each
    ]


def test_reasons_are_sentences_without_ids():
    run = DEMONSTRATION.replace(
        batch=100, sampling="poisson", neighbours="add-remove", K=300, lipschitz=5.0
    )
    view = behind(run)
    shown = Theory(view.state).checks.values()
    said = " ".join(plain("".join(each.object for each in shown)))
    assert "Poisson sampled, with one record added or removed" in said and "'" not in said.replace(
        "'s ", ""
    )
    assert "never acts. The clip may act" in said and "2K ≤ d. 2K = 600 exceeds" in said


def test_formulas_begin_with_their_symbols_and_the_values_of_the_run():
    view = Theory(State(DEMONSTRATION.replace(n=1234)))
    said = view.symbols.object
    assert "<dt>n</dt><dd>records: <b>1\u202f234</b>" in said and "<dt>ridge</dt>" in said
    plain_symbols = re.sub(r"</?sub>", "", said)
    for symbol in ("ρ", "S, s2", "c̄1, c2", "δG(ε;s)", "τ(s)", "X̄, Y, λ", "J(A, C)"):
        assert f"<dt>{symbol}</dt>" in plain_symbols
    assert "of a gradient at most 1 long" in said, "which the formulas do not count"
    view.state.ask(sensitivity="clip")
    assert "of a gradient" not in view.symbols.object


def test_a_refusal_is_in_symbols():
    state = State()
    state.ask(sigma=-1.0)
    assert state.refusal == "σ = -1.0 is not allowed: give a finite number above 0"
    state.ask(R=-1.0)
    assert "∞ is allowed" in state.refusal and "inf" not in state.refusal


def test_a_refusal_has_no_number_that_only_a_machine_reads():
    controls = Controls()
    boxes = controls.fields | {name: dial.text for name, dial in controls.dials.items()}
    for name, typed, said in (
        ("T", "0", "T = 0 is not allowed: give a whole number from 1 to 2⁵³"),
        (
            "batch",
            "30000",
            f"b = 30000 is not allowed: give a whole number from 1 to n = 20{THIN}000, or leave it empty for all",
        ),
        ("delta", "0", "δ = 0 is not allowed: give a finite number of at least 10⁻³⁰⁰ and below 1"),
        ("sigma", "", "σ cannot be left empty: give a number"),
        ("n", "9" * 400, f"n = {'9' * 40}… is not allowed"),
    ):
        boxes[name].value = typed
        assert said in controls.state.refusal


def test_a_plan_says_once_what_is_supposed():
    plan = recommend(DEMONSTRATION.replace(K=52), epsilon=1.0, K=52, T=200)
    said = plain("".join(_plan(plan, guarantee(DEMONSTRATION, "best"))))
    assert said.count("Assumed; numbers cannot check this") == 1 and not any(
        "Assumed" in line for line in plan.warnings
    )
    assert "The start lies in the ball and does not depend on the data." in said


def test_why_a_bound_that_applies_has_no_steps_to_draw():
    said, *_ = describe_trajectory(guarantee(DEMONSTRATION.replace(releases=5), "sharp"))
    assert "5 iterates are released" in said and "mini-batches" not in said
    inside = Inside(state=State(DEMONSTRATION.replace(batch=100, T=5)))
    assert "With mini-batches of 100 records, chance decides which" in inside.words.object


def test_one_counted_step_is_the_last():
    first, said, _ = describe_trajectory(guarantee(DEMONSTRATION.replace(n=1), "sharp"))
    assert "One step counts, and costs everything" in first
    assert "Only the last 1 of 200 steps count" in said and "composition" not in said


def test_a_curve_is_absent_for_what_it_lacks_not_for_its_misprints():
    curves = Curves(State(DEMONSTRATION.replace(beta=0.0), Accounting(printed=True)))
    (why,) = (entry["why"] for entry in curves.legend.entries if entry["key"] == "theorem")
    assert why == "β = 0 leaves no noise along the directions to hide one step's data"


@pytest.mark.parametrize(
    ("x", "shown"),
    [
        (1331.2, r"1\,331"),
        (4257.0, r"4\,257"),
        (1e6, "10^{6}"),
        (1e-6, "10^{-6}"),
        (2.5e7, r"2.5\cdot 10^{7}"),
        (float("-inf"), r"-\infty"),
        (float("nan"), r"\text{undefined}"),
    ],
)
def test_numbers_in_formulas(x, shown):
    assert format_tex(x) == shown


def test_what_is_out_of_reach_says_how_near_it_comes():
    with pytest.raises(
        Unreachable, match=r"^out of reach: even K = 520 gives ε = 0\.4[0-9]+ by the sharper bound$"
    ):
        calibrate(DEMONSTRATION, "K", epsilon=0.1)
    with pytest.raises(
        Unreachable, match=r"^out of reach: no R brings the theorem below ε = 0\.629$"
    ):
        calibrate(DEMONSTRATION.replace(T=50), "R", epsilon=1e-9, bound="theorem")


def test_a_large_target_may_be_typed():
    planner = Planner()
    for text in ("1e6", "1000000"):
        planner.take("target", text)
        assert planner.target == 1e6


class TestPaper:
    def test_is_cited_as_the_citation_file_says(self):
        (cited,) = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))["references"]
        assert (cited["title"], cited["url"]) == (paper.TITLE, paper.URL)
        assert (
            tuple(f"{a['given-names']} {a['family-names']}" for a in cited["authors"])
            == paper.AUTHORS
        )
        assert (
            "Chien, Eli and Chen, Wei-Ning and Li, Pan" in paper.BIBTEX
            and str(cited["year"]) in paper.BIBTEX
        )
        assert paper.BIBTEX in (ROOT / "README.md").read_text(encoding="utf-8")

    def test_is_named_and_linked_on_the_page(self):
        words = " ".join(
            str(pane.object) for pane in Explorer().__panel__().select() if hasattr(pane, "object")
        )
        for said in (
            paper.TITLE,
            paper.URL,
            *paper.AUTHORS,
            __version__,
            paper.LICENCE,
            "How to cite",
        ):
            assert said in words
        assert colophon()[1].tags == [paper.BIBTEX]

    def test_is_what_sources_lead_to(self):
        sources = [
            line
            for pane in Theory().__panel__().select()
            if "Source:" in (line := str(getattr(pane, "object", "")))
        ]
        assert len(sources) == sum(bool(bound.source) for bound in BOUNDS.values())
        assert sum(f'href="{paper.URL}"' in line for line in sources) >= 4
        assert any(re.search(r'href="https://doi.org/10\.48550/arXiv', line) for line in sources)
