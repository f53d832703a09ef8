"""The guide's code runs as it stands, learns, and reports a finite epsilon."""

import copy
import re
from pathlib import Path

import pytest
import torch
from torch.nn.functional import cross_entropy

from tests.mechanism.problems import FREE, classes, network
from tests.mechanism.problems import cross_entropy as cross_entropy_each
from zoexplore import Setting
from zoexplore.mechanism import Declared, NoisyZOGD, Sources, stiefel

GUIDE = (Path(__file__).parents[2] / "docs" / "mechanism.md").read_text()
BLOCKS = re.findall(r"```python\n(.*?)```", GUIDE, re.S)
TEN_LINES, EXAMPLE, TOGETHER, DECLARATION, SEVERAL = BLOCKS


def test_ten_lines_meet_their_target(capsys):
    names: dict = {}
    torch.manual_seed(0)
    exec(TEN_LINES, names)
    assert (names["model"](names["tokens"]).argmax(1) == names["labels"]).double().mean() > 0.8
    assert 2.9 < names["optimiser"].privacy_report().epsilon <= 3.0
    said = capsys.readouterr().out
    assert (
        "ε ≤ 3 at δ = 1e-05 for T = 400 steps on 64 of n = 4000: 40 find the scale, 360 train"
        in said
    )
    assert "step 400 of 400" in said and "Nothing to tune." in said
    fresh = names["Classifier"]().double()
    dpzero_steps_are_the_optimisers(fresh, (names["tokens"], names["labels"]))


@torch.no_grad()
def dpzero_step(model, inputs, targets, z, *, lr, clip, distance):
    """A step without noise; z: a direction as long as the square root of their number, in the
    shapes of the parameters.
    """
    losses = []
    for move in (distance, -2 * distance):
        for p, u in zip(model.parameters(), z, strict=True):
            p += move * u
        losses.append(cross_entropy(model(inputs), targets, reduction="none"))
    mean = ((losses[0] - losses[1]) / (2 * distance)).clamp(-clip, clip).mean()
    for p, u in zip(model.parameters(), z, strict=True):
        p += (distance - lr * mean) * u


def dpzero_steps_are_the_optimisers(model, data):
    """On one batch along one direction, but for the noise, with a clip that acts on some records
    and not on others.

    In double precision: differences of losses that are rounded to single precision differ by what
    may be much of a small move.
    """
    d = sum(p.numel() for p in model.parameters())
    run = Setting(
        n=4000,
        d=d,
        K=1,
        T=100,
        sigma=1e-12,
        beta=1.0,
        batch=64,
        clip=1 / d**0.5,
        eta=1e-3 * d,
        xi=1e-3 * d**0.5,
    )
    twin, sources = copy.deepcopy(model), Sources(1, 2)
    made = NoisyZOGD(
        model,
        lambda o, y: cross_entropy(o, y, reduction="none"),
        run,
        sources=sources,
        directions="dense",
    )
    u = stiefel(run.d, 1, Sources(1, 2).directions, dtype=torch.float64)[:, 0] * run.d**0.5
    z = [
        x.view_as(p)
        for x, p in zip(
            u.split([p.numel() for p in twin.parameters()]), twin.parameters(), strict=True
        )
    ]
    batch, before = made.batch(data), made.w
    made.step(batch)
    dpzero_step(twin, *batch.data, z, lr=1e-3, clip=1, distance=1e-3)
    moved = made.w - before
    theirs = torch.cat([p.detach().reshape(-1) for p in twin.parameters()]) - before
    assert 0 < made.counts.clipped < 64
    assert (moved - theirs).norm() < 1e-6 * moved.norm()


def test_the_example_learns_and_reports(capsys):
    names: dict = {}
    exec(EXAMPLE, names)
    accuracy = (names["model"](names["X"]).argmax(1) == names["y"]).double().mean()
    report = names["optimiser"].privacy_report()
    assert accuracy > 0.97
    assert (
        report.guarantees["composition"].epsilon == report.epsilon == pytest.approx(1.04, abs=0.005)
    )
    assert "ChaCha20" in capsys.readouterr().out
    exec(TOGETHER, names)
    assert float(capsys.readouterr().out) == pytest.approx(report.epsilon)


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


def test_a_process_of_a_run_of_one_makes_its_steps(monkeypatch):
    """What two of them make is tried in `test_parallel.py`."""
    for name, value in {
        "RANK": "0",
        "WORLD_SIZE": "1",
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": "0",
    }.items():
        monkeypatch.setenv(name, value)
    names = {
        "NoisyZOGD": NoisyZOGD,
        "Sources": Sources,
        "model": network(),
        "loss": cross_entropy_each,
        "setting": FREE.replace(d=51),
    }
    try:
        exec(SEVERAL, names)
        optimiser = names["optimiser"]
        optimiser.step(optimiser.batch(classes()))
        assert optimiser.privacy_report().epsilon < 10
    finally:
        names["distributed"].destroy_process_group()
