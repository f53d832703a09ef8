"""Work for the computing processes in the tests; like all of it, without Panel."""

import os
import signal
import sys
import time

from zoexplore.views import answers, atlas, draws

NEEDED = (answers.solved, answers.recommended, atlas.row, draws.histograms)  # all that the page has computed elsewhere


def modules():
    return set(sys.modules)


def count(items, pause):
    for item in range(items):
        time.sleep(pause)
        yield item


def busy(seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        pass


def tell_pid_and_be_busy(seconds):
    yield os.getpid()
    busy(seconds)


def fail(words):
    yield 1
    raise ValueError(words)


def kill_itself():
    yield 1
    os.kill(os.getpid(), signal.SIGKILL)


def endless(mark):
    """Compute until interrupted; a file of this name says that it has begun."""
    open(mark, "w").close()
    busy(600)


def slow_once(mark):
    """Endless the first time; the second time there is the file."""
    if os.path.exists(mark):
        return "the second time"
    endless(mark)


def mark(path):
    open(path, "w").close()


def endless_answer(*_):
    """In place of a planner's answer."""
    busy(600)
