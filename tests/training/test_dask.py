"""A sweep on a real Dask cluster; for `make proof`, in processes of its own, one of which is killed under way."""

import os
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import pytest

from zoexplore.training import frontier, sweep

pytestmark = pytest.mark.skipif(find_spec("distributed") is None, reason="Dask is not installed")
ROOT = Path(__file__).parents[2]
ASKED = {"task": "breast-cancer", "methods": ("noisy-zogd", "dpzero", "non-private"), "T": 600, "seeds": 4}


def started(module, *arguments):
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "distributed.cli." + module, *arguments]
    return subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


@contextmanager
def cluster(workers, folder):
    """The scheduler's address and the worker processes."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    address = f"tcp://127.0.0.1:{port}"
    scheduler = started("dask_scheduler", "--host", "127.0.0.1", "--port", str(port), "--no-dashboard")
    options = ("--nthreads", "1", "--no-nanny", "--no-dashboard", "--host", "127.0.0.1", "--local-directory", str(folder))
    processes = [started("dask_worker", address, *options) for _ in range(workers)]
    try:
        wait_for(port, workers)
        yield address, processes
    finally:
        for process in (*processes, scheduler):
            process.kill()
            process.wait()


def wait_for(port, workers):
    from distributed import Client

    for _ in range(120):
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=1):
                break
        except OSError:
            time.sleep(0.5)
    with Client(f"tcp://127.0.0.1:{port}", timeout=60, set_as_default=False) as client:
        client.wait_for_workers(workers, timeout=120)


def test_a_cluster_finds_the_same_numbers(monkeypatch, tmp_path):
    """Its workers are threads of this process, which begin at once."""
    from distributed import LocalCluster

    asked = ASKED | {"T": 20, "seeds": 2}
    threads = {"n_workers": 2, "threads_per_worker": 1, "processes": False, "protocol": "tcp", "dashboard_address": None}
    with LocalCluster(**threads, local_directory=tmp_path) as cluster:
        expected = frontier(**asked)
        assert frontier(dask=cluster.scheduler_address, **asked) == expected
        monkeypatch.setenv("ZOEXPLORE_DASK", cluster.scheduler_address)  # without an argument, by the environment
        monkeypatch.setattr("zoexplore.training.executors.Here", None)
        assert frontier(**asked) == expected


@pytest.mark.proof  # its processes load PyTorch, each for itself; that lost parts count once is tested with every sweep
def test_a_worker_that_is_killed_loses_nothing_and_nothing_counts_twice(tmp_path):
    expected = frontier(**ASKED)
    with cluster(2, tmp_path) as (address, workers):
        done = []
        for update in sweep(dask=address, **ASKED):
            done.append(update.done)
            if len(done) > 3 and workers[0].poll() is None and update.done < update.total / 2:
                workers[0].kill()
                workers[0].wait()
        assert workers[0].poll() is not None and workers[1].poll() is None
        assert done == sorted(done) and update.finished and done[-1] == 4 * 600
        assert update.frontier == expected


def test_no_scheduler_there_is_said(monkeypatch):
    monkeypatch.setattr("zoexplore.training.executors.PATIENCE", 0.5)
    with pytest.raises(ValueError, match=r"no Dask scheduler answers at 'tcp://127.0.0.1:1'"):
        frontier(dask="tcp://127.0.0.1:1", **ASKED)
    with pytest.raises(ValueError, match="no Dask scheduler answers at 'nonsense://x'"):
        frontier(dask="nonsense://x", **ASKED)
