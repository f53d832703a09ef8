"""What takes long is computed elsewhere, and once; what is asked for last is drawn, and what nobody
waits for goes no further.
"""

import asyncio
import os
from functools import partial
from math import inf

import numpy as np
import pytest

from tests.compute import jobs
from tests.views.drawn import at, y
from tests.waiting import PATIENCE, gone, soon, until
from zoexplore import Accounting, curve, guarantee
from zoexplore.compute import ask as asking
from zoexplore.compute.ask import REDRAW, ask, pool, quick
from zoexplore.compute.cache import cached, lookup
from zoexplore.compute.computations import attack, curve_set, guarantees
from zoexplore.compute.limits import TRAININGS
from zoexplore.compute.pool import LongWork, Pool, trainings
from zoexplore.compute.process import Died
from zoexplore.compute.session_task import SessionTask
from zoexplore.run.axes import T_VALUES
from zoexplore.run.formatting import format_number
from zoexplore.run.presets import DEMONSTRATION
from zoexplore.views import Attack, Curves, Inside, State, Theory
from zoexplore.views.panels.readouts import Headline

NEAR = 1e-8  # relative

# Asking


@pytest.fixture
def elsewhere(monkeypatch):
    """The calls that the pool was to compute: functions with their arguments."""
    made, calls, submit = [], [], Pool.submit

    def watched(self, function, args=(), *more, **others):
        call = submit(self, function, args, *more, **others)
        if call not in calls:
            calls.append(call)
            made.append(args)
        return call

    monkeypatch.setattr(Pool, "submit", watched)
    monkeypatch.setattr(asking, "_latest", {})
    guarantees.cache.clear()
    return made


def same(found, expected):
    """But for what a search for a root leaves open: loops compiled here may differ from the cache
    in a last digit.
    """
    np.testing.assert_allclose(found, expected, rtol=NEAR)


def test_runs_on_batches_are_never_quick_and_others_as_they_were_lately(monkeypatch):
    monkeypatch.setattr(asking, "_latest", {})
    full, long, batch, account = (
        DEMONSTRATION,
        DEMONSTRATION.replace(T=10**6),
        DEMONSTRATION.replace(batch=100),
        Accounting(),
    )
    assert quick(guarantees, full, account) and not quick(guarantees, long, account)
    for run, seconds in ((full, 2 * REDRAW), (long, REDRAW / 2), (batch, REDRAW / 2)):
        asking._latest[asking._kind(guarantees, (run, account))] = seconds, 2 * REDRAW
    assert not quick(guarantees, full, account) and quick(guarantees, long, account)
    assert not quick(guarantees, batch, account)
    assert quick(guarantees, full, Accounting(conversion="cks"))


def test_a_process_that_is_asked_loads_no_panel():
    asyncio.run(ask(guarantees, DEMONSTRATION.replace(batch=99), Accounting()))
    loaded = asyncio.run(ask(jobs.modules))
    assert "zoexplore.bounds" in loaded and not {"panel", "bokeh", "param", "tornado"} & loaded


def test_quick_settings_are_drawn_at_once_and_in_this_process(elsewhere, monkeypatch):
    state = State()
    monkeypatch.setattr(asking, "REDRAW", inf)  # as on a machine that is not busy
    parts = [Curves(state), Headline(state)]

    async def move():
        state.ask(sigma=0.002)
        assert not parts[0].waiting
        await until(lambda: not parts[1].waiting)  # for the odds under the number

    asyncio.run(move())
    assert not [call for call in elsewhere if call[0] is not attack]
    expected = curve(DEMONSTRATION.replace(sigma=0.002), "T", T_VALUES)["sharp"]
    np.testing.assert_array_equal(y(parts[0], "sharp"), expected)
    assert (
        format_number(guarantee(DEMONSTRATION.replace(sigma=0.002), "sharp").epsilon)
        in parts[1].number.object
    )


def test_slow_settings_are_computed_elsewhere_and_the_last_one_is_drawn(elsewhere):
    state = State()
    views = [Curves(state), Attack(state), Inside(state), Theory(state), Headline(state)]
    before = y(views[0], "sharp").copy()

    async def move():
        for batch in (101, 102, 103):
            state.ask(batch=batch)
        assert all(view.waiting for view in views)
        np.testing.assert_array_equal(y(views[0], "sharp"), before)
        await until(lambda: not any(view.waiting for view in views))

    asyncio.run(move())
    last = DEMONSTRATION.replace(batch=103)
    asked = [call for call in elsewhere if call[0] is guarantees]
    assert asked and len(asked) == len(set(asked)), (
        "five views ask for the same, and it is computed once"
    )
    same(y(views[0], "sharp"), curve(last, "T", T_VALUES)["sharp"])
    assert format_number(guarantee(last, "sharp").epsilon) in views[4].number.object
    with pytest.raises(KeyError):
        lookup(curve_set, (DEMONSTRATION.replace(batch=102), Accounting(), "delta"))


def test_a_quick_state_overtakes_a_slow_one(monkeypatch):
    monkeypatch.setattr(asking, "REDRAW", inf)  # as on a machine that is not busy
    view, seen = Curves(), []
    view.chart.param.watch(
        lambda event: seen.append({each["key"]: each["y"] for each in event.new}), "lines"
    )

    async def move():
        view.state.ask(batch=201)
        view.state.ask(batch=None, sigma=0.003)
        assert not view.waiting and seen
        await ask(guarantees, DEMONSTRATION.replace(batch=201), Accounting())

    asyncio.run(move())
    for each in seen:
        same(each["sharp"], curve(DEMONSTRATION.replace(sigma=0.003), "T", T_VALUES)["sharp"])


