"""What is quick is drawn at once, what is slow when another process has computed it, and only the latest state is drawn."""

import asyncio
import time

import numpy as np
import pytest

from tests.views.test_curves import finite
from zoexplore import Accounting, Setting, curve, guarantee
from zoexplore.views import Curves, Inside, Profile, Readouts, State, Theory, worker
from zoexplore.views.ahead import Ahead
from zoexplore.views.kept import Kept, kept, quick
from zoexplore.views.trace import T_VALUES, guarantees, shares, trace, traced
from zoexplore.views.words import digits

PATIENCE = 120  # seconds, on a machine that is busy with other things


@pytest.fixture
def here(monkeypatch):
    """Slow calls of the kept functions that were made in this process, and not in another."""
    made, call = [], Kept.__call__

    def watched(self, *args):
        if not self.ready(*args):
            made.append((self.__name__, args))
        return call(self, *args)

    monkeypatch.setattr(Kept, "__call__", watched)
    return made


async def until(condition):
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, "it never came"
        await asyncio.sleep(0.01)


@pytest.mark.parametrize(("batch", "is_quick"), [(None, True), (20_000, True), (19_999, False), (1, False)])
def test_only_runs_on_a_part_of_the_records_are_slow(batch, is_quick):
    assert quick(Setting(batch=batch)) == is_quick


def test_quick_settings_are_drawn_at_once_and_in_this_process(monkeypatch):
    monkeypatch.setattr(worker, "warm", None)
    view, readouts = Curves(), Readouts()

    async def move():
        for part in (view, readouts):
            part.state.ask(sigma=0.002)
            assert not part.waiting

    asyncio.run(move())
    expected = curve(Setting(sigma=0.002), "T", T_VALUES)
    np.testing.assert_array_equal(view.source.data["sharp"], finite(expected["sharp"]))
    assert digits(guarantee(Setting(sigma=0.002), "sharp").epsilon) in readouts.verdict.object


def test_slow_settings_are_computed_elsewhere_and_the_last_one_is_drawn(here):
    state = State()
    views = [Curves(state), Profile(state), Inside(state), Theory(state), Readouts(state)]
    before = views[0].source.data["sharp"].copy()

    async def move():
        for batch in (101, 102, 103):
            state.ask(batch=batch)
        assert all(view.waiting for view in views)
        np.testing.assert_array_equal(views[0].source.data["sharp"], before)
        await until(lambda: not any(view.waiting for view in views))

    asyncio.run(move())
    assert here == []
    last = Setting(batch=103)
    np.testing.assert_array_equal(views[0].source.data["sharp"], finite(curve(last, "T", T_VALUES)["sharp"]))
    assert digits(guarantee(last, "sharp").epsilon) in views[4].verdict.object
    assert not traced(Setting(batch=102), Accounting(), "delta")[0].ready(Setting(batch=102), Accounting(), "delta")


def test_a_quick_state_overtakes_a_slow_one(here):
    view, seen = Curves(), []
    view.source.on_change("data", lambda attr, old, new: seen.append(new))

    async def move():
        view.state.ask(batch=201)
        view.state.ask(batch=None, sigma=0.003)
        assert not view.waiting and len(seen) == 1
        await until(lambda: not view._ahead._running)

    asyncio.run(move())
    assert here == [] and len(seen) == 1
    np.testing.assert_array_equal(seen[0]["sharp"], finite(curve(Setting(sigma=0.003), "T", T_VALUES)["sharp"]))


def test_another_field_keeps_its_axis_with_its_curves():
    view = Curves(State(Setting(batch=301)))

    async def turn():
        view.along = "delta"
        assert view.waiting and view.figure.xaxis[0].axis_label.startswith("T")
        await until(lambda: not view.waiting)

    asyncio.run(turn())
    assert view.figure.xaxis[0].axis_label.startswith("δ")
    np.testing.assert_array_equal(view.source.data["value"], trace(Setting(batch=301), Accounting(), "delta").values)


def test_what_is_saved_is_of_the_state_that_it_names():
    view = Curves()

    async def save():
        view.state.ask(batch=401)
        assert view.waiting
        assert "batch = 401" in view.picture() or "b = 401" in view.picture()
        assert not view.waiting

    asyncio.run(save())
    np.testing.assert_array_equal(view.source.data["sharp"], finite(curve(Setting(batch=401), "T", T_VALUES)["sharp"]))


def test_where_no_answer_comes_the_sign_goes_and_the_next_is_asked(monkeypatch):
    told, drawn, fails = [], [], [True]

    async def compute(call, *args, lane):
        if fails:
            raise worker.Died("twice")
        return call._call(*args)

    monkeypatch.setattr("zoexplore.views.ahead.compute", compute)
    ahead = Ahead(lambda: [(shares, (Setting(batch=501), Accounting()))], lambda: drawn.append(1), told.append)
    ahead()
    assert told == [True, False] and drawn == []
    fails.clear()
    ahead()
    assert told[2:] == [True, False] and drawn == [1]


def test_answers_are_kept_up_to_a_number():
    calls = []

    @kept(2)
    def double(setting, x):
        calls.append(x)
        return 2 * x

    s = Setting(batch=1)
    assert [double(s, x) for x in (1, 2, 1, 3, 1, 2)] == [2, 4, 2, 6, 2, 4]
    assert calls == [1, 2, 3, 2]
    assert double.ready(s, 1) and not double.ready(s, 3)


def test_answers_from_elsewhere_are_the_same():
    s = Setting(batch=601)
    call, args = traced(s, Accounting())
    found = worker.warm(worker.LIVE).submit(call, args).result(PATIENCE)
    for bound, values in trace(s, Accounting()).epsilon.items():
        np.testing.assert_array_equal(found.epsilon[bound], values)
    assert not found.reference.flags.writeable
    told = worker.warm(worker.LIVE).submit(guarantees, (s, Accounting())).result(PATIENCE)
    assert {b: g.epsilon for b, g in told.items()} == {b: g.epsilon for b, g in guarantees(s, Accounting()).items()}
