"""What might talk a report down, or move a step further than it says: each is refused, or counted."""

import copy
import io
import os
import pickle
from itertools import combinations
from math import inf

import pytest
import torch
from torch import nn

from tests.convention import epsilon
from tests.mechanism.problems import DECLARED, SETTING, classes, cross_entropy, data, logistic, network, optimiser, run
from zoexplore.mechanism import NoisyZOGD, Sources
from zoexplore.mechanism.rng import normal

TOLD = SETTING.replace(sigma=2.0, R=inf, m=0, ridge=0, regime="convex")


class TestTheRecordIsWhatCounts:
    @pytest.mark.parametrize("name", ["setting", "clipping", "declared", "counts", "record", "steps", "sources"])
    def test_what_was_made_cannot_be_set(self, name):
        made = run(optimiser(), 1)
        with pytest.raises(AttributeError):
            setattr(made, name, getattr(made, name))

    def test_steps_of_less_noise_stay_in_the_report_whatever_comes_after(self):
        """19 steps at 1e-9 and one at 1, in one run by a schedule, in two by a state that is loaded."""
        T, little = 20, 1e-9
        whole = optimiser(TOLD.replace(T=T, sigma=1.0), schedule={"sigma": [little] * 19 + [1.0]})
        first, second = optimiser(TOLD.replace(T=T, sigma=little)), optimiser(TOLD.replace(T=T, sigma=1.0))
        second.load_state_dict(run(first, 19).state_dict())
        least = epsilon(TOLD.replace(T=19, sigma=little), "composition")
        for made in (run(whole, 20), run(second, 1)):
            assert made.privacy_report(released="all").epsilon >= least

    def test_two_phases_compose_and_T_extends(self):
        phase, more = TOLD.replace(T=4), TOLD.replace(T=10, sigma=4.0)
        first, second = run(optimiser(phase), 4), optimiser(more)
        second.load_state_dict(first.state_dict())
        found = run(second, 6).privacy_report(released="all").guarantees["composition"]
        budget = 4 * (2 / 24) ** 2 / (2 * 2.0**2 * 0.75) + 6 * (2 / 24) ** 2 / (2 * 4.0**2 * 0.75)
        assert found.rho == pytest.approx(budget, rel=1e-9)
        assert found.rho >= budget * (1 - 1e-13)

    def test_a_learning_rate_that_falls_is_recorded_and_hidden_states_count_the_worst_of_it(self):
        setting = TOLD.replace(regime="strongly-convex", m=0.5, ridge=0.5, R=3.0, sigma=1.0)
        made = optimiser(setting, declared=DECLARED)
        schedule = torch.optim.lr_scheduler.LinearLR(made, 1.0, 0.5, total_iters=8)
        for batch in made.batches(data()):
            made.step(batch)
            schedule.step()
        etas = [step.eta for step, _ in made.record.stages]
        assert etas == pytest.approx([setting.eta * (1 - 0.5 * t / 8) for t in range(8)])
        found = made.privacy_report().guarantees
        assert found["composition"].epsilon == pytest.approx(epsilon(setting, "composition"), rel=1e-9)
        assert epsilon(setting, "sharp") < found["sharp"].epsilon < inf
        assert "steps that differ count as the worst of them" in found["sharp"].note

    @pytest.mark.parametrize("field, value", [("K", 2), ("xi", 1e-3), ("R", 4.0), ("batch", 8)])
    def test_what_no_proof_covers_leaves_composition(self, field, value):
        setting = TOLD.replace(regime="strongly-convex", m=0.5, ridge=0.5, R=3.0)
        second = optimiser(setting.replace(**{field: value}), declared=DECLARED)
        second.load_state_dict(run(optimiser(setting, declared=DECLARED), 3).state_dict())
        found = run(second, 2).privacy_report().guarantees
        assert found["sharp"].epsilon == inf
        assert f"{field} changed during the run" in found["sharp"].reason
        assert found["composition"].epsilon < inf

    def test_a_step_of_no_learning_rate_moves_nothing_and_costs_nothing(self):
        made = optimiser(TOLD)
        made.param_groups[0]["lr"] = 0.0
        before = made.w
        run(made, 2)
        made.param_groups[0]["lr"] = TOLD.eta / 3
        assert torch.equal(made.w, before)
        run(made, 3)
        assert made.privacy_report(released="all").epsilon == epsilon(TOLD.replace(T=3), "composition")


