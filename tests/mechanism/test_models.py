"""Models as people have them train end to end, and the optimiser is one of torch's in what
schedulers, hooks and loaders need.
"""

import warnings
from collections import UserDict
from math import inf

import pytest
import torch
from torch import nn
from torch.utils.data import TensorDataset

from tests.convention import Accounting, Setting, epsilon
from tests.mechanism.problems import (
    SETTING,
    classes,
    cross_entropy,
    data,
    logistic,
    network,
    optimiser,
    run,
)
from zoexplore.mechanism import NoisyZOGD, PrivateSampler, Sources
from zoexplore.questions.export import from_yaml, to_yaml

N = 32


class Transformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(20, 8)
        self.encoder = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True)
        self.last = nn.Linear(8, 2)

    def forward(self, input_ids, attention_mask=None):
        hidden = self.encoder(
            self.embed(input_ids),
            src_key_padding_mask=None if attention_mask is None else attention_mask == 0,
        )
        return self.last(hidden.mean(1))


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.rnn, self.last = (
            nn.Embedding(20, 8),
            nn.LSTM(8, 8, batch_first=True),
            nn.Linear(8, 2),
        )

    def forward(self, tokens):
        return self.last(self.rnn(self.embed(tokens))[0][:, -1])


class Convolutional(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(1, 4, 3), nn.GroupNorm(2, 4), nn.ReLU(), nn.Flatten(), nn.Linear(4 * 4 * 4, 2)
        )

    def forward(self, images):
        return self.net(images)


class LowRank(nn.Module):
    """A frozen layer and an adapter beside it; its output is tied to its embedding."""

    def __init__(self):
        super().__init__()
        self.base = Transformer().requires_grad_(False)
        self.down, self.up = nn.Linear(8, 2, bias=False), nn.Linear(2, 2, bias=False)
        nn.init.zeros_(self.up.weight)
        self.again = self.down

    def forward(self, tokens):
        return self.base(tokens) + self.up(self.again(self.base.embed(tokens).mean(1)))


def tokens():
    generator = torch.Generator().manual_seed(0)
    y = torch.arange(N) % 2
    return torch.randint(10, (N, 6), generator=generator) + 10 * y[:, None], y


def images():
    y = torch.arange(N) % 2
    return torch.randn(N, 1, 6, 6, generator=torch.Generator().manual_seed(0)) + y[
        :, None, None, None
    ], y


