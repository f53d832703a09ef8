"""Operations that are lent moved parameters compute what they would if all were moved, and nothing
is ever written to the parameters.
"""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from tests.mechanism.problems import ReadElsewhere, classes, cross_entropy, network, over, run
from zoexplore.mechanism import NoisyZOGD, Sources
from zoexplore.mechanism.directions import Dense, Streamed
from zoexplore.mechanism.parameters import Parameters
from zoexplore.mechanism.perturbation import InPlace, Lent

DOUBLE = {"dtype": torch.float64}


class Tied(nn.Module):
    """One matrix for tokens and for what they are scored by, a layer called twice, one within
    another that holds it too.
    """

    def __init__(self):
        super().__init__()
        self.embed, self.score = nn.Embedding(9, 4, **DOUBLE), nn.Linear(4, 9, bias=False, **DOUBLE)
        self.score.weight = self.embed.weight
        self.turn = nn.Sequential(nn.Linear(4, 4, **DOUBLE), nn.Tanh())
        self.again = self.turn[0]

    def forward(self, tokens):
        return self.score(self.again(self.turn(self.turn(self.embed(tokens))))).mean(1)


class Attends(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.TransformerEncoderLayer(6, 2, 8, dropout=0.0, batch_first=True, **DOUBLE)
        self.lstm, self.attention = (
            nn.LSTM(6, 5, batch_first=True, **DOUBLE),
            nn.MultiheadAttention(5, 1, batch_first=True, **DOUBLE),
        )

    def forward(self, X):
        X, _ = self.lstm(self.layer(X))
        return self.attention(X, X, X)[0].mean(1)


def cases():
    draw = torch.Generator().manual_seed(2)
    X = torch.randn(5, 3, 6, generator=draw, **DOUBLE)
    image = nn.Sequential(nn.Conv2d(1, 2, 2), nn.GroupNorm(1, 2), nn.Flatten()).double()
    return {
        "network": (network(), X[:, 0]),
        "tied": (Tied(), torch.randint(9, (5, 4), generator=draw)),
        "attention": (Attends().eval(), X),
        "attention in training": (Attends().train(), X),
        "an image": (image, X[:, None]),
    }


@torch.no_grad()
@pytest.mark.parametrize("name", cases())
@pytest.mark.parametrize("make", [Dense, Streamed])
@pytest.mark.parametrize("kind", [torch.float64, torch.bfloat16])
def test_losses_are_those_at_the_moved_parameters_which_nothing_moved(name, make, kind):
    module, X = cases()[name]
    module, X = module.to(kind), X.to(kind) if X.is_floating_point() else X
    p = Parameters(list(module.parameters()), block=7)
    frame, pointers = make(p, 2, Sources(1, 2).directions), [t.data_ptr() for t in p.tensors]
    before, views = [t.clone() for t in p.tensors], [t.detach() for t in p.tensors]
    points = [(0, 0.3), (0, -0.3), (1, 0.1)]
    with Lent(p, frame) as lent:
        found = []
        for k, xi in points:
            lent.to(k, xi)
            found.append(module(X))
            assert all(map(torch.equal, views, before))
        lent.back()
        found.append(module(X))
    assert [t.data_ptr() for t in p.tensors] == pointers and all(
        map(torch.equal, p.tensors, before)
    )
    perturbed, copied = InPlace(p, frame), []
    for k, xi in points:
        perturbed.back()
        perturbed.to(k, xi)
        copied.append(module(X))
    perturbed.back()
    for ours, theirs in zip(found, [*copied, module(X)], strict=True):
        assert (
            torch.equal(ours, theirs)
            if make is Streamed
            else torch.allclose(ours, theirs, rtol=4 * torch.finfo(kind).eps)
        )


@pytest.mark.parametrize("kind", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("keep_copy", [None, False])
def test_half_precision_needs_no_copy(kind, keep_copy, monkeypatch):
    monkeypatch.setattr("zoexplore.mechanism.optimiser.MIDDLING", 10)
    X, y = classes()
    made = over(network().to(kind), xi=0.3, keep_copy=keep_copy)
    copied = over(network().to(kind), xi=0.3, keep_copy=True)
    assert (made._steps.moved, copied._steps.moved) == (Lent, InPlace)
    for optimiser in (made, copied):
        run(optimiser, 8, (X.to(kind), y))
    near = 6 * torch.finfo(kind).eps  # mirrored points are rounded once more, and updates by chance
    assert (made.w - copied.w).abs().max() <= near * made.w.abs().max()


def test_steps_are_those_of_parameters_that_are_moved():
    made, moved = (over(network(), keep_copy=copy, directions="streamed") for copy in (False, True))
    for optimiser in (made, moved):
        run(optimiser, 8, classes())
    assert torch.allclose(made.w, moved.w, rtol=1e-9, atol=1e-12) and not torch.equal(
        made.w, over(network()).w
    )


@pytest.mark.parametrize("kind", [torch.float64, torch.bfloat16])
def test_a_module_that_reads_a_layer_s_parameters_without_calling_it(kind):
    X, y = classes()
    made, copied = (
        over(ReadElsewhere().to(kind), xi=0.3, keep_copy=copy) for copy in (False, True)
    )
    for optimiser in (made, copied):
        run(optimiser, 8, (X.to(kind), y))
    near = 1e-9 if kind == torch.float64 else 6 * torch.finfo(kind).eps
    assert (made.w - copied.w).abs().max() <= near * made.w.abs().max()


def test_a_vector_needs_no_copy_either():
    """What a loss reads of it is moved, before and after any view."""

    def loss(w, batch):
        X, y = batch
        return F.cross_entropy(X @ w[:18].view(6, 3) + w[18:].sum(), y, reduction="none")

    start = torch.linspace(-1, 1, 20, dtype=torch.float64)
    setting = over(network()).setting.replace(d=20, K=1)
    made, copied = (
        NoisyZOGD(start, loss, setting, sources=Sources(1, 2), keep_copy=copy)
        for copy in (False, True)
    )
    for optimiser in (made, copied):
        run(optimiser, 8, classes())
    assert torch.allclose(made.w, copied.w, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
@pytest.mark.parametrize("call", range(1, 9))
def test_whatever_stops_a_layer_leaves_the_parameters_exactly_as_they_were(error, call):
    class Stops(nn.Linear):
        calls, at = 0, 0

        def forward(self, X):
            self.calls += 1
            if self.calls == self.at:
                raise error
            return super().forward(X)

    module = nn.Sequential(nn.Linear(6, 4), nn.Tanh(), Stops(4, 3)).double()
    made = over(module, keep_copy=False)
    run(made, 2, classes())
    before = made.w
    module[2].calls, module[2].at = 0, call
    stopped = False
    try:
        run(made, 1, classes())
    except error:
        stopped = True
    assert stopped == (call <= 6)  # two points along each of three directions
    if stopped:
        assert torch.equal(made.w, before) and made.steps == 2
        run(made, 1, classes())


class Int8(nn.Module):
    """A frozen matrix of whole numbers, as quantised backbones hold it, and a trained adapter
    beside it.
    """

    def __init__(self, inner, outer):
        super().__init__()
        weight = torch.randn(outer, inner)
        self.scale = nn.Parameter(weight.abs().amax() / 127, requires_grad=False)
        self.weight = nn.Parameter(
            (weight / self.scale).round().to(torch.int8), requires_grad=False
        )
        self.down, self.up = nn.Linear(inner, 2, bias=False), nn.Linear(2, outer, bias=False)

    def forward(self, X):
        return F.linear(X, self.weight * self.scale) + self.up(self.down(X))


def test_adapters_of_a_frozen_backbone_of_whole_numbers_are_trained():
    torch.manual_seed(0)
    module = nn.Sequential(Int8(6, 8), nn.Tanh(), Int8(8, 3))
    frozen = [p.clone() for p in module.parameters() if not p.requires_grad]
    X, y = classes()
    d = sum(p.numel() for p in module.parameters() if p.requires_grad)
    setting = over(network()).setting.replace(d=d, xi=0.03)
    made = NoisyZOGD(module, cross_entropy, setting, sources=Sources(1, 2), keep_copy=False)
    before = made.w
    run(made, 8, (X.float(), y))
    assert d == 50 and not torch.equal(made.w, before)
    assert all(map(torch.equal, frozen, (p for p in module.parameters() if not p.requires_grad)))
