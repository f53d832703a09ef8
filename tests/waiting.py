"""Waiting for what other processes do, however busy the machine is."""

import asyncio
import os
import time

PATIENCE = 240  # seconds, on a machine that is busy with other things


def soon(condition):
    """Wait until something is so."""
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, "it never came"
        time.sleep(0.01)


async def until(condition):
    await asyncio.to_thread(soon, condition)


def gone(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
