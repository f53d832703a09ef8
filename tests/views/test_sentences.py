"""What the page says: its own notation, plain sentences, and which paper it is about."""

import re

import pytest
import yaml

from tests.test_project import ROOT
from tools.sentences import plain
from zoexplore import Accounting, __version__, guarantee, paper
from zoexplore.bounds import BOUNDS
from zoexplore.formatting import THIN, format_short
from zoexplore.planning import Unreachable, calibrate
from zoexplore.presets import DEMONSTRATION
from zoexplore.setting import LARGEST_INTEGER
from zoexplore.views import Readouts, State
from zoexplore.views.explorer import Explorer, colophon
from zoexplore.views.figures.factors import Factors
from zoexplore.views.figures.inside import describe_trajectory
from zoexplore.views.panels.measures import said as said_odds
from zoexplore.views.panels.planner import Planner, _found
from zoexplore.views.panels.theory import Theory


@pytest.mark.parametrize(
    ("x", "shown"),
    [
        (1e-5, "10⁻⁵"), (2e-6, f"2{THIN}×{THIN}10⁻⁶"), (0.001, "0.001"), (0.25, "0.25"), (1000, f"1{THIN}000"), (0, "0"),
        (346.6666, "347"), (float("inf"), "∞"), (1.23121e-15, f"1.23{THIN}×{THIN}10⁻¹⁵"), (20_000, f"20{THIN}000"),
    ],
)  # fmt: skip
def test_short_numbers(x, shown):
    assert format_short(x) == shown


@pytest.mark.parametrize(("T", "said"), [(1, "the one step is counted"), (2, "both steps are"), (5, "all 5 steps are")])
def test_steps_are_counted_in_words(T, said):
    assert said in describe_trajectory(guarantee(DEMONSTRATION.replace(T=T), "sharp"))


def test_reasons_are_sentences_without_ids():
    run = DEMONSTRATION.replace(batch=100, sampling="poisson", neighbours="add-remove", K=300, lipschitz=5.0)
    view = Readouts(State(run))
    view.fold.collapsed = False
    said = " ".join(plain(view.assumptions.object + view.table.object))
    assert "drawn as Poisson, with one record added or removed" in said and "'" not in said.replace("'s ", "")
    assert "never acts. The clip may act" in said and "2K ≤ d. 2K = 600 exceeds" in said


def test_odds_that_round_to_all_are_not_told_as_a_bound():
    allowed = guarantee(DEMONSTRATION.replace(sigma=3e-4), "composition").risk
    assert 0.99 < allowed.true_positive_rate(0.01) < 1
    assert "nearly every member" in said_odds(allowed)


def test_when_hiding_pays_off():
    verdict = " ".join(plain(Readouts(State(DEMONSTRATION.replace(T=2))).verdict.object))
    assert "would cost only 0.497; hiding the iterates pays off from T = 4 on." in verdict


def test_printed_constants_are_used_errors_included():
    view = Readouts(State(DEMONSTRATION.replace(R=1e-3, beta=0.0), Accounting(printed=True)))
    assert "used as printed, errors included" in view.verdict.object


def test_a_refusal_is_in_symbols():
    state = State()
    state.ask(sigma=-1.0)
    assert state.refusal == "σ = -1.0 is not allowed: give a finite number above 0"
    state.ask(R=-1.0)
    assert "∞ is allowed" in state.refusal and "inf" not in state.refusal


def test_what_is_out_of_reach_says_how_near_it_comes():
    with pytest.raises(Unreachable, match=r"^out of reach: even K = 520 gives ε = 0\.49\d by the sharper bound$"):
        calibrate(DEMONSTRATION, "K", epsilon=0.1)
    with pytest.raises(Unreachable, match=r"^out of reach: no R brings the theorem below ε = 0\.497$"):
        calibrate(DEMONSTRATION.replace(T=50), "R", epsilon=1e-9, bound="theorem")


def test_what_was_found_is_written_for_readers():
    assert _found("T", LARGEST_INTEGER) == "∞" and _found("n", 19_999) == f"19{THIN}999"
    assert _found("sigma", 0.00089341234) == f"8.9342{THIN}×{THIN}10⁻⁴"


def test_a_large_target_may_be_typed():
    planner = Planner()
    for text in ("1e6", "1000000"):
        planner.choices[0].value = text
        assert planner.target == 1e6


def test_every_bound_has_a_name_for_sentences():
    names = {name: bound.in_text for name, bound in BOUNDS.items()}
    assert names["sharp"] == "the sharper bound" and names["composition"] == "composition"


def test_without_a_step_size_nothing_is_simulated():
    view = Factors(State(DEMONSTRATION.replace(M=float("inf"), eta=None, regime="non-convex", m=0.0, ridge=0.0)))
    assert "Without a step size" in view.words.object and not view.pane.visible


class TestPaper:
    def test_is_cited_as_the_citation_file_says(self):
        (cited,) = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))["references"]
        assert (cited["title"], cited["url"]) == (paper.TITLE, paper.URL)
        assert tuple(f"{a['given-names']} {a['family-names']}" for a in cited["authors"]) == paper.AUTHORS
        assert "Chien, Eli and Chen, Wei-Ning and Li, Pan" in paper.BIBTEX and str(cited["year"]) in paper.BIBTEX

    def test_is_named_and_linked_on_the_page(self):
        words = " ".join(str(pane.object) for pane in Explorer().__panel__().select() if hasattr(pane, "object"))
        for said in (paper.TITLE, paper.URL, *paper.AUTHORS, __version__, paper.LICENCE, "How to cite"):
            assert said in words
        assert colophon()[1].tags == [paper.BIBTEX]

    def test_is_what_sources_lead_to(self):
        sources = [line for pane in Theory().__panel__().select() if "Source:" in (line := str(getattr(pane, "object", "")))]
        assert len(sources) == sum(bool(bound.source) for bound in BOUNDS.values())
        assert sum(f'href="{paper.URL}"' in line for line in sources) >= 4
        assert any(re.search(r'href="https://doi.org/10\.48550/arXiv', line) for line in sources)