def test_another_field_keeps_its_axis_with_its_curves():
    view = Curves(State(DEMONSTRATION.replace(batch=301)))

    async def turn():
        view.along = "delta"
        assert view.waiting and view.chart.given["across"]["title"].startswith("T")
        await until(lambda: not view.waiting)

    asyncio.run(turn())
    assert view.chart.given["across"]["title"].startswith("δ")


def test_a_view_that_falls_asleep_computes_no_further_and_catches_up():
    view = Curves()

    async def sleep():
        view.state.ask(batch=501)
        view.active = False
        assert not view.waiting
        view.state.ask(batch=None, T=77)
        assert at(view) != 77
        view.active = True

    asyncio.run(sleep())
    assert at(view) == 77


def test_where_no_answer_comes_the_sign_goes_and_the_next_is_asked(monkeypatch):
    view, fails = Headline(), [True]

    async def failing(function, *args):
        await asyncio.sleep(0)
        if fails:
            raise Died("twice")
        return function(*args)

    monkeypatch.setattr("zoexplore.views.panels.readouts.ask", failing)

    async def move():
        view.state.ask(T=78)
        await until(lambda: not view.waiting)
        fails.clear()
        view.state.ask(T=3)
        await until(lambda: not view.waiting)

    asyncio.run(move())
    assert (
        format_number(guarantee(DEMONSTRATION.replace(T=3), "sharp").epsilon) in view.number.object
    )


def test_answers_are_the_same_from_elsewhere():
    run = DEMONSTRATION.replace(batch=601)
    found = pool().submit(curve_set, (run, Accounting(), "T")).answer.result(PATIENCE)
    for bound, values in curve_set(run, Accounting(), "T").epsilon.items():
        same(found.epsilon[bound], values)


def test_a_cached_function_is_called_once_for_what_its_answer_depends_on():
    calls = []

    @cached(lambda x, _: (x,))
    def double(x, label):
        calls.append(x)
        return 2 * x

    assert [double(x, label) for x, label in ((1, "a"), (1, "b"), (2, "a"))] == [2, 2, 4]
    assert calls == [1, 2]


# Tasks


def test_a_task_that_is_stopped_goes_no_further():
    came = []

    async def stopped():
        async def waits():
            await ask(os.getpid)
            came.append(True)

        task = SessionTask(waits)
        assert task.waits
        task.stop()
        await ask(os.getpid)
        assert not task.waits

    asyncio.run(stopped())
    assert not came


def test_an_error_at_once_is_raised_and_one_that_comes_later_is_logged(caplog):
    failed = []

    async def wrong():
        raise ValueError("at once")

    async def late():
        await ask(divmod, 1, 0)

    async def begin():
        with pytest.raises(ValueError, match="at once"):
            SessionTask(wrong, failed.append)
        task = SessionTask(late, failed.append)
        await until(lambda: not task.waits)

    asyncio.run(begin())
    assert [type(error) for error in failed] == [ValueError, ZeroDivisionError]
    assert "work off the event loop failed" in caplog.text


# Long work


async def items(work, seen):
    with work as come:
        async for item in come:
            seen.append(item)


def test_items_come_one_by_one_and_errors_after_them():
    seen = []
    # no event loop here: it runs to its end
    SessionTask(partial(items, LongWork(jobs.count, 4), seen))
    assert seen == [0, 1, 2, 3]
    for call, error in (((jobs.fail, "no such thing"), ValueError), ((jobs.kill_itself,), Died)):
        seen.clear()
        with pytest.raises(error):
            SessionTask(partial(items, LongWork(*call), seen))
        assert seen == [1]


def test_work_that_is_stopped_shows_no_more_and_leaves_no_process():
    seen = []

    async def stop():
        task = SessionTask(partial(items, LongWork(jobs.tell_pid_and_be_busy, 600), seen))
        await until(lambda: seen)
        task.stop()

    asyncio.run(stop())
    soon(lambda: gone(seen[0]))
    assert len(seen) == 1


def test_there_is_room_for_so_many_and_whoever_came_first_is_next():
    works = [LongWork(jobs.busy, 600) for _ in range(TRAININGS.value)]
    seen = []

    async def wait():
        first, second = LongWork(jobs.count, 1), LongWork(jobs.tell_pid_and_be_busy, 600)
        task = SessionTask(partial(items, first, seen))
        await until(lambda: trainings().counts() == (2, 2))
        assert first.waits and second.waits and not seen
        works[0].__exit__()
        await until(lambda: not task.waits)
        second.__exit__()

    asyncio.run(wait())
    works[1].__exit__()
    soon(lambda: trainings().counts() == (0, 0))
    assert seen == [0]


def test_work_of_another_session_follows_in_a_process_that_was_ended():
    """Whatever is killed just then, nobody else's work dies of it."""
    for _ in range(3):
        ended, seen = LongWork(jobs.count, 10**9), []
        soon(lambda ended=ended: len(ended._coming) > 1)
        ended.__exit__()
        SessionTask(partial(items, LongWork(jobs.count, 2), seen))
        assert seen == [0, 1]
