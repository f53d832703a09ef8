"""Processes and the pool of them: calls are computed in turn; whatever is dropped, late or killed,
the next answer is right.
"""

import os
import signal
import sys
import time
from threading import Thread

import pytest

from tests.compute import jobs
from tests.waiting import PATIENCE, gone, soon
from zoexplore import Accounting, curve
from zoexplore.compute.computations import curve_set
from zoexplore.compute.limits import WORKER_MEGABYTES
from zoexplore.compute.pool import Pool, TooLong
from zoexplore.compute.process import Died, Process
from zoexplore.run.presets import DEMONSTRATION

linux = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere memory is not bounded")


@pytest.fixture(scope="module")
def begun():
    """The processes that were begun, the last of which is for all who leave it as it is."""
    begun = [Process()]
    yield begun
    begun[-1].end()


@pytest.fixture
def process(begun):
    """One; another where a test has ended it."""
    if not begun[-1].alive:
        begun.append(Process())
    return begun[-1]


@pytest.fixture
def fresh():
    """Pools of their own, ended with the test."""
    made = []

    def make(**given):
        made.append(Pool(**given))
        return made[-1]

    yield make
    for each in made:
        each.end()


# A process


def test_a_worker_imports_the_accountant_only(process):
    loaded = process.submit(jobs.modules).result(PATIENCE)
    assert {"zoexplore.bounds", "zoexplore.questions"} <= loaded
    assert not {"panel", "bokeh", "param", "tornado", "torch", "pandas"} & loaded


def test_calls_are_answered_in_turn_and_errors_come_back(process):
    first, wrong, last = (process.submit(divmod, pair) for pair in ((7, 2), (7, 0), (9, 2)))
    assert first.result(PATIENCE) == (3, 1) and last.result(PATIENCE) == (4, 1)
    with pytest.raises(ZeroDivisionError) as found:
        wrong.result()
    assert "worker.py" in "".join(found.value.__notes__)
    with pytest.raises(FileNotFoundError):
        process.submit(open, ("/no/such/file",)).result(PATIENCE)
    assert process.submit(abs, (-1,)).result(PATIENCE) == 1


def test_what_a_call_prints_does_not_get_between_the_answers(process):
    assert process.submit(print, ("hello",)).result(PATIENCE) is None
    assert process.submit(os.system, ("echo hello",)).result(PATIENCE) == 0


def test_an_interrupt_for_all_processes_is_nothing_to_it(process):
    pid = process.submit(os.getpid).result(PATIENCE)
    busy = process.submit(jobs.busy, (0.3,))
    for _ in range(5):
        os.kill(pid, signal.SIGINT)
        time.sleep(0.05)
    assert busy.result(PATIENCE) is None and process.submit(os.getpid).result(PATIENCE) == pid


def test_ending_ends_it_whatever_it_does(process):
    pid = process.submit(os.getpid).result(PATIENCE)
    busy = process.submit(jobs.busy, (600,))
    process.end()
    soon(lambda: gone(pid))
    assert isinstance(busy.exception(PATIENCE), Died)


def test_workers_end_with_the_process_that_began_them():
    process = Process()
    pids = process.submit(jobs.begun).result(PATIENCE)
    process.end()
    for pid in pids:
        soon(lambda pid=pid: gone(pid))


def test_a_process_stands_back_by_the_same_however_deep_it_was_begun():
    """The one that serves pages goes first; one whose parent stands back stands back no further."""
    process = Process()
    assert process.submit(jobs.priorities).result(PATIENCE) == [10, 10]
    process.end()


# The pool


def test_calls_dropped_at_any_moment_leave_no_process_that_answers_wrongly(fresh):
    """As where a reader changes an axis of the map twice on a fresh server, while the theorem's
    kernels load.
    """
    asked = DEMONSTRATION.replace(T=37), Accounting(), "K"
    waits = fresh(grace=0.0)
    # while all load, and then while one does
    for pause in (0.0, 0.2, 2.0, 0.0, 0.01, 0.02, 0.05, 0.1, 0.2):
        dropped = waits.submit(curve_set, asked)
        end = time.monotonic() + pause
        while time.monotonic() < end:
            again = waits.submit(curve_set, asked)
            time.sleep(0.05)
            waits.drop(again)
        waits.drop(dropped)
    found = waits.submit(curve_set, asked).answer.result(PATIENCE)
    expected = curve(asked[0], "K", found.values)
    assert {b: list(values) for b, values in found.epsilon.items()} == {
        b: list(values) for b, values in expected.items()
    }


@linux
def test_a_worker_takes_no_more_memory_than_it_may(fresh, monkeypatch):
    monkeypatch.setenv(WORKER_MEGABYTES.variable, "500")
    waits = fresh()
    with pytest.raises(MemoryError):
        waits.submit(bytearray, (600 * 2**20,)).answer.result(PATIENCE)
    assert waits.submit(abs, (-1,)).answer.result(PATIENCE) == 1


