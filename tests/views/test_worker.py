"""Work in other processes: its results come, it can be stopped, and what goes wrong is told."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from functools import partial

import pytest

from tests.views import jobs
from zoexplore.views import worker
from zoexplore.views.tasks import start
from zoexplore.views.worker import MOST, Busy, Died, Dropped, Hand, Work, compute, warm


@pytest.fixture
def hand():
    hand = Hand()
    yield hand
    hand.end()


def gone(pid, seconds=2.0):
    """Whether a process ends within so long."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.02)
    return False


def test_the_computing_process_imports_the_accountant_only(hand):
    loaded = hand.submit(jobs.modules, ()).result(60)
    assert {"zoexplore.bounds", "zoexplore.planning"} <= loaded
    assert not {"panel", "bokeh", "param", "tornado", "torch", "pandas"} & loaded


def test_calls_are_answered_in_turn_and_errors_come_back(hand):
    first, wrong, last = hand.submit(divmod, (7, 2)), hand.submit(divmod, (7, 0)), hand.submit(divmod, (9, 2))
    assert first.result(30) == (3, 1) and last.result(30) == (4, 1)
    with pytest.raises(ZeroDivisionError) as told:
        wrong.result()
    assert "hand.py" in "".join(told.value.__notes__)


def test_what_a_call_prints_does_not_get_between_the_answers(hand):
    assert hand.submit(print, ("hello",)).result(30) is None
    assert hand.submit(os.system, ("echo hello",)).result(30) == 0
    assert hand.submit(abs, (-1,)).result(30) == 1


def test_items_come_one_by_one(hand):
    seen = []
    hand.submit(jobs.count, (5, 0.0), seen.append).result(30)
    assert seen == [0, 1, 2, 3, 4]


def test_a_killed_process_is_told_and_the_shared_one_is_replaced():
    first = warm()
    os.kill(first.pid, signal.SIGKILL)
    with pytest.raises(Died):
        first.submit(abs, (-1,)).result(30)
    assert warm() is not first
    assert warm().submit(abs, (-1,)).result(30) == 1


def test_ending_ends_the_process_whatever_it_does(hand):
    pid = hand.submit(os.getpid, ()).result(30)
    hand.submit(jobs.busy, (60,))
    time.sleep(0.2)
    hand.end()
    assert gone(pid, 1.0)


def begun(path):
    """Wait until a job has written this file."""
    for _ in range(600):
        if path.exists():
            return True
        time.sleep(0.1)
    return False


interrupts = pytest.mark.skipif(os.name == "nt", reason="a process without a console cannot be interrupted on Windows")


@interrupts
def test_a_dropped_call_is_interrupted_and_the_process_goes_on_with_the_next(hand, tmp_path):
    pid, first = hand.pid, hand.submit(jobs.endless, (str(tmp_path / "first"),))
    waiting, last = hand.submit(jobs.mark, (str(tmp_path / "waiting"),)), hand.submit(os.getpid, ())
    assert begun(tmp_path / "first")
    hand.drop(waiting)
    hand.drop(first)
    assert last.result(60) == pid
    assert isinstance(first.exception(), Dropped) and waiting.cancelled() and not (tmp_path / "waiting").exists()


@interrupts
@pytest.mark.parametrize("pause", [0.0, 0.001, 0.01, 0.1])
def test_a_call_may_be_dropped_at_any_moment(hand, tmp_path, pause):
    for i in range(5):
        call = hand.submit(jobs.endless, (str(tmp_path / str(i)),))
        time.sleep(pause)
        hand.drop(call)
        assert hand.submit(divmod, (7, 2)).result(60) == (3, 1)


@interrupts
def test_an_interrupt_between_calls_is_nothing_and_dropping_an_answer_neither(hand):
    done = hand.submit(os.getpid, ())
    assert done.result(60) == hand.pid
    os.kill(hand.pid, signal.SIGINT)
    hand.drop(done)
    assert hand.submit(os.getpid, ()).result(30) == done.result() == hand.pid


@interrupts
def test_a_cancelled_task_frees_the_shared_process(tmp_path):
    async def cancelled():
        task = start(partial(compute, jobs.endless, str(tmp_path / "begun")))
        await asyncio.to_thread(begun, tmp_path / "begun")
        task.cancel()
        return await compute(os.getpid)

    pid = warm().pid
    assert asyncio.run(cancelled()) == pid


@interrupts
def test_a_call_that_somebody_else_interrupts_is_asked_once_more(tmp_path):
    """As in a notebook, where an interrupt goes to every process of the kernel."""

    async def interrupted():
        asked = asyncio.ensure_future(compute(jobs.slow_once, str(tmp_path / "begun")))
        await asyncio.to_thread(begun, tmp_path / "begun")
        os.kill(warm().pid, signal.SIGINT)
        return await asked

    assert asyncio.run(interrupted()) == "the second time"


def test_a_task_that_is_cancelled_before_it_begins_never_does():
    ran = []

    async def before():
        async def task():
            ran.append(True)

        start(task).cancel()
        for _ in range(5):
            await asyncio.sleep(0)

    asyncio.run(before())
    assert not ran


def test_work_shows_its_items_and_ends():
    seen, ended = [], []
    work = Work(seen.append, ended.append)
    work.begin(jobs.count, 4, 0.0)  # no event loop here: it runs to its end
    assert seen == [0, 1, 2, 3] and ended == [None]
    assert not work.running and not worker._own


def test_work_that_fails_or_is_killed_says_so():
    ended = []
    Work(lambda _: None, ended.append).begin(jobs.fail, "no such thing")
    Work(lambda _: None, ended.append).begin(jobs.kill_itself)
    assert isinstance(ended[0], ValueError) and str(ended[0]) == "no such thing"
    assert isinstance(ended[1], Died)
    assert not worker._own


def test_work_that_is_stopped_shows_no_more_and_leaves_no_process():
    pids, ended = [], []
    work = Work(lambda item: (pids.append(item), work.stop()), ended.append)
    begun = time.monotonic()
    work.begin(jobs.tell_pid_and_be_busy, 60)
    assert time.monotonic() - begun < 20
    assert len(pids) == 1 and ended == [] and gone(pids[0], 1.0)


def test_there_is_room_for_so_many_and_the_next_is_told(monkeypatch):
    monkeypatch.setattr(worker, "_own", {object() for _ in range(MOST)})
    ended = []
    Work(lambda _: None, ended.append).begin(jobs.count, 1, 0.0)
    assert isinstance(ended[0], Busy) and "try again" in str(ended[0])


def test_processes_end_with_the_one_that_began_them():
    code = "from zoexplore.views.worker import warm; import os; print(warm().submit(os.getpid, ()).result(60)); os._exit(0)"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True)
    assert gone(int(told.stdout), 5.0)
