"""Several processes make the steps that one would, bit by bit, and send each other some numbers a direction."""

import json
import os
import socket
import subprocess
import sys
from functools import cache
from math import inf
from pathlib import Path

import pytest
import torch

from tests.mechanism import ranks

ROOT = Path(__file__).parents[2]


@cache
def together(count, *names, launcher=""):
    """What every process said, by scenario and then by rank."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    usual = os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
    script = ["-m", "tests.mechanism.ranks", *names]
    if launcher:
        command = [sys.executable, "-m", launcher, "--nproc-per-node", str(count), "--master-port", port, *script]
        commands = [(command, usual)]
    else:
        each = [usual | {"RANK": str(rank), "WORLD_SIZE": str(count)} for rank in range(count)]
        commands = [([sys.executable, *script], environment) for environment in each]
    started = [subprocess.Popen(command, env=e, cwd=ROOT, stdout=subprocess.PIPE, text=True) for command, e in commands]
    lines = [line for process in started for line in process.communicate(timeout=300)[0].splitlines()]
    said = [json.loads(line) for line in lines if line.startswith("[")]
    return {name: {rank: found for rank, of, found in said if of == name} for name in names}


def two():
    return together(2, "same", "secure", "sent", "failing", "other", "drifting")


def alone(kind=torch.float32):
    return ranks.outcome(ranks.train(ranks.made(kind=kind)))


def test_two_processes_make_the_steps_of_one_bit_for_bit_and_report_the_same():
    expected = [alone(kind) for kind in (torch.float32, torch.bfloat16)]
    found = two()["same"]
    assert found[0] == found[1] == expected


def test_secure_noise_is_the_first_s_alone_and_another_each_time():
    found = two()["secure"]
    assert found[0] == found[1] and found[0][0] != found[0][1]


def test_what_is_sent_depends_on_the_directions_and_not_on_the_dimension():
    found = two()["sent"]
    assert found[0] == found[1]
    small, large, more = found[0].values()
    agreed, counts, sums, key, checksum = 2, 5, 2 * 3, 4, 1
    assert small == large == agreed + counts + sums + 3 + key + checksum
    assert more == small + 3 * 2


def test_one_that_fails_is_told_to_all_and_they_go_on_together():
    found = two()["failing"]
    assert found[1][0] == "MemoryError: no memory here"
    assert found[0][0].startswith("RuntimeError: process 1 of this run failed, and no step was made in any")
    for said in found.values():
        assert said[1] == 2 and said[2] == alone()[0]


def test_one_that_drifts_is_named_and_nothing_is_reported():
    for said, epsilon in two()["drifting"].values():
        assert "process 1 of this run has drifted from process 0, in its parameters after a step" in said and epsilon == inf


def test_one_with_other_arguments_is_refused():
    assert all("process 1 of this run has drifted from process 0, in its arguments" in said for said in two()["other"].values())


def test_one_that_ends_is_missed():
    ((said, steps),) = together(2, "ending")["ending"].values()
    assert said.startswith("another process of this run has ended, or does not answer: start all of them again") and steps == 2


@pytest.mark.proof
@pytest.mark.parametrize("count", [2, 4])
def test_so_do_those_that_torchrun_starts(count):
    expected = [alone(kind) for kind in (torch.float32, torch.bfloat16)]
    found = together(count, "same", launcher="torch.distributed.run")["same"]
    assert len(found) == count and all(said == expected for said in found.values())
