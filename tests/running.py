"""A server that a test needs, for as long as it needs it."""

import os
import re
import subprocess
import time
import urllib.request
from contextlib import contextmanager
from pathlib import Path

import pytest

from zoexplore.compute.limits import WORKERS

ROOT = Path(__file__).parents[1]
# PYTHONPATH of a process that finds this package and starts sooner
LEAN = f"{ROOT}{os.pathsep}{ROOT / 'tests' / 'lean'}"
START = 600  # seconds that a server may take to answer


@contextmanager
def running(command, log, **options):
    """The process of a command, which writes to the end of a log; ended with the block, by force if
    it will not end. A server begins two workers, each of which takes a second of processor.
    """
    options["env"] = {WORKERS.variable: "2"} | dict(options.get("env", os.environ))
    with log.open("a") as out:
        process = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT, **options)
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def wait_until_served(url, process, log, seconds=START):
    """Wait until a process answers at an address; the test fails, with the end of the log, where it
    never does.
    """
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and process.poll() is None:
        try:
            with urllib.request.urlopen(url, timeout=seconds):
                return
        except OSError:
            time.sleep(0.2)
    pytest.fail(f"{url} was not served within {seconds} s:\n{log.read_text()[-3000:]}")


def page_of(process, log, seconds=START):
    """The address that `zoexplore serve` tells, and what it serves there."""
    deadline, said = time.monotonic() + seconds, None
    while not said and process.poll() is None and time.monotonic() < deadline:
        said = re.search(r"http://127\.0\.0\.1:\d+/app", log.read_text())
        time.sleep(0.2)
    assert said, log.read_text()
    with urllib.request.urlopen(said[0], timeout=seconds) as page:
        return said[0], page.read().decode()
