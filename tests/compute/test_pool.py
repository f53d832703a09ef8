"""Processes and the pool of them: calls are computed in turn; whatever is dropped, late or killed, the next answer is right."""

import os
import signal
import sys
import time

import psutil
import pytest

from tests.compute import jobs
from tests.effort import proof
from tests.waiting import PATIENCE, gone, soon
from zoexplore import Accounting, curve
from zoexplore.compute import process as processes
from zoexplore.compute.computations import curve_set
from zoexplore.compute.fair import Budget
from zoexplore.compute.limits import WORKER_MEGABYTES
from zoexplore.compute.pool import Pool, TooLong
from zoexplore.compute.process import Died, Forked, ForkServer, Process, Spawned
from zoexplore.run.presets import DEMONSTRATION

linux = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere nothing is forked, and memory is not bounded")
KINDS = [Forked, Spawned] if sys.platform == "linux" else [Spawned]


@pytest.fixture(scope="module", params=KINDS)
def begun(request):
    """The processes of a kind that were begun, the last of which is for all who leave it as it is."""
    begun = [Process(request.param)]
    yield begun
    begun[-1].end()


@pytest.fixture
def process(begun, request):
    """One of each kind; another where a test has ended it."""
    if not begun[-1].alive:
        begun.append(Process(request.node.callspec.params["begun"]))
    return begun[-1]


@pytest.fixture
def fresh():
    """Pools of their own, ended with the test."""
    made = []

    def make(**given):
        made.append(Pool(**given, accounts=Budget()))
        return made[-1]

    yield make
    for each in made:
        while each._queue.take():
            pass
        for call in each._running.values():
            call.waiting = 0  # it is not begun once more
        for process in [*each._idle, *each._running]:
            process.end()


@pytest.fixture(scope="module")
def bounded():
    """A fork server that has only just begun, with less memory than others."""
    server = ForkServer()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(WORKER_MEGABYTES.variable, "500")
        server._begin()
    return server


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


@pytest.mark.parametrize("kinds", [KINDS[:1], proof(KINDS)], ids=["this machine's", "all"])
def test_workers_end_with_the_process_that_began_them(kinds):
    process = Process()
    pids = set(process.submit(jobs.begun, (kinds,)).result(PATIENCE))
    assert len(pids) == 2 * len(kinds)  # the one that began them, a fork server, and a worker of each kind
    process.end()
    for pid in pids:
        soon(lambda pid=pid: gone(pid))


@linux
def test_a_worker_that_holds_the_interpreters_lock_ends_with_its_server_all_the_same(tmp_path):
    server, begun = Process(), tmp_path / "begun"
    server.submit(jobs.holding_the_lock, (str(begun),)).result(PATIENCE)
    server.end()
    soon(lambda: gone(int(begun.read_text())))


# The process of which workers are forked


@linux
def test_forked_workers_have_one_parent_and_their_own_memory_files_and_chance():
    first, second = Process(), Process()
    parents = {process.submit(os.getppid).result(PATIENCE) for process in (first, second)}
    assert len(parents) == 1 and os.getpid() not in parents
    assert first.submit(jobs.put, (1,)).result(PATIENCE) is None
    assert [process.submit(jobs.put, (2,)).result(PATIENCE) for process in (first, second)] == [1, None]
    assert first.submit(jobs.connections).result(PATIENCE) == second.submit(jobs.connections).result(PATIENCE) == 1
    for draw in (jobs.drawn, jobs.numpy_drawn):
        assert first.submit(draw).result(PATIENCE) != second.submit(draw).result(PATIENCE)
    for process in (first, second):
        process.end()


@linux
def test_where_the_fork_server_is_killed_its_workers_end_and_the_next_has_another():
    process = Process()
    pid, forks = (process.submit(call).result(PATIENCE) for call in (os.getpid, os.getppid))
    busy = process.submit(time.sleep, (600,))
    os.kill(forks, signal.SIGKILL)
    assert isinstance(busy.exception(PATIENCE), Died)
    soon(lambda: gone(pid))
    process.end()
    another = Process()
    assert another.submit(os.getppid).result(PATIENCE) != forks
    another.end()


# The pool


