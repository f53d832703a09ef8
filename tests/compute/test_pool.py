"""Processes and the pool of them: calls are computed in turn; whatever is dropped, late or killed,
the next answer is right.
"""

import os
import signal
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from threading import Thread

import psutil
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
    if begun[-1].poll() is not None:
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
    loaded = process.compute(jobs.modules)
    assert {"zoexplore.bounds", "zoexplore.questions"} <= loaded
    assert not {"panel", "bokeh", "param", "tornado", "torch", "pandas"} & loaded


def test_errors_come_back_and_the_next_call_is_answered(process):
    assert process.compute(divmod, (7, 2)) == (3, 1)
    with pytest.raises(ZeroDivisionError) as found:
        process.compute(divmod, (7, 0))
    assert "worker.py" in "".join(found.value.__notes__)
    with pytest.raises(FileNotFoundError):
        process.compute(open, ("/no/such/file",))
    assert process.compute(abs, (-1,)) == 1


def test_what_a_call_prints_does_not_get_between_the_answers(process):
    assert process.compute(print, ("hello",)) is None
    assert process.compute(os.system, ("echo hello",)) == 0


def test_an_interrupt_for_all_processes_is_nothing_to_it(process):
    pid = process.compute(os.getpid)
    with ThreadPoolExecutor() as beside:
        busy = beside.submit(process.compute, jobs.busy, (0.3,))
        for _ in range(5):
            os.kill(pid, signal.SIGINT)
            time.sleep(0.05)
        assert busy.result(PATIENCE) is None and process.compute(os.getpid) == pid


def test_ending_ends_it_whatever_it_does(process):
    with ThreadPoolExecutor() as beside:
        busy = beside.submit(process.compute, jobs.busy, (600,))
        process.end()
        soon(lambda: gone(process.pid))
        assert isinstance(busy.exception(PATIENCE), Died)


def test_workers_end_with_the_process_that_began_them():
    process = Process()
    pids = process.compute(jobs.begun)
    process.end()
    for pid in pids:
        soon(lambda pid=pid: gone(pid))


def test_a_process_stands_back_by_the_same_however_deep_it_was_begun():
    """The one that serves pages goes first; one whose parent stands back stands back no further."""
    process = Process()
    assert process.compute(jobs.priorities) == [10, 10]
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


def test_readers_behind_one_address_are_as_many_as_they_are(fresh):
    """A hall has all workers, a single reader all but one."""
    for sessions, at_once in (("aaaaaa", 2), ("abcdef", 3)):
        line = fresh()
        for session in sessions:
            line.submit(jobs.busy, (600,), session, urgent=True)
        if at_once < line.count:
            assert line.submit(abs, (-1,), "reader", urgent=True).answer.result(PATIENCE) == 1
        soon(lambda line=line, most=at_once: line.counts() == (most, 6 - most))


def test_what_follows_a_slider_waits_for_nobodys_map(fresh):
    both = fresh()
    for session in range(5):
        both.submit(jobs.busy, (600,), session)
    assert both.submit(abs, (-1,), urgent=True).answer.result(PATIENCE) == 1
    soon(lambda: both.counts() == (2, 3))


@pytest.mark.parametrize("urgent", [True, False])
def test_a_worker_is_left_to_others_whatever_one_session_wants(fresh, urgent):
    line = fresh()
    for _ in range(5):
        line.submit(jobs.busy, (600,), "greedy", urgent=urgent)
    assert line.submit(abs, (-1,), "reader", urgent=True).answer.result(PATIENCE) == 1
    soon(lambda: line.counts() == (2, 3))


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
    """While its process is killed, the call can no more be shared."""
    line, found, again = fresh(grace=0.1), tmp_path / "found", []
    call = line.submit(jobs.tell_file_and_be_busy, (str(found), 600), share=True)
    soon(found.exists)
    (process,), kill = line._running.values(), Process.kill

    def kill_while_another_asks():
        share = Thread(target=lambda: again.append(line.submit(*same, share=True)))
        share.start()
        share.join(0.1)  # it waits until the dropped call is out of the way
        kill(process)

    same = call.function, call.args
    process.kill = kill_while_another_asks
    found.unlink()
    line.drop(call)
    soon(lambda: call.answer.cancelled() and again)
    soon(found.exists)  # it has begun anew
    assert again[0] is not call and not again[0].answer.done()


def test_a_call_that_takes_too_long_is_refused_and_its_process_replaced(fresh, tmp_path):
    line, found = fresh(longest=0.2), tmp_path / "found"
    call = line.submit(jobs.tell_file_and_be_busy, (str(found), 600))
    with pytest.raises(TooLong, match=r"longer than the 0.2 s"):
        call.answer.result(PATIENCE)
    soon(lambda: not found.exists() or gone(int(found.read_text())))
    line.longest = PATIENCE
    assert line.submit(abs, (-1,)).answer.result(PATIENCE) == 1


def test_a_call_whose_process_ends_has_no_answer_and_the_next_one_has(fresh):
    line = fresh()
    with pytest.raises(Died):
        line.submit(os._exit, (1,)).answer.result(PATIENCE)
    assert line.submit(abs, (-1,)).answer.result(PATIENCE) == 1


def kill_all_but(others, least=0):
    """Kill the processes that this one has begun since, once there are so many."""
    begun = set()
    soon(lambda: begun.update(set(psutil.Process().children()) - others) or len(begun) >= least)
    for each in begun:
        with suppress(psutil.NoSuchProcess):
            each.kill()
    return begun


def test_processes_that_are_killed_while_idle_cost_no_call_its_answer(fresh):
    others, line = set(psutil.Process().children()), fresh()
    line.begin()
    killed = kill_all_but(others, line.count)
    soon(lambda: all(map(is_dead, killed)))
    assert line.submit(abs, (-1,)).answer.result(PATIENCE) == 1


def is_dead(process):
    return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_process_that_could_not_be_begun_is_tried_again_with_the_next_call(fresh, monkeypatch):
    line, came = fresh(count=1), []

    def fail():
        came.append(True)
        raise OSError("no memory for another process")

    with monkeypatch.context() as patch:
        patch.setattr("zoexplore.compute.pool.Process", fail)
        first = line.submit(abs, (-1,))
        soon(lambda: came and not line._threads)
    assert line.submit(abs, (-2,)).answer.result(PATIENCE) == 2
    assert first.answer.result(PATIENCE) == 1