class TestParameters:
    """The report is of the parameters that the steps made."""

    def test_changes_between_steps_are_noticed(self):
        module = network()
        made = NoisyZOGD(module, cross_entropy, TOLD.replace(d=51), sources=Sources(1, 2))
        run(made, 1, classes())
        module[0].weight.data.add_(0.1)
        with pytest.raises(RuntimeError, match="changed since the last step, and not by this run"):
            run(made, 1, classes())
        module[0].weight.data = module[0].weight.data.clone()
        with pytest.raises(RuntimeError, match="parameters were moved"):
            run(made, 1, classes())

    def test_a_step_that_was_interrupted_while_it_was_written_is_counted_and_ends_the_run(self, monkeypatch):
        made = run(optimiser(TOLD), 2)
        monkeypatch.setattr(made._watch, "settle", lambda: (_ for _ in ()).throw(KeyboardInterrupt()))
        with pytest.raises(KeyboardInterrupt):
            run(made, 1)
        assert made.steps == 3
        with pytest.raises(RuntimeError, match="interrupted while it moved the parameters"):
            run(made, 1)


class Attention(nn.Module):
    """Every record is a token; by default torch's layers take the batch for the sequence."""

    def __init__(self, mixes):
        super().__init__()
        torch.manual_seed(3)
        self.layer = nn.TransformerEncoderLayer(6, 2, 8, dropout=0.0, batch_first=not mixes).double()
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
    "less the one in the middle": lambda w, batch: logistic(w, batch) - logistic(w, batch)[len(batch[1]) // 2],
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
        made = NoisyZOGD(module, cross_entropy, TOLD.replace(d=d, xi=1e-3), sources=Sources(1, 2))
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

        made = optimiser(SETTING.replace(n=600, K=K, xi=1e-3), loss=loss, chunk_size=None)
        made._chunk_size = None
        run(made, 2, data(600))
        step = 2 * K * 600
        assert sum(seen) - 2 * step <= 1.5 * step


class Standardised(nn.Module):
    """Normalises over the batch where it is trained, as no layer of torch's, and remembers what it saw."""

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

    @staticmethod
    def over(module, **options):
        d = sum(p.numel() for p in module.parameters())
        return NoisyZOGD(module, cross_entropy, TOLD.replace(d=d, xi=1e-3), sources=Sources(1, 2), **options)

    def test_a_baseline_of_earlier_losses(self):
        seen = [0.0]

        def loss(w, batch):
            found = logistic(w, batch) - seen[0]
            seen[0] = 0.9 * seen[0] + float(found.mean())
            return found

        with pytest.raises(ValueError, match="a loss must depend on its own record alone"):
            run(optimiser(TOLD, loss=loss, start=torch.ones(6, dtype=torch.float64)), 1)

    def test_data_that_the_loss_changes_in_place(self):
        X, y = data()

        def loss(w, batch):
            batch[0].sub_(batch[0].mean(0))
            return logistic(w, batch)

        with pytest.raises(ValueError, match="a loss must depend on its own record alone"):
            run(optimiser(TOLD, loss=loss, start=torch.ones(6, dtype=torch.float64)), 1, (X.clone(), y))

    def test_dropout_that_begins_with_the_same_seed_each_time(self):
        def loss(w, batch):
            torch.manual_seed(0)
            return logistic(w, (nn.functional.dropout(batch[0], 0.5), batch[1]))

        with pytest.raises(ValueError, match="a loss must depend on its own record alone"):
            run(optimiser(TOLD, loss=loss, start=torch.ones(6, dtype=torch.float64)), 1)

    def test_layers_that_mix_only_from_the_second_step_on(self):
        module = Standardised(mixes=True, remembers=False).eval()
        made = run(self.over(module), 1, classes())
        module.train()
        with pytest.raises(ValueError, match="a loss must depend on its own record alone"):
            run(made, 1, classes())
        module.eval()
        assert run(made, 1, classes()).steps == 2

    def test_buffers_that_take_up_data(self):
        module = Standardised(mixes=False, remembers=True)
        with pytest.raises(ValueError, match="the buffer 'mean' was changed while losses were computed"):
            run(self.over(module), 1, classes())
        instance = nn.Sequential(
            nn.Unflatten(1, (2, 3)), nn.InstanceNorm1d(2, track_running_stats=True), nn.Flatten(), nn.Linear(6, 3)
        )
        with pytest.raises(ValueError, match=r"the buffer '1\.running_mean' was changed"):
            run(self.over(instance.double()), 1, classes())

    @pytest.mark.parametrize("options", [{"keep_copy": False}, {"keep_copy": True}], ids=str)
    def test_a_model_that_moves_its_own_parameters(self, options):

        def move(module, inputs):
            module[0].weight.data.add_(0.1 * inputs[0].mean())

        module = network()
        module.register_forward_pre_hook(move)
        with pytest.raises(
            (ValueError, RuntimeError), match=r"depend on its own record alone|changed since the last step, or by"
        ):
            run(self.over(module, **options), 1, classes())


@pytest.mark.parametrize("clipping", ["each", "joint"])
@pytest.mark.parametrize("options", [{"directions": "streamed"}, {"directions": "dense", "skip_idle_clip": True}], ids=str)
def test_a_record_of_enormous_slopes_is_clipped_or_not_counted(clipping, options):
    """Sums of finite slopes may overflow; what is not a number would pass every clip."""
    xi = 0.0 if "skip_idle_clip" in options else 0.5

    def loss(w, batch):
        X, y = batch
        huge = 1.6e308 * (X @ w - torch.signbit(X @ w).double()) if xi == 0 else 8e307 * torch.tanh(1e3 * (X @ w))
        return torch.where(y > 1, huge, logistic(w, batch))

    X, y = data()
    y[0] = 2.0
    for seed in range(8):
        made = optimiser(TOLD.replace(xi=xi, K=3), loss=loss, clipping=clipping, seeds=(seed + 10, seed), **options)
        assert run(made, 1, (X, y)).w.norm() < 100


def test_one_unnormalised_row_is_clipped_where_gradients_stand_in_for_quotients():
    """Without the check of every record's gradient its step was 18.6 times the sensitivity away from a neighbour's."""
    X, y = data()
    ends = []
    for row in (40 * X[0], -40 * X[0]):
        made = optimiser(TOLD, declared=DECLARED.__class__(lipschitz=1.0), skip_idle_clip=True)
        made.step(made.batch((torch.cat([row[None], X[1:]]), y)))
        ends.append(made.w)
        assert made.counts.clipped > 0
    assert (ends[0] - ends[1]).norm() <= 2 * TOLD.eta / (24 * 3**0.5) * (1 + 1e-12)


class TestSecureSources:
    """Neither a copy nor a pickle leaks keys, nor draws the same noise again."""

    @staticmethod
    def copies(sources):
        file = io.BytesIO()
        torch.save(sources, file)
        file.seek(0)
        return [
            copy.deepcopy(sources),
            copy.copy(sources),
            pickle.loads(pickle.dumps(sources)),
            torch.load(file, weights_only=False),
        ]

    def test_copies_have_keys_of_their_own(self):
        sources = Sources.secure()
        before = sources.noise.bit_generator.state
        drawn = [normal(s.noise, (4,)).tolist() for s in self.copies(sources)]
        orders = [s.data.random(4).tolist() for s in self.copies(sources)]
        assert len({tuple(x) for x in (*drawn, normal(sources.noise, (4,)).tolist())}) == 5
        assert len({tuple(x) for x in (*orders, sources.data.random(4).tolist())}) == 5
        assert before["bit_generator"].endswith("ChaCha")

    def test_keys_are_in_no_pickle(self):
        sources = Sources.secure()
        key = (
            sources.noise.bit_generator.state["state"]["keysetup"]
            if "keysetup" in sources.noise.bit_generator.state["state"]
            else None
        )
        written = pickle.dumps(sources)
        assert b"ChaCha" not in written
        assert key is None or bytes(key) not in written

    def test_an_optimisers_copy_draws_other_noise(self):
        made = run(optimiser(TOLD, sources=Sources.secure()), 1)
        twin = copy.deepcopy(made)
        assert torch.equal(twin.w, made.w)
        assert not torch.equal(run(twin, 1).w, run(made, 1).w)

    def test_a_forked_process_draws_other_noise(self):
        sources = Sources.secure()
        out, into = os.pipe()
        child = os.fork()
        if child == 0:
            os.write(into, repr(sources.noise.random(3).tolist()).encode())
            os._exit(0)
        os.waitpid(child, 0)
        assert os.read(out, 1000).decode() != repr(sources.noise.random(3).tolist())

    def test_seeds_repeat_in_a_copy_as_they_are_meant_to(self):
        sources = Sources(1, 2)
        assert torch.equal(normal(copy.deepcopy(sources).noise, (4,)), normal(sources.noise, (4,)))


@pytest.mark.parametrize(
    "changes",
    [{"sampling": "shuffled", "batch": 4}, {"releases": 2}],
)
def test_what_the_optimiser_does_not_do_is_refused(changes):
    """A batch drawn afresh is not a shuffled one, and the optimiser hands out one model."""
    (name, *_) = changes
    with pytest.raises(ValueError, match=f"{name} = .* is not allowed"):
        optimiser(SETTING.replace(**changes))


def test_a_lipschitz_constant_of_the_setting_proves_nothing():
    """The report rests on what is declared: a smaller constant that the setting supposes would make the loss smaller."""
    told, plain = (
        run(optimiser(SETTING.replace(lipschitz=L), declared=DECLARED), SETTING.T).privacy_report(sensitivity="least")
        for L in (1e-6, None)
    )
    assert {b: g.epsilon for b, g in told.guarantees.items()} == {b: g.epsilon for b, g in plain.guarantees.items()}
