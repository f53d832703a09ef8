"""Losses through which a record says more than its own clipped quotient are found, at the first
step or when they begin to.
"""

from itertools import combinations

import pytest
import torch
from torch import nn

from tests.mechanism.problems import (
    FREE,
    MIXES,
    SETTING,
    centred,
    classes,
    cross_entropy,
    data,
    logistic,
    network,
    optimiser,
    over,
    run,
)
from zoexplore.mechanism import NoisyZOGD, Sources


class Attention(nn.Module):
    """Every record is a token; by default torch's layers take the batch for the sequence."""

    def __init__(self, mixes):
        super().__init__()
        torch.manual_seed(3)
        self.layer = nn.TransformerEncoderLayer(
            6, 2, 8, dropout=0.0, batch_first=not mixes
        ).double()
        self.last = nn.Linear(6, 3).double()

    def forward(self, X):
        mask = (
            nn.Transformer.generate_square_subsequent_mask(len(X), dtype=X.dtype)
            if not self.layer.self_attn.batch_first
            else None
        )
        hidden = self.layer(X.unsqueeze(1), src_mask=mask)
        return self.last(hidden.squeeze(1))


MIXING = {
    "the sum so far": lambda w, batch: logistic(w, batch).cumsum(0),
    "the sum from here on": lambda w, batch: logistic(w, batch).flip(0).cumsum(0).flip(0),
    "less the first": lambda w, batch: logistic(w, batch) - logistic(w, batch)[0],
    "less the last": lambda w, batch: logistic(w, batch) - logistic(w, batch)[-1],
    "less the one in the middle": lambda w, batch: (
        logistic(w, batch) - logistic(w, batch)[len(batch[1]) // 2]
    ),
    "times how many": lambda w, batch: logistic(w, batch) * len(batch[1]),
    "its neighbour's": lambda w, batch: logistic(w, batch).roll(1),
    "by its place": lambda w, batch: logistic(w, batch) * torch.arange(len(batch[1])),
    "less the mean": lambda w, batch: logistic(w, batch) - logistic(w, batch).mean(),
    "in order": lambda w, batch: logistic(w, batch).sort().values,
}


class TestMixing:
    """Losses through which a record says more than its own clipped quotient."""

    @pytest.mark.parametrize("xi", [0.0, 1e-4])
    @pytest.mark.parametrize("loss", MIXING.values(), ids=MIXING)
    @pytest.mark.parametrize("directions", ["dense", "streamed"])
    def test_it_is_found_at_the_first_step(self, loss, xi, directions):
        made = optimiser(SETTING.replace(xi=xi), loss=loss, directions=directions)
        with pytest.raises(ValueError, match="a loss must depend on its own record alone"):
            run(made, 1)
        assert made.steps == 0
        assert torch.allclose(made.w, torch.zeros(6, dtype=torch.float64), atol=1e-15)

    @pytest.mark.parametrize("pair", list(combinations(range(8), 2)), ids=str)
    def test_any_two_records_that_meet_are_found(self, pair):
        """In whatever order; the other six of the batch are alone already."""
        X, y = data(8)
        group = torch.arange(8.0).index_fill(0, torch.tensor(pair), 9.0)

        def loss(w, batch):
            X, y, group = batch
            together = (group[:, None] == group).double()
            own = logistic(w, (X, y))
            return own - together @ own / together.sum(1)

        with pytest.raises(ValueError, match="a loss must depend on its own record alone"):
            run(optimiser(SETTING.replace(n=8), loss=loss), 1, (X, y, group))

    @pytest.mark.parametrize("mixes", [True, False])
    def test_a_causal_encoder_whose_batch_is_its_sequence(self, mixes):
        module = Attention(mixes)
        d = sum(p.numel() for p in module.parameters())
        made = NoisyZOGD(module, cross_entropy, FREE.replace(d=d, xi=1e-3), sources=Sources(1, 2))
        if mixes:
            with pytest.raises(ValueError, match="is the batch the first dimension everywhere"):
                run(made, 1, classes())
        else:
            assert run(made, 1, classes()).steps == 1

    @pytest.mark.parametrize("K", [1, 3])
    def test_it_costs_no_more_than_a_step_and_a_half(self, K):
        seen = []

        def loss(w, batch):
            seen.append(len(batch[1]))
            return logistic(w, batch)

        made = optimiser(SETTING.replace(n=600, K=K, xi=1e-3), loss=loss)
        run(made, 2, data(600))
        step = 2 * K * 600
        assert sum(seen) - 2 * step <= 1.5 * step


class Standardised(nn.Module):
    """Normalises over the batch where it is trained, as no layer of torch's, and remembers what it
    saw.
    """

    def __init__(self, mixes, remembers):
        super().__init__()
        self.mixes, self.remembers = mixes, remembers
        self.register_buffer("mean", torch.zeros(6, dtype=torch.float64))
        self.last = nn.Linear(6, 3).double()

    def forward(self, X):
        if self.training and self.remembers:
            self.mean = 0.9 * self.mean + 0.1 * X.mean(0)
        return self.last(X - X.mean(0) if self.training and self.mixes else X)


class TestLossesWithAMemory:
    """Losses and modules that carry something from one evaluation to the next."""

    def test_a_baseline_of_earlier_losses(self):
        seen = [0.0]

        def loss(w, batch):
            found = logistic(w, batch) - seen[0]
            seen[0] = 0.9 * seen[0] + float(found.mean())
            return found

        with pytest.raises(ValueError, match="a loss must depend on its own record alone"):
            run(optimiser(FREE, loss=loss, start=torch.ones(6, dtype=torch.float64)), 1)

    def test_data_that_the_loss_changes_in_place(self):
        X, y = data()

        def loss(w, batch):
            batch[0].sub_(batch[0].mean(0))
            return logistic(w, batch)

        with pytest.raises(ValueError, match="a loss must depend on its own record alone"):
            run(
                optimiser(FREE, loss=loss, start=torch.ones(6, dtype=torch.float64)),
                1,
                (X.clone(), y),
            )

    def test_dropout_that_begins_with_the_same_seed_each_time(self):
        def loss(w, batch):
            torch.manual_seed(0)
            return logistic(w, (nn.functional.dropout(batch[0], 0.5), batch[1]))

        with pytest.raises(ValueError, match="a loss must depend on its own record alone"):
            run(optimiser(FREE, loss=loss, start=torch.ones(6, dtype=torch.float64)), 1)

    def test_layers_that_mix_only_from_the_second_step_on(self):
        module = Standardised(mixes=True, remembers=False).eval()
        made = run(over(module), 1, classes())
        module.train()
        with pytest.raises(ValueError, match="a loss must depend on its own record alone"):
            run(made, 1, classes())
        module.eval()
        assert run(made, 1, classes()).steps == 2

    def test_buffers_that_take_up_data(self):
        module = Standardised(mixes=False, remembers=True)
        with pytest.raises(
            ValueError, match="the buffer 'mean' was changed while losses were computed"
        ):
            run(over(module), 1, classes())
        instance = nn.Sequential(
            nn.Unflatten(1, (2, 3)),
            nn.InstanceNorm1d(2, track_running_stats=True),
            nn.Flatten(),
            nn.Linear(6, 3),
        )
        with pytest.raises(ValueError, match=r"the buffer '1\.running_mean' was changed"):
            run(over(instance.double()), 1, classes())

    @pytest.mark.parametrize("options", [{"keep_copy": False}, {"keep_copy": True}], ids=str)
    def test_a_model_that_moves_its_own_parameters(self, options):

        def move(module, inputs):
            module[0].weight.data.add_(0.1 * inputs[0].mean())

        module = network()
        module.register_forward_pre_hook(move)
        with pytest.raises(
            (ValueError, RuntimeError),
            match=r"depend on its own record alone|changed since the last step",
        ):
            run(over(module, **options), 1, classes())


def straight_through(w, batch):
    """Losses are each record's own; their derivatives are everybody's."""
    own = logistic(w, batch)
    return own + (own.mean() - own.mean().detach())


class Router(nn.Module):
    """Two experts a token, and the loss of a router that balances their load over the whole batch,
    as Mixtral's.
    """

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.gate, self.experts = (
            nn.Linear(6, 4),
            nn.ModuleList([nn.Linear(6, 3) for _ in range(4)]),
        )

    def forward(self, X):
        chances = self.gate(X).softmax(-1)
        chosen = nn.functional.one_hot(chances.argmax(-1), 4).float()
        balance = 4 * (chosen.mean(0) * chances.mean(0)).sum()
        return (chosen.unsqueeze(-1) * torch.stack([e(X) for e in self.experts], 1)).sum(1), balance


class TestMixingThatIsSmall:
    @pytest.mark.parametrize("strength", [1e-6, 1e-9, 1e-12])
    @pytest.mark.parametrize("xi", [0.0, 1e-4])
    def test_a_share_of_the_mean_is_found(self, strength, xi):
        with pytest.raises(ValueError, match=f"beside other records: {MIXES}"):
            run(optimiser(FREE.replace(xi=xi), loss=centred(strength)), 1)

    @pytest.mark.parametrize("kind", [torch.float32, torch.bfloat16])
    def test_a_routers_loss_at_its_usual_weight_is_found(self, kind):
        X, y = classes()
        module = Router().to(kind)

        def loss(model, batch):
            outputs, balance = model(batch[0])
            return cross_entropy(outputs, batch[1]) + 1e-3 * balance

        d = sum(p.numel() for p in module.parameters())
        made = NoisyZOGD(
            module, loss, FREE.replace(d=d, xi=0.1), sources=Sources(1, 2), loss_of="model"
        )
        with pytest.raises(ValueError, match=f"beside other records: {MIXES}"):
            run(made, 1, (X.to(kind), y))
        made = NoisyZOGD(
            module,
            loss,
            FREE.replace(d=d, xi=0.5),
            sources=Sources(1, 2),
            loss_of="model",
            microbatch=1,
        )
        assert run(made, 1, (X.to(kind), y)).steps == 1  # then it is each record's own

    def test_in_derivatives_alone_it_is_found_where_they_are_taken(self):
        with pytest.raises(
            ValueError, match=f"the derivative of record .* beside other records: {MIXES}"
        ):
            run(optimiser(FREE.replace(xi=0.0), loss=straight_through), 1)
        assert run(optimiser(FREE.replace(xi=1e-4), loss=straight_through), 1).steps == 1

    def test_among_more_records_than_are_looked_at(self):
        X, y = data(200)
        # no record that is looked at, and every one's loss has a little of its
        far = torch.arange(200.0) == 101

        def loss(w, batch):
            X, y, far = batch
            own = logistic(w, (X, y))
            return own + 1e-7 * (far * own).sum()

        with pytest.raises(ValueError, match=f"beside other records: {MIXES}"):
            run(optimiser(FREE.replace(n=200), loss=loss), 1, (X, y, far))

    def test_chance_in_the_last_digits_is_refused_and_named(self):
        def loss(w, batch):
            return logistic(w, batch) * (1 + 1e-15 * torch.rand(len(batch[1]), dtype=torch.float64))

        with pytest.raises(
            ValueError,
            match=r"computed once more of the same batch: .*use_deterministic_algorithms\(True\)",
        ):
            run(optimiser(FREE.replace(xi=1e-4), loss=loss), 1)


def mean_of_the_batch(module, inputs, outputs):
    return outputs - outputs.mean(0)


class WithBuffer(nn.Linear):
    """Learns the mean of what it sees, once it is switched on."""

    def __init__(self):
        super().__init__(6, 3, dtype=torch.float64)
        self.register_buffer("seen", torch.zeros(6, dtype=torch.float64))
        self.learns = False

    def forward(self, X):
        if self.learns:
            self.seen.lerp_(X.mean(0), 0.5)
        return super().forward(X - self.seen)


class TestFromALaterStepOn:
    """What lets records meet in a later step is found in that step."""

    @pytest.mark.parametrize("xi", [0.0, 1e-3])
    @pytest.mark.parametrize(
        "hook",
        [
            nn.Module.register_forward_hook,
            lambda m, f: m.register_forward_pre_hook(lambda m, x: (f(m, x, x[0]),)),
        ],
    )
    def test_a_hook_that_mixes_records(self, hook, xi):
        module = network()
        made = run(over(module, xi=xi), 2, classes())
        handle = hook(module[2], mean_of_the_batch)
        with pytest.raises(ValueError, match=MIXES):
            run(made, 1, classes())
        handle.remove()
        assert run(made, 1, classes()).steps == 3

    def test_a_part_that_is_exchanged(self):
        module = network()
        made = run(over(module), 1, classes())
        module[1] = type("Centred", (nn.Module,), {"forward": lambda self, x: x - x.mean(0)})()
        with pytest.raises(ValueError, match=MIXES):
            run(made, 1, classes())

    def test_a_part_that_is_taught_another_way(self):
        module = network()
        made = run(over(module), 1, classes())
        module[1].forward = lambda x: torch.tanh(x - x.mean(0))
        with pytest.raises(ValueError, match=MIXES):
            run(made, 1, classes())

    def test_another_loss(self):
        made = run(optimiser(FREE), 1)
        made.objective.loss = lambda w, batch: logistic(w, batch) - logistic(w, batch).mean()
        with pytest.raises(ValueError, match=MIXES):
            run(made, 1)

    def test_a_buffer_that_learns_from_a_later_step_on(self):
        module = WithBuffer()
        made = run(over(module), 2, classes())
        module.learns = True
        with pytest.raises(
            ValueError,
            match=r"the buffer 'seen' was changed|a loss must depend on its own record alone",
        ):
            run(made, 2, classes())


class TestOfAnySize:
    @pytest.mark.parametrize("scale", [1e-9, 1e9])
    def test_losses_of_any_size_that_mix_records(self, scale):
        """The clip says how much matters."""

        def mixing(w, batch):
            return scale * (logistic(w, batch) - logistic(w, batch).mean())

        with pytest.raises(ValueError, match=MIXES):
            run(optimiser(FREE.replace(clip=scale), loss=mixing), 1)
        assert (
            run(
                optimiser(FREE.replace(clip=scale), loss=lambda w, b: scale * logistic(w, b)), 1
            ).steps
            == 1
        )

    def test_losses_in_single_precision_divided_by_how_many_there_are(self):
        def mixing(w, batch):
            return (logistic(w, batch) - logistic(w, batch).mean()) / 1e4

        with pytest.raises(ValueError, match=MIXES):
            run(
                optimiser(FREE.replace(clip=1e-4), start=torch.zeros(6), loss=mixing),
                1,
                tuple(x.float() for x in data()),
            )


class Padded(nn.Module):
    """A mean over a record's own tokens, after torch's encoder layers, which pack tokens in eval()."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        layer = nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True)
        self.tokens, self.layers, self.last = (
            nn.Embedding(50, 16),
            nn.TransformerEncoder(layer, 2),
            nn.Linear(16, 3),
        )

    def forward(self, tokens):
        real = tokens > 0
        hidden = self.layers(self.tokens(tokens), src_key_padding_mask=~real)
        return self.last((hidden * real.unsqueeze(-1)).sum(1) / real.sum(1, keepdim=True))


def to_the_longest(records):
    tokens, labels = zip(*records, strict=True)
    return nn.utils.rnn.pad_sequence(list(tokens), batch_first=True), torch.stack(labels)


@pytest.mark.parametrize("seed", [0, 2])
def test_padding_to_the_longest_of_a_batch_is_no_mixing(seed):
    draw = torch.Generator().manual_seed(seed)
    lengths = torch.randint(2, 15, (24,), generator=draw).tolist()
    records = [
        (torch.randint(1, 50, (length,), generator=draw), torch.tensor(length % 3))
        for length in lengths
    ]
    module = Padded().eval()
    d = sum(p.numel() for p in module.parameters())
    setting = FREE.replace(d=d, K=1, xi=0.3, T=4, batch=9)
    made = NoisyZOGD(module, cross_entropy, setting, sources=Sources(1, 2))
    for batch in made.batches(records, collate_fn=to_the_longest):
        made.step(batch)
    assert made.record.checked == 4


@pytest.mark.parametrize("mixing", [0.0, 1.0, 1e-3])
def test_scores_that_jump_are_taken_and_found_where_they_mix_records(mixing):
    def wrong(outputs, targets):
        found = (outputs.argmax(-1) != targets).to(outputs.dtype)
        return found - mixing * found.mean()

    made = over(network(), wrong, xi=0.5)
    if mixing:
        with pytest.raises(ValueError, match=f"beside other records: {MIXES}"):
            run(made, 1, classes())
    else:
        assert run(made, 4, classes()).steps == 4