def test_sessions_take_turns_however_much_each_asks(fresh, tmp_path):
    """A session that comes last is served before the second call of the one that came first, also
    by a single worker.
    """
    line, go = fresh(count=1), tmp_path / "go"
    calls = [line.submit(jobs.after, (str(go), name), name) for name in "aaaabbc"]
    go.touch()
    for call in calls:
        call.answer.result(PATIENCE)
    assert (tmp_path / "go-order").read_text() == "abcabaa"
    assert line.deaths == 0 and line.waited > 0


def test_readers_behind_one_address_are_as_many_as_they_are(fresh):
    """A hall has all workers, a single reader all but one."""
    for sessions, at_once in (("aaaaaa", 2), ("abcdef", 3)):
        line = fresh()
        for session in sessions:
            line.submit(jobs.busy, (600,), session, urgent=True)
        assert line.counts() == (at_once, 6 - at_once)


def test_what_follows_a_slider_waits_for_nobodys_map(fresh):
    both = fresh()
    for session in range(5):
        both.submit(jobs.busy, (600,), session)
    assert both.submit(abs, (-1,), urgent=True).answer.result(PATIENCE) == 1
    assert both.counts() == (2, 3)


@pytest.mark.parametrize("urgent", [True, False])
def test_a_worker_is_left_to_others_whatever_one_session_wants(fresh, urgent):
    line = fresh()
    for _ in range(5):
        line.submit(jobs.busy, (600,), "greedy", urgent=urgent)
    assert line.submit(abs, (-1,), "reader", urgent=True).answer.result(PATIENCE) == 1
    assert line.counts() == (2, 3)


def test_a_call_in_line_that_is_dropped_never_begins(fresh, tmp_path):
    line, go = fresh(count=1), tmp_path / "go"
    first = line.submit(jobs.after, (str(go), "1"))
    waiting = line.submit(jobs.after, (str(go), "2"))
    line.drop(waiting)
    go.touch()
    assert first.answer.result(PATIENCE) is None and waiting.answer.cancelled()
    assert line.submit(abs, (-1,)).answer.result(PATIENCE) == 1
    assert (tmp_path / "go-order").read_text() == "1"


def test_a_dropped_call_that_goes_on_for_long_costs_its_process_its_life(fresh, tmp_path):
    line, found = fresh(grace=0.1), tmp_path / "found"
    call = line.submit(jobs.tell_file_and_be_busy, (str(found), 600))
    soon(found.exists)
    line.drop(call)
    soon(lambda: gone(int(found.read_text())))
    soon(call.answer.cancelled)
    assert line.submit(abs, (-1,)).answer.result(PATIENCE) == 1


def test_who_asks_again_just_as_a_dropped_call_ends_is_answered(fresh, tmp_path):
    line, found, again = fresh(grace=0.1), tmp_path / "found", []
    call = line.submit(jobs.tell_file_and_be_busy, (str(found), 600), share=True)
    soon(found.exists)
    begin = line._new

    def begin_while_another_asks():
        share = Thread(target=lambda: again.append(line.submit(*same, share=True)))
        share.start()
        share.join(0.1)  # it waits until the dropped call is out of the way
        return begin()

    same = call.function, call.args
    line._new = begin_while_another_asks
    found.unlink()
    line.drop(call)
    soon(lambda: call.answer.cancelled() and again)
    soon(found.exists)  # it has begun anew
    assert again[0] is not call and not again[0].answer.done()


def test_a_call_that_takes_too_long_is_refused_and_its_process_replaced(fresh, tmp_path):
    line, found = fresh(longest=0.2), tmp_path / "found"
    with line._lock:  # without which the process may be replaced before it is looked at
        call = line.submit(jobs.tell_file_and_be_busy, (str(found), 600))
        (process,) = line._running
    with pytest.raises(TooLong, match=r"longer than the 0.2 s"):
        call.answer.result(PATIENCE)
    soon(lambda: not process.alive and (not found.exists() or gone(int(found.read_text()))))
    line.longest = PATIENCE
    assert line.submit(abs, (-1,)).answer.result(PATIENCE) == 1


def test_a_call_whose_process_is_killed_is_computed_once_more_and_no_more(fresh, tmp_path):
    line = fresh()
    assert (
        line.submit(jobs.killed_once, (str(tmp_path / "mark"),)).answer.result(PATIENCE)
        == "the second time"
    )
    with pytest.raises(Died):
        line.submit(os._exit, (1,)).answer.result(PATIENCE)
    assert line.submit(abs, (-1,)).answer.result(PATIENCE) == 1


def test_a_call_is_answered_though_all_processes_are_killed_at_once(fresh):
    line = fresh()
    line.begin()
    for _ in range(3):
        line.submit(abs, (-1,)).answer.result(PATIENCE)
        calls = [line.submit(jobs.busy, (0.3,), urgent=True) for _ in range(2)]
        for each in [*line._idle, *line._running]:
            os.kill(each.pid, signal.SIGKILL)
        assert [call.answer.result(PATIENCE) for call in calls] == [None, None]
    assert line.deaths >= 3


def test_processes_that_are_killed_while_idle_cost_no_call_anything(fresh):
    line = fresh()
    line.begin()
    for process in line._idle:
        os.kill(process.pid, signal.SIGKILL)
        soon(lambda process=process: not process.alive)
    assert line.submit(abs, (-1,)).answer.result(PATIENCE) == 1
