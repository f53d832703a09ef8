"""The read-outs say the accountant's numbers, the smallest, and what does not apply and why."""

import re

import pytest

from zoexplore import BOUNDS, Setting, guarantee
from zoexplore.views import Readouts, State
from zoexplore.views.readouts import of_this_run
from zoexplore.views.words import digits


def rows(view):
    """Title -> number, as the table shows them."""
    return dict(re.findall(r'<th scope="row"[^>]*>(.*?)</th><td class="number"[^>]*>(.*?)</td>', view.table.object))


SETTINGS = [Setting(), Setting(K=300), Setting(T=3), Setting(regime="convex"), Setting(beta=0.0)]


@pytest.mark.parametrize("setting", SETTINGS, ids=str)
def test_every_bound_has_its_number(setting):
    shown = rows(Readouts(State(setting)))
    for bound in BOUNDS:
        g = guarantee(setting, bound)
        assert shown[g.title] == digits(g.epsilon)


def test_the_smallest_is_named_and_is_of_this_run():
    view = Readouts()
    found = {bound: guarantee(Setting(), bound) for bound in BOUNDS if of_this_run(bound)}
    best = min(found.values(), key=lambda g: g.epsilon)
    assert f"<b>{best.title}</b>" in view.verdict.object
    assert digits(best.epsilon) in view.verdict.object
    assert guarantee(Setting(), "noisy-gd").epsilon < best.epsilon  # the comparator is smaller, and not named


def test_what_does_not_apply_says_infinity_and_why():
    view = Readouts(State(Setting(K=300)))
    assert rows(view)["Hidden-state theorem"] == "∞"
    assert "2K = 600 exceeds d = 520" in view.table.object


def test_a_run_without_any_bound_says_so():
    view = Readouts(State(Setting(batch=100)))
    if all(not guarantee(Setting(batch=100), bound).valid for bound in BOUNDS):
        assert "∞" in view.verdict.object
        assert "No bound applies" in view.verdict.object


def test_read_outs_follow_the_state():
    view = Readouts()
    before = view.table.object
    view.state.ask(sigma=0.01)
    assert view.table.object != before
    assert rows(view)["Composition"] == digits(guarantee(Setting(sigma=0.01), "composition").epsilon)


def test_where_composition_is_no_worse_the_sentence_says_so():
    view = Readouts(State(Setting(T=1)))
    assert "pays from T" in view.verdict.object


def test_assumptions_are_met_not_met_or_supposed():
    view = Readouts(State(Setting(K=300)))
    text = view.assumptions.object
    assert 'aria-label="met"' in text
    assert 'aria-label="supposed"' in text
    assert re.search(r'aria-label="not met">✗</span><span>At most half the dimension', text)
    items = re.findall("<li>.*?</small>", text)
    assert items and len(items) == len(set(items)) == text.count("<li>")


def test_printed_constants_are_called_no_guarantee_while_they_are_on():
    view = Readouts()
    assert "not a guarantee" not in view.verdict.object
    view.state.ask(printed=True)
    assert "As printed: not a guarantee." in view.verdict.object
    assert "smallest guarantee" not in view.verdict.object and "Guarantees" not in view.table.object
    view.state.ask(printed=False)
    assert "not a guarantee" not in view.verdict.object
