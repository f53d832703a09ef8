"""A server that a test needs, for as long as it needs it."""

import subprocess
from contextlib import contextmanager


@contextmanager
def running(command, log, **options):
    """The process of a command, which writes to the end of a log; ended with the block, by force if it will not end."""
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
