"""The read-outs say the accountant's numbers, the smallest, and what does not apply and why."""

import asyncio
import re
from html import escape

import pytest

from zoexplore import BOUNDS, Accounting, epsilon, guarantee
from zoexplore.compute.questions import smallest
from zoexplore.formatting import format_number, parse_number
from zoexplore.presets import BEFORE, DEMONSTRATION, PAPER_CONVENTION
from zoexplore.views import Readouts, State
from zoexplore.views.panels.readouts import REST


def rows(view):
    """Title -> number, as the table shows them."""
    return dict(re.findall(r'<th scope="row"[^>]*>(.*?)</th><td class="number"[^>]*>(.*?)</td>', view.table.object))


SETTINGS = [
    DEMONSTRATION,
    DEMONSTRATION.replace(K=300),
    DEMONSTRATION.replace(T=3),
    DEMONSTRATION.replace(regime="convex"),
    DEMONSTRATION.replace(beta=0.0),
]


@pytest.mark.parametrize("setting", SETTINGS, ids=str)
def test_every_bound_has_its_number(setting):
    shown = rows(Readouts(State(setting)))
    for bound in BOUNDS:
        g = guarantee(setting, bound)
        assert shown[g.title] == format_number(g.epsilon)


def test_the_smallest_is_named_and_is_of_this_run():
    view = Readouts()
    found = {bound: guarantee(DEMONSTRATION, bound) for bound in BOUNDS if BOUNDS[bound].of_this_run}
    best = min(found.values(), key=lambda g: g.epsilon)
    assert f"<b>{best.title}</b>" in view.verdict.object
    assert format_number(best.epsilon) in view.verdict.object
    assert guarantee(DEMONSTRATION, "noisy-gd").epsilon < best.epsilon  # the comparator is smaller, and not named


def test_what_does_not_apply_says_infinity_and_why():
    view = Readouts(State(DEMONSTRATION.replace(K=300)))
    assert rows(view)["Hidden-state theorem"] == "∞"
    assert "2K = 600 exceeds d = 520" in view.table.object


def share(view):
    return re.search(r'<p class="share">(.*?)</p>', view.table.object).group(1)


def least(setting, accounting):
    return format_number(min(epsilon(setting, bound, accounting) for bound in BOUNDS if BOUNDS[bound].of_this_run))


@pytest.mark.parametrize("accounting", [Accounting(), Accounting(conversion="cks"), Accounting(schedule="optimal")], ids=str)
@pytest.mark.parametrize(
    "setting",
    [
        DEMONSTRATION,
        DEMONSTRATION.replace(regime="non-convex", m=0.0, ridge=0.0),
        DEMONSTRATION.replace(beta=0.0),
        DEMONSTRATION.replace(beta=1.0),
        DEMONSTRATION.replace(batch=2000),
    ],
    ids=str,
)
def test_what_the_isotropic_share_does_is_the_difference_to_runs_without_it_and_with_it_alone(setting, accounting):
    said, plain = share(Readouts(State(setting, accounting))), accounting.replace(schedule="constant")
    along, across = (least(setting.replace(beta=beta), plain) for beta in (1.0, 0.0))
    now = least(setting, accounting)
    free = accounting.schedule == "optimal"
    if setting.beta == 1 and not free:
        assert f"ε is {now}" in said
    else:
        assert (f"leaves ε at {now}" if along == now else f"ε from {along} to {now}") in said
        verbs = [verb for verb in ("raises", "lowers") if verb in said]
        assert verbs == ([] if along == now else ["lowers" if parse_number(now) < parse_number(along) else "raises"])
    assert (f"With β\u00a0=\u00a00 it would be {across}" in said) == (setting.beta > 0 or free)


def test_notes_are_shown():
    setting = DEMONSTRATION.replace(batch=2000)
    note = guarantee(setting, "sharp").note
    assert note and escape(note) in Readouts(State(setting)).table.object


def test_a_run_without_any_bound_says_so():
    view = Readouts(State(DEMONSTRATION.replace(batch=100)))
    if all(not guarantee(DEMONSTRATION.replace(batch=100), bound).valid for bound in BOUNDS):
        assert "∞" in view.verdict.object
        assert "No bound applies" in view.verdict.object


def test_read_outs_follow_the_state():
    view = Readouts()
    before = view.table.object
    view.state.ask(sigma=0.01)
    assert view.table.object != before
    assert rows(view)["Composition"] == format_number(guarantee(DEMONSTRATION.replace(sigma=0.01), "composition").epsilon)


def test_where_composition_is_no_worse_the_sentence_says_so():
    view = Readouts(State(DEMONSTRATION.replace(T=1)))
    assert "pays off from T" in view.verdict.object


def test_assumptions_are_met_not_met_or_supposed():
    view = Readouts(State())
    view.state.ask(K=300)
    view.fold.collapsed = False
    text = view.assumptions.object
    assert 'aria-label="met"' in text
    assert 'aria-label="supposed"' in text
    assert re.search(r'aria-label="not met">✗</span><span>At most half the dimension', text)
    items = re.findall("<li>.*?</small>", text)
    assert items and len(items) == len(set(items)) == text.count("<li>")
    view.state.ask(K=2)
    assert "not met" in text and view.assumptions.object != text


def test_printed_constants_are_called_no_guarantee_while_they_are_on():
    view = Readouts(State(BEFORE.replace(R=1e-3, beta=0.0), PAPER_CONVENTION))
    assert "not a guarantee" not in view.verdict.object
    view.state.ask(printed=True)
    assert BOUNDS[smallest(view._found).bound].printed, "a run whose smallest number the printed constants enter"
    assert "As printed: not a guarantee." in view.verdict.object
    assert "smallest guarantee" not in view.verdict.object and "Guarantees" not in view.table.object
    view.state.ask(printed=False)
    assert "not a guarantee" not in view.verdict.object


def test_printed_constants_mark_the_bounds_that_they_enter_and_no_other():
    view = Readouts()
    view.state.ask(printed=True)
    assert smallest(view._found).bound == "sharp" and "not a guarantee" not in view.verdict.object
    assert "smallest guarantee" in view.verdict.object and "as printed" in view.table.object


def test_released_checkpoints_are_not_said_to_be_hidden():
    some, every = (Readouts(State(DEMONSTRATION.replace(releases=r))).verdict.object for r in (5, 10**6))
    assert "Of 200 iterates 5 are released" in some
    assert "last iterate" not in some and "last iterate" not in every


def test_texts_rest_while_a_slider_is_held_and_end_with_the_last_move():
    async def dragged():
        view, written = Readouts(State()), []
        view.verdict.param.watch(lambda event: written.append(event.new), "object")
        for sigma in range(11, 31):
            view.state.slide(sigma=sigma * 1e-4)
            await asyncio.sleep(0)
        moves = len(written)
        view.state.moving = False
        for _ in range(200):
            await asyncio.sleep(REST / 4)
            if written[-1] != written[0] and not view._redrawing.waits:
                break
        return view, moves

    view, moves = asyncio.run(dragged())
    assert moves < 10, "a redraw for every move"
    assert format_number(epsilon(DEMONSTRATION.replace(sigma=0.003), "sharp")) in view.verdict.object


def test_texts_follow_at_once_what_is_no_drag():
    view = Readouts(State())
    for sigma in (0.002, 0.003):
        view.state.ask(sigma=sigma)
        assert format_number(epsilon(DEMONSTRATION.replace(sigma=sigma), "sharp")) in view.verdict.object
