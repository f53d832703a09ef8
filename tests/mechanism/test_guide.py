"""The guide's code runs as it stands, learns, and reports a finite epsilon."""

import re
from pathlib import Path

import pytest
import torch

from zoexplore.mechanism import Declared

GUIDE = (Path(__file__).parents[2] / "docs" / "mechanism.md").read_text()
TEN_LINES, EXAMPLE, DECLARATION = re.findall(r"```python\n(.*?)```", GUIDE, re.S)


def test_ten_lines_meet_their_target(capsys):
    names: dict = {}
    exec(TEN_LINES, names)
    assert 2.9 < names["optimiser"].privacy_report().epsilon <= 3.0
    said = capsys.readouterr().out
    assert "gives ε = 3 at δ = 1e-05 after 20 steps on batches of 64 of n = 4000" in said and "step 20 of 20" in said


def test_the_example_learns_and_reports(capsys):
    names: dict = {}
    exec(EXAMPLE, names)
    accuracy = (names["model"](names["X"]).argmax(1) == names["y"]).double().mean()
    report = names["optimiser"].privacy_report()
    assert accuracy > 0.97
    assert report.guarantees["composition"].epsilon == report.epsilon == pytest.approx(1.04, abs=0.005)
    assert "ChaCha20" in capsys.readouterr().out


def test_the_declaration_is_true():
    """The extreme curvatures and slopes of logistic losses on rows of length 1, plus the ridge."""
    names: dict = {}
    exec(DECLARATION, names)
    declared = Declared("strongly-convex", M=0.75, m=0.5, lipschitz=1.0)
    assert repr(declared) in repr(eval(DECLARATION.splitlines()[-1].split("  ")[0], names))
    margins = torch.linspace(-40, 40, 10_001, dtype=torch.float64)
    slope = torch.sigmoid(-margins)
    assert slope.max() <= declared.lipschitz
    assert float((slope * (1 - slope)).max()) + 0.5 == pytest.approx(declared.M, rel=1e-6)
    assert float((slope * (1 - slope)).min()) + 0.5 >= declared.m
