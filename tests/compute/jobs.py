"""Work for the computing processes in the tests; like all of it, without Panel."""

import ctypes
import os
import random
import signal
import stat
import sys
import time
from contextlib import suppress

import numpy as np

from zoexplore.compute.process import Forked, Process


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


def begun(kinds):
    """Begin a worker of each kind here; their ids and those of their parents."""
    _workers.extend(map(Process, kinds))
    return [worker.submit(call).result() for worker in _workers for call in (os.getpid, os.getppid)]


def hold_the_lock(begun, seconds):
    """Be in compiled code, with the interpreter's lock, once the file is there: no thread of this process goes on meanwhile."""
    tell_file(begun)
    ctypes.PyDLL(None).sleep(seconds)


def holding_the_lock(begun):
    """Begin a forked worker that does so."""
    _workers.append(Process(Forked))
    _workers[-1].submit(hold_the_lock, (begun, 600))
    while not os.path.exists(begun):
        time.sleep(0.01)


_put = []


def put(number):
    """Keep a number here, and return the one kept before."""
    _put.append(number)
    return _put[-2] if len(_put) > 1 else None


def connections():
    """How many sockets this process has, but for its standard streams."""
    found = set()
    for file in range(3, 100):
        with suppress(OSError):
            status = os.fstat(file)
            found |= {status.st_ino} if stat.S_ISSOCK(status.st_mode) else set()
    return len(found)


def drawn():
    """Of Python's generator, which whatever runs in a process shares."""
    return random.random()


def numpy_drawn():
    """Of NumPy's."""
    return np.random.random()  # noqa: NPY002


def fail(words):
    yield 1
    raise ValueError(words)


def kill_itself():
    yield 1
    os.kill(os.getpid(), signal.SIGKILL)


def killed_once(mark):
    """End the process the first time; the second time there is the file."""
    if os.path.exists(mark):
        return "the second time"
    open(mark, "w").close()
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