def made(module, *, K=12, T=16, lr=1.0, xi=0.05, sigma=1e-4, **options):
    d = sum(p.numel() for p in module.parameters() if p.requires_grad)
    setting = Setting(
        n=N,
        d=d,
        K=min(K, d // 2),
        T=T,
        sigma=sigma,
        beta=0.5,
        clip=5.0,
        eta=lr * min(K, d // 2),
        xi=xi,
        clipping="joint",
    )
    return NoisyZOGD(module, cross_entropy, setting, sources=Sources(1, 2), **options)


MODELS = {
    "transformer": (Transformer, tokens, 5.0, "streamed"),
    "LSTM": (Recurrent, tokens, 10.0, "streamed"),
    "CNN": (Convolutional, images, 1.0, "dense"),
    "LoRA": (LowRank, tokens, 2.0, "dense"),
}


@pytest.mark.parametrize("make, batch, lr, directions", MODELS.values(), ids=MODELS)
def test_models_train_end_to_end(make, batch, lr, directions):
    torch.manual_seed(0)
    module = make()
    frozen = [p.clone() for p in module.parameters() if not p.requires_grad]
    optimiser, found = made(module, lr=lr, directions=directions), []
    for part in optimiser.batches(batch()):
        found.append(optimiser.step(part))
    assert found[-1] < 0.97 * found[0]
    assert optimiser.privacy_report().guarantees["composition"].epsilon < inf
    assert all(
        torch.equal(a, b)
        for a, b in zip(
            frozen, (p for p in module.parameters() if not p.requires_grad), strict=True
        )
    )


@pytest.mark.parametrize("mode", ["train", "eval"])
def test_attention_has_derivatives_too(mode):
    torch.manual_seed(0)
    module = getattr(Transformer(), mode)()
    optimiser, found = made(module, xi=0.0, T=3, K=2), []
    for part in optimiser.batches(tokens()):
        found.append(optimiser.step(part))
    exact = cross_entropy(module(tokens()[0]), tokens()[1]).mean()
    assert abs(found[-1] - float(exact.detach())) < 0.1
    assert torch.backends.mha.get_fastpath_enabled()


class Tokenised(UserDict):
    """As a tokeniser returns it."""


def test_dict_batches_go_to_a_loss_of_the_model():
    torch.manual_seed(0)
    ids, labels = tokens()
    batch, module = Tokenised(input_ids=ids, labels=labels), Transformer()

    def loss(model, batch):
        return cross_entropy(model(batch["input_ids"]), batch["labels"])

    setting = made(module).setting
    torch.manual_seed(0)
    one = NoisyZOGD(module, loss, setting, sources=Sources(1, 2), loss_of="model")
    before = one.w
    one.step(one.batch(batch))
    assert not torch.equal(one.w, before)
    with pytest.raises(ValueError, match="the entries 'input_ids' is not allowed: give"):
        made(Transformer()).step(made(Transformer()).batch({"input_ids": ids}))


def test_a_loss_may_do_with_the_model_what_it_likes():
    def loss(model, batch):
        ids, labels = batch
        return cross_entropy(model(ids), labels) + 0.1 * model(ids.flip(1)).square().sum(1)

    torch.manual_seed(0)
    module = Transformer()
    d = sum(p.numel() for p in module.parameters())
    setting = Setting(n=N, d=d, K=2, T=3, sigma=1e-4, beta=0.5, eta=2.0, xi=0.05)
    optimiser = NoisyZOGD(module, loss, setting, sources=Sources(1, 2), loss_of="model")
    assert run(optimiser, 3, tokens()).steps == 3


@pytest.mark.proof
def test_a_compiled_module_trains_as_the_plain_one():
    ends = []
    for wrap in (lambda m: m, lambda m: torch.compile(m, backend="eager")):
        torch.manual_seed(0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ends.append(run(made(wrap(Transformer()), T=2, K=2), 2, tokens()).w)
    assert torch.allclose(*ends, atol=1e-6)


@pytest.mark.parametrize("kind", [torch.bfloat16, torch.float16])
def test_half_precision_trains_and_leaves_composition(kind):
    torch.manual_seed(0)
    optimiser, found = made(Recurrent().to(kind), lr=10.0, xi=0.5), []
    for part in optimiser.batches(tokens()):
        found.append(optimiser.step(part))
    assert found[-1] < 0.97 * found[0]
    report = optimiser.privacy_report()
    assert [bound for bound, g in report.guarantees.items() if g.valid] == ["composition"]
    assert "rounded at every step" in report.guarantees["sharp"].reason


class TestCitizenship:
    @pytest.mark.parametrize("workers", [0, 1])
    def test_a_loader_hands_out_what_was_drawn(self, workers):
        setting = SETTING.replace(batch=8)
        straight = run(optimiser(setting), 8)
        loaded = optimiser(setting)
        for batch in PrivateSampler(loaded, TensorDataset(*data())).loader(num_workers=workers):
            loaded.step(batch)
        assert torch.equal(loaded.w, straight.w)
        assert len(PrivateSampler(loaded, TensorDataset(*data()))) == 0

    def test_a_loader_that_is_left_early_goes_on_with_the_same_draws(self):
        setting = SETTING.replace(batch=8)
        straight, loaded = run(optimiser(setting), 8), optimiser(setting)
        for _ in range(4):
            for t, batch in enumerate(PrivateSampler(loaded, TensorDataset(*data())).loader()):
                loaded.step(batch)
                if t == 1:
                    break
        assert torch.equal(loaded.w, straight.w)

    def test_it_is_torchs_optimiser(self):
        made = optimiser()
        seen = []
        assert isinstance(made, torch.optim.Optimizer)
        made.register_step_pre_hook(lambda *_: seen.append("before"))
        made.register_step_post_hook(lambda *_: seen.append("after"))
        made.zero_grad()
        run(made, 1)
        assert seen == ["before", "after"]
        assert [group["lr"] for group in made.param_groups] == [SETTING.eta / SETTING.K]
        with pytest.raises(ValueError, match="another parameter group is not allowed"):
            made.add_param_group({"params": [torch.zeros(2)]})
        made.param_groups[0]["lr"] = float("nan")
        with pytest.raises(ValueError, match="lr = nan is not allowed"):
            run(made, 1)

    def test_step_returns_the_mean_loss(self):
        for xi in (0.0, 1e-4):
            made = optimiser(SETTING.replace(xi=xi))
            expected = float(logistic(torch.zeros(6).double(), data()).mean())
            assert made.step(made.batch(data())) == pytest.approx(expected, rel=1e-6)


class TestForEpsilon:
    @pytest.mark.parametrize("K, batch", [(1, None), (4, None), (4, 8)])
    def test_its_noise_meets_the_target_and_no_less_would(self, K, batch, capsys):
        made = NoisyZOGD.for_epsilon(
            network(),
            cross_entropy,
            n=24,
            epsilon=2.0,
            delta=1e-5,
            T=5,
            K=K,
            lr=0.1,
            clip=0.5,
            xi=0.01,
            batch=batch,
            sources=Sources(1, 2),
        )
        run(made, 5, classes())
        assert 2.0 * (1 - 1e-6) < made.privacy_report().epsilon <= 2.0
        assert (made.setting.clipping, made.setting.d, made.setting.beta) == ("joint", 51, 1.0)
        assert made.param_groups[0]["lr"] == pytest.approx(0.1)
        kept = from_yaml(to_yaml(made.setting, Accounting())).setting
        assert (
            kept == made.setting and epsilon(kept, "composition") == made.privacy_report().epsilon
        )
        said = capsys.readouterr().out
        assert "ε ≤ 2 at δ = 1e-05 for T = 5 steps on" in said and f"K = {K}" in said
        assert (
            "With one record replaced ε ≤ 2, with one added or removed, its place left empty, ε ≤ "
            in said
        )

    def test_its_sources_are_secure_by_default(self):
        made = NoisyZOGD.for_epsilon(
            network(), cross_entropy, n=24, epsilon=2.0, delta=1e-5, T=50, show=lambda _: None
        )
        assert made.sources.is_secure
        with pytest.raises(ValueError, match="lr = 0 is not allowed"):
            NoisyZOGD.for_epsilon(
                network(), cross_entropy, n=24, epsilon=2.0, delta=1e-5, T=5, lr=0
            )
