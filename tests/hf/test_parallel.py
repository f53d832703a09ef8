"""Processes that fine-tune together do it as one would, bit by bit."""

import json

import pytest

from tests import processes
from tests.hf.ranks import USUAL, outcome
from tests.hf.tiny import roberta, trainer


@pytest.mark.proof  # the same two processes without a trainer: tests/mechanism/test_parallel.py
def test_two_processes_fine_tune_as_one_does_and_resume_together(tmp_path):
    found = processes.together("tests.hf.ranks", 2, tmp_path / "two")
    alone = trainer(tmp_path / "one", roberta(), per_device_train_batch_size=8, **USUAL)
    alone.train()
    bits, report, losses = outcome(alone)
    for whole, resumed in found.values():
        assert whole[:2] == [bits, report] and resumed[0] == bits
        assert all(abs(ours - theirs) < 1e-6 for ours, theirs in zip(whole[2], losses, strict=True))
    assert sorted(found) == [0, 1]
    said = [
        json.loads((tmp_path / how / "checkpoint-4" / "model.privacy.json").read_text())
        for how in ("one", "two")
    ]
    assert all(said[0][name] == said[1][name] for name in ("epsilon", "steps", "stages", "n", "T"))