def test_calls_dropped_at_any_moment_leave_no_process_that_answers_wrongly(fresh, bounded, monkeypatch):
    """As where a reader changes an axis of the map twice on a fresh server, while the theorem's kernels load."""
    monkeypatch.setattr(processes, "fork_server", bounded)
    asked = DEMONSTRATION.replace(T=37), Accounting(), "K"
    waits = fresh(grace=0.0)
    for pause in (0.0, 0.2, 2.0, 0.0, 0.01, 0.02, 0.05, 0.1, 0.2):  # while all load, and then while one does
        dropped = waits.submit(curve_set, asked)
        end = time.monotonic() + pause
        while time.monotonic() < end:
            again = waits.submit(curve_set, asked)
            time.sleep(0.05)
            waits.drop(again)
        waits.drop(dropped)
    found = waits.submit(curve_set, asked).answer.result(PATIENCE)
    expected = curve(asked[0], "K", found.values)
    assert {b: list(values) for b, values in found.epsilon.items()} == {b: list(values) for b, values in expected.items()}


@linux
def test_a_worker_takes_no_more_memory_than_it_may(fresh, bounded, monkeypatch):
    monkeypatch.setattr(processes, "fork_server", bounded)
    waits = fresh()
    with pytest.raises(MemoryError):
        waits.submit(bytearray, (600 * 2**20,)).answer.result(PATIENCE)
    assert waits.submit(abs, (-1,)).answer.result(PATIENCE) == 1


def test_addresses_take_turns_however_much_each_asks(fresh, tmp_path):
    line, go = fresh(), tmp_path / "go"
    calls = [line.submit(jobs.after_a_while, (str(go), name, 0.3), address=name) for name in "aaaab"]  # a worker starts sooner
    go.touch()
    for call in calls:
        call.answer.result(PATIENCE)
    assert (tmp_path / "go-order").read_text().index("b") <= 2


def test_addresses_take_turns_by_the_time_that_they_took(fresh, tmp_path):
    """Ten tabs of one address with long calls, and a reader with many short ones, who is done after a few of those."""
    line, go = fresh(), tmp_path / "go"
    calls = [line.submit(jobs.after_a_while, (str(go), "a", 0.2), address="a") for _ in range(10)]
    calls += [line.submit(jobs.after_a_while, (str(go), "b", 0.0), address="b") for _ in range(10)]
    go.touch()
    for call in calls:
        call.answer.result(PATIENCE)
    assert (tmp_path / "go-order").read_text().rindex("b") <= 13
    assert line.deaths == 0 and line.waited > 0


def test_what_follows_a_slider_waits_for_nobodys_map(fresh):
    both = fresh()
    for session in range(5):
        both.submit(jobs.busy, (600,), address=session)
    assert both.submit(abs, (-1,), urgent=True).answer.result(PATIENCE) == 1
    assert len(both._running) == 2


@pytest.mark.parametrize("urgent", [True, False])
def test_a_worker_is_left_to_others_whatever_one_address_wants(fresh, urgent):
    line = fresh()
    for _ in range(5):
        line.submit(jobs.busy, (600,), address="greedy", urgent=urgent)
    assert line.submit(abs, (-1,), address="reader", urgent=urgent).answer.result(PATIENCE) == 1
    assert len(line._running) == (2 if urgent else 1)


def test_a_call_in_line_that_is_dropped_never_begins(fresh, tmp_path):
    line, go = fresh(), tmp_path / "go"
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
    assert line.submit(jobs.killed_once, (str(tmp_path / "mark"),)).answer.result(PATIENCE) == "the second time"
    with pytest.raises(Died):
        line.submit(os._exit, (1,)).answer.result(PATIENCE)
    assert line.submit(abs, (-1,)).answer.result(PATIENCE) == 1


@linux
def test_a_call_is_answered_though_all_processes_are_killed_at_once(fresh):
    """First the one of which they are forked: the next worker may be of it, and end with it."""
    line = fresh()
    line.begin()
    for _ in range(3):
        line.submit(abs, (-1,)).answer.result(PATIENCE)
        calls = [line.submit(jobs.busy, (0.3,), urgent=True) for _ in range(2)]
        forks = psutil.Process(processes.fork_server._process.pid)
        for each in (forks, *forks.children()):
            each.kill()
        assert [call.answer.result(PATIENCE) for call in calls] == [None, None]
    assert line.deaths >= 3


def test_processes_that_are_killed_while_idle_cost_no_call_anything(fresh):
    line = fresh()
    line.begin()
    for process in line._idle:
        os.kill(process.submit(os.getpid).result(PATIENCE), signal.SIGKILL)
        soon(lambda process=process: not process.alive)
    assert line.submit(abs, (-1,)).answer.result(PATIENCE) == 1
