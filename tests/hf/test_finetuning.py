"""The guide's code runs as it stands: twelve lines from a model to a report, a score in place of a
loss, and an adapter.
"""

import re
from pathlib import Path

import torch

GUIDE = (Path(__file__).parents[2] / "docs" / "finetuning.md").read_text()
TWELVE_LINES, SCORE, ADAPTER = re.findall(r"```python\n(.*?)```", GUIDE, re.S)


def test_twelve_lines_meet_their_target_and_learn(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ACCELERATE_USE_CPU", "true")
    names: dict = {}
    torch.manual_seed(0)
    exec(TWELVE_LINES, names)
    assert (
        names["model"](names["tokens"]).logits.argmax(1) == names["labels"]
    ).double().mean() > 0.7
    assert 2.9 < names["trainer"].privacy_report().epsilon <= 3.0
    said = capsys.readouterr().out
    assert (
        "60 of 60 steps; released" in said
        and "Run: K = 16, T = 60, n = 2000, d = 12386, b = 100" in said
    )
    assert "ChaCha20" in said
    assert len(re.sub(r"(?m)^(import|from) .*$|\n\n", "", TWELVE_LINES).strip().splitlines()) <= 12

    def right():
        exec(SCORE, names)
        return (
            (names["scored"](names["tokens"]).logits.argmax(1) == names["labels"]).double().mean()
        )

    # its noise is secret: one run in a hundred learns nothing
    assert any(right() > 0.6 for _ in range(3))
    exec(ADAPTER, names)
    report = names["trainer"].privacy_report()
    assert 2.8 < report.epsilon <= 3.0 and report.record.setting.d == 2 * 2 * 4 * 16
