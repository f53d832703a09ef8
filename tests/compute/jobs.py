"""Work for the computing processes in the tests; like all of it, without Panel."""

import os
import signal
import sys
import time

from zoexplore.compute.process import Process


def modules():
    return set(sys.modules)


def count(items):
    yield from range(items)


def busy(seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        pass


def tell_pid_and_be_busy(seconds):
    yield os.getpid()
    busy(seconds)


def tell_file(path):
    with open(f"{path}~", "w") as file:
        file.write(str(os.getpid()))
    os.rename(f"{path}~", path)


def tell_file_and_be_busy(path, seconds):
    tell_file(path)
    busy(seconds)


_workers = []


def begun():
    """Begin a worker here; its id and this process's."""
    _workers.append(Process())
    return [os.getpid(), _workers[-1].compute(os.getpid)]


def priorities():
    """Of this process and of one that it begins."""
    _workers.append(Process())
    return [os.nice(0), _workers[-1].compute(os.nice, (0,))]


def fail(words):
    yield 1
    raise ValueError(words)


def kill_itself():
    yield 1
    os.kill(os.getpid(), signal.SIGKILL)


def after(path, name):
    """Wait for a file, and tell which call this is by adding its name to another one."""
    while not os.path.exists(path):
        time.sleep(0.01)
    with open(f"{path}-order", "a") as order:
        order.write(name)


def after_a_while(path, name, seconds):
    """The same, and be busy then."""
    after(path, name)
    busy(seconds)


def endless_answer(*_):
    """In place of a planner's answer; the processor is left to others meanwhile."""
    time.sleep(600)
