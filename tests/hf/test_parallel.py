"""Processes that torchrun starts fine-tune as one would, bit by bit."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

from tests.hf.ranks import USUAL, outcome
from tests.hf.tiny import roberta, trainer

ROOT = Path(__file__).parents[2]


def test_two_processes_fine_tune_as_one_does_and_resume_together(tmp_path):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    usual = os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
    each = [usual | {"RANK": str(r), "LOCAL_RANK": str(r), "WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "2"} for r in range(2)]
    command = [sys.executable, "-m", "tests.hf.ranks", str(tmp_path / "two")]
    started = [subprocess.Popen(command, env=e, cwd=ROOT, stdout=subprocess.PIPE, text=True) for e in each]
    lines = [line for process in started for line in process.communicate(timeout=300)[0].splitlines()]
    found = dict(json.loads(line) for line in lines if line.startswith(("[0,", "[1,")))
    alone = trainer(tmp_path / "one", roberta(), per_device_train_batch_size=8, **USUAL)
    alone.train()
    bits, report, losses = outcome(alone)
    for whole, resumed in found.values():
        assert whole[:2] == [bits, report] and resumed[0] == bits
        assert all(abs(ours - theirs) < 1e-6 for ours, theirs in zip(whole[2], losses, strict=True))
    assert sorted(found) == [0, 1]
    told = [json.loads((tmp_path / how / "checkpoint-4" / "model.privacy.json").read_text()) for how in ("one", "two")]
    assert all(told[0][name] == told[1][name] for name in ("epsilon", "steps", "stages", "n", "T"))
