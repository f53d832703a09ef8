"""What would make a report say less than was spent: it is refused, or the report says ε = ∞ and why, from then on."""

import copy
import pickle
import subprocess
import sys
from math import inf, sqrt
from typing import ClassVar

import pytest
import torch
from torch import distributed, nn
from torch.func import functional_call

from tests.convention import epsilon
from tests.mechanism.problems import (
    DECLARED,
    SETTING,
    classes,
    cross_entropy,
    data,
    logistic,
    network,
    optimiser,
    run,
)
from tests.mechanism.test_rounding import FREE
from zoexplore.mechanism import Batch, NoisyZOGD, Sources, checksums, together

MIXES = "a loss must depend on its own record alone"
TRAINED = 51


def over(module, loss=cross_entropy, *, sources=None, **changes):
    d = sum(p.numel() for p in module.parameters() if p.requires_grad)
    setting = FREE.replace(**{"d": d, "xi": 1e-3} | changes)
    return NoisyZOGD(module, loss, setting, sources=sources or Sources(1, 2))


def learn(module, parameters=None, lr=5e-6):
    """A step of somebody else's."""
    other = torch.optim.AdamW(module.parameters() if parameters is None else parameters, lr=lr)
    cross_entropy(module(classes()[0]), classes()[1]).mean().backward()
    other.step()


def rescaled(module):
    """Learn, and then have the old length."""
    before = torch.nn.utils.parameters_to_vector(module.parameters()).detach()
    learn(module, lr=1e-3)
    after = torch.nn.utils.parameters_to_vector(module.parameters()).detach()
    torch.nn.utils.vector_to_parameters(after * before.norm() / after.norm(), module.parameters())


def swapped(module):
    weight = module[0].weight.data
    weight[0], weight[1] = weight[1].clone(), weight[0].clone()


def says_nothing(made, words):
    report = made.privacy_report()
    assert all(words in g.reason for g in report.guarantees.values()) and "[not met] Nothing was found" in repr(report)
    return report.epsilon == inf


class TestWhatSomebodyElseMoved:
    CHANGES: ClassVar = {
        "AdamW at 5e-6": learn,
        "AdamW, rescaled to the old length": rescaled,
        "two rows swapped": swapped,
        "two signs turned": lambda module: module[0].weight.data[0, :2].neg_(),
        "one last digit": lambda module: module[3].bias.data[:1].mul_(1 + 2.0**-52),
        "other parameters": lambda module: setattr(module, "3", copy.deepcopy(module[3])),
    }

    @pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
    def test_ends_the_guarantee_at_the_next_step(self, change):
        module = network()
        made = run(over(module), 2, classes())
        state = made.state_dict()
        assert made.privacy_report().epsilon < inf
        change(module)
        with pytest.raises(RuntimeError):
            run(made, 1, classes())
        assert made.steps == 2 and says_nothing(made, "changed since")
        with pytest.raises(RuntimeError):
            made.load_state_dict(state)
            run(made, 1, classes())
            raise RuntimeError  # where nothing but numbers had changed the run goes on, and its report does not
        assert made.privacy_report().epsilon == inf

    def test_also_after_the_last_step_and_in_a_state_that_is_saved(self):
        module = network()
        made = run(over(module), 8, classes())
        learn(module)
        assert says_nothing(made, "'0.bias', '0.weight' and '2.bias' changed since the last step, and not by this run")
        again = over(network())
        again.load_state_dict(made.state_dict())
        assert says_nothing(again, "changed since the last step")

    def test_stays_found_when_the_old_bits_come_back(self):
        module = network()
        made = run(over(module), 2, classes())
        module[0].weight.data.neg_()
        assert made.privacy_report().epsilon == inf
        module[0].weight.data.neg_()
        assert run(made, 1, classes()).steps == 3 and says_nothing(made, "changed since the last step")

    @pytest.mark.parametrize("part", ["a frozen weight", "a buffer", "a loss's own weight"])
    def test_frozen_parts_and_buffers_too(self, part):
        module, loss = network(), Weighted()
        module[0].requires_grad_(False)
        module.register_buffer("scale", torch.ones(3, dtype=torch.float64))
        made = run(over(module, loss), 2, classes())
        state = made.state_dict()
        {"a frozen weight": module[0].weight, "a buffer": module.scale, "a loss's own weight": loss.weight}[part].data[0] += 1e-9
        assert says_nothing(made, "which this run does not train, changed since it began")
        with pytest.raises(RuntimeError, match="which this run does not train"):
            run(made, 1, classes())
        if part == "a frozen weight":
            with pytest.raises(ValueError, match=r"the saved run had other numbers in '0\.weight'"):
                over(module, loss).load_state_dict(state)

    def test_a_cache_may_be_made_anew_in_another_shape_and_nothing_saved_may(self):
        module = Cached()
        made = run(over(module), 2, classes())
        assert module.cache.numel() and made.privacy_report().epsilon < inf
        module.register_buffer("saved", torch.zeros(2))
        assert says_nothing(made, "'saved', which this run does not train")

    @pytest.mark.parametrize("keep_copy", [True, False])
    def test_by_the_loss_itself(self, keep_copy):
        module = network()
        on = [False]

        def loss(outputs, targets):
            if on[0]:
                with torch.no_grad():
                    module[0].weight.add_(1e-9)
            return cross_entropy(outputs, targets)

        made = NoisyZOGD(module, loss, FREE.replace(d=51, xi=1e-3), sources=Sources(1, 2), keep_copy=keep_copy)
        run(made, 1, classes())
        on[0] = True
        with pytest.raises(RuntimeError, match="moved its own parameters while losses were computed"):
            run(made, 1, classes())
        assert made.steps == 1 and says_nothing(made, "at step 2 the loss, or the module, moved")

    def test_a_second_optimiser_is_refused_until_it_goes_on_from_the_first(self):
        module = network()
        one, other = over(module), over(module)
        run(one, 3, classes())
        for third in (other, over(module)):
            with pytest.raises(RuntimeError, match=r"another NoisyZOGD has moved '0\.weight': neither report would count"):
                run(third, 1, classes())
        module[0].requires_grad_(False)
        with pytest.raises(RuntimeError, match="another NoisyZOGD has moved"):
            run(over(module), 1, classes())
        module[0].requires_grad_(True)
        other.load_state_dict(one.state_dict())
        assert run(other, 3, classes()).privacy_report().epsilon == epsilon(other.setting.replace(T=6), "composition")
        with pytest.raises(RuntimeError, match="another NoisyZOGD has moved"):
            run(one, 1, classes())
        assert one.privacy_report().epsilon == inf

    def test_a_copy_is_another_model(self):
        module = network()
        run(over(module), 3, classes())
        assert run(over(copy.deepcopy(module)), 1, classes()).steps == 1


class Weighted(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(3, dtype=torch.float64))

    def forward(self, outputs, targets):
        return cross_entropy(outputs * self.weight, targets)


class Cached(nn.Linear):
    """Keeps something of the batch's size, as positional encodings do."""

    def __init__(self):
        super().__init__(6, 3, dtype=torch.float64)
        self.register_buffer("cache", torch.empty(0), persistent=False)

    def forward(self, X):
        if len(self.cache) < len(X):
            self.cache = torch.arange(len(X))
        return super().forward(X)


class TestChecksums:
    KINDS = (
        torch.float64,
        torch.float32,
        torch.bfloat16,
        torch.float16,
        torch.int64,
        torch.bool,
        torch.complex64,
    )

    @pytest.mark.parametrize("kind", KINDS, ids=str)
    @pytest.mark.parametrize("shape", [(), (1,), (7, 3), (2**14 + 5,), (3, 2**15), (2**17 + 3,)])
    def test_every_bit_counts_wherever_it_stands_and_torch_adds_up_to_the_same(self, shape, kind):
        x = torch.randn(shape, generator=torch.Generator().manual_seed(1), dtype=torch.float64).mul(9).to(kind)
        words = checksums._words(x).view(1, -1)
        (before,) = checksums.checksums([x])
        assert checksums._added_by_torch(words).tolist() == [before]
        for place in {0, words.numel() // 2, words.numel() - 1}:
            for bit in range(1 if kind == torch.bool else 8 * words.element_size()):
                other = x.clone()
                changed = checksums._words(other)
                changed[place] ^= torch.tensor(-(2**31) if bit == 31 else 1 << bit).to(changed.dtype)
                assert checksums.checksums([other]) != [before]

    def test_places_count_and_so_do_strides(self):
        x = torch.arange(12.0).view(3, 4)
        assert len({tuple(checksums.checksums([y])) for y in (x, x.flip(0), -x, x.roll(1), x.t().contiguous())}) == 5
        assert checksums.checksums([x[:, 1:3]]) == checksums.checksums([x[:, 1:3].clone()])
        assert checksums.checksums([]) == []

    def test_of_records(self):
        X, y = torch.randn(5, 3, 2), torch.tensor([1, 2, 1, 1, 1])
        X[3] = X[0]
        found = checksums.of_records({"X": X, "y": y}, 5)
        assert found[0] == found[3] and len(set(found.tolist())) == 4
        assert checksums.of_records((X[2:], y[2:]), 3).tolist() == found[2:].tolist()


def centred(strength):
    def loss(w, batch):
        own = logistic(w, batch)
        return own - strength * own.mean()

    return loss


def straight_through(w, batch):
    """Losses are each record's own; their derivatives are everybody's."""
    own = logistic(w, batch)
    return own + (own.mean() - own.mean().detach())


class Router(nn.Module):
    """Two experts a token, and the loss of a router that balances their load over the whole batch, as Mixtral's."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.gate, self.experts = nn.Linear(6, 4), nn.ModuleList([nn.Linear(6, 3) for _ in range(4)])

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
        made = NoisyZOGD(module, loss, FREE.replace(d=d, xi=0.1), sources=Sources(1, 2), loss_of="model")
        with pytest.raises(ValueError, match=f"beside other records: {MIXES}"):
            run(made, 1, (X.to(kind), y))
        made = NoisyZOGD(module, loss, FREE.replace(d=d, xi=0.5), sources=Sources(1, 2), loss_of="model", microbatch=1)
        assert run(made, 1, (X.to(kind), y)).steps == 1  # then it is each record's own

    def test_in_derivatives_alone_it_is_found_where_they_are_taken(self):
        with pytest.raises(ValueError, match=f"the derivative of record .* beside other records: {MIXES}"):
            run(optimiser(FREE.replace(xi=0.0), loss=straight_through), 1)
        assert run(optimiser(FREE.replace(xi=1e-4), loss=straight_through), 1).steps == 1

    def test_among_more_records_than_are_looked_at(self):
        X, y = data(200)
        far = torch.arange(200.0) == 101  # no record that is looked at, and every one's loss has a little of its

        def loss(w, batch):
            X, y, far = batch
            own = logistic(w, (X, y))
            return own + 1e-7 * (far * own).sum()

        with pytest.raises(ValueError, match=f"beside other records: {MIXES}"):
            run(optimiser(FREE.replace(n=200), loss=loss), 1, (X, y, far))

    def test_chance_in_the_last_digits_is_refused_and_named(self):
        def loss(w, batch):
            return logistic(w, batch) * (1 + 1e-15 * torch.rand(len(batch[1]), dtype=torch.float64))

        with pytest.raises(ValueError, match=r"computed once more of the same batch: .*use_deterministic_algorithms\(True\)"):
            run(optimiser(FREE.replace(xi=1e-4), loss=loss), 1)


class TestState:
    @staticmethod
    def remembers(made, begins=3):
        """Mixes records from some step on, and shows it nowhere."""

        def loss(w, batch):
            own = logistic(w, batch)
            return own - own.mean() if made and made[0].steps >= begins else own

        return loss

    def test_what_was_found_stays_found_when_an_earlier_state_is_loaded(self):
        made = []
        made.append(optimiser(FREE, loss=self.remembers(made)))
        state = run(made[0], 2).state_dict()
        run(made[0], 1)
        with pytest.raises(ValueError, match=MIXES):
            run(made[0], 1)
        assert made[0].privacy_report().epsilon == inf
        made[0].load_state_dict(state)
        assert says_nothing(made[0], "how many of the steps since the 1th were so is not known")
        again = optimiser(FREE)
        again.load_state_dict(made[0].state_dict())
        assert again.privacy_report().epsilon == inf

    def test_a_first_look_in_a_new_process_that_finds_it_speaks_against_the_steps_before(self):
        """Nobody knows what the losses were like when those were made."""
        second = optimiser(FREE, loss=centred(1e-3))
        second.load_state_dict(run(optimiser(FREE), 3).state_dict())
        with pytest.raises(ValueError, match=MIXES):
            run(second, 1)
        assert says_nothing(second, "at step 4 the loss of record")

    def test_the_last_clean_look_is_told(self):
        made = run(optimiser(FREE), 6)
        assert made.record.looked == 4 and "last at step 4 of 6" in repr(made.privacy_report())
        again = optimiser(FREE)
        again.load_state_dict(made.state_dict())
        assert again.record.looked == 4

    @pytest.mark.filterwarnings("ignore:Noise and data order")
    @pytest.mark.parametrize("sampling", ["without-replacement", "poisson"])
    def test_the_coming_batch_belongs_to_the_state(self, sampling):
        setting = FREE.replace(batch=6, sampling=sampling, neighbours="add-remove" if sampling == "poisson" else "replace-one")
        first = run(optimiser(setting, sources=Sources.secure()), 2)
        state, coming = first.state_dict(), first.drawn(2)
        copies = [copy.deepcopy(first), pickle.loads(pickle.dumps(first))]
        for _ in range(3):
            copies.append(optimiser(setting, sources=Sources.secure()))
            copies[-1].load_state_dict(state)
        assert all(torch.equal(other.drawn(2), coming) for other in copies)
        assert len({tuple(other.drawn(3).tolist()) for other in copies}) > 1


class TestTogether:
    """Composition of all steps, those that branches share once."""

    @staticmethod
    def branches(setting, count, before=3, after=5):
        first, reports = run(optimiser(setting, sources=Sources.secure()), before), []
        state = first.state_dict()
        for _ in range(count):
            made = optimiser(setting, sources=Sources.secure())
            with pytest.warns(UserWarning, match="new keys"):
                made.load_state_dict(state)
            reports.append(run(made, after).privacy_report())
        return reports

    def test_branches_of_one_state(self):
        reports = self.branches(FREE, 5)
        assert "of this branch" in repr(reports[0]) and "zoexplore.mechanism.together" in repr(reports[0])
        found = together(reports)
        assert found.epsilon == epsilon(FREE.replace(T=3 + 5 * 5), "composition") > 1.7 * reports[0].epsilon
        assert [bound for bound, g in found.guarantees.items() if g.valid] == ["composition"]
        assert "5 runs or branches together, of 40 steps" in repr(found)
        assert together(reports[:1]).epsilon == together(reports[:1] * 3).epsilon == reports[0].epsilon

    def test_a_copy_and_the_run_it_was_made_of(self):
        first = run(optimiser(FREE, sources=Sources.secure()), 2)
        twin = run(copy.deepcopy(first), 4)
        first = run(first, 3)
        assert together([first.privacy_report(), twin.privacy_report()]).epsilon == epsilon(FREE.replace(T=9), "composition")

    def test_on_batches_the_one_that_they_share_tells_as_much_as_all_steps_on_it(self):
        """Between steps on batches of their own and steps whose batch everybody knows."""
        setting = FREE.replace(batch=4, T=3)
        found = together(self.branches(setting, 4, before=1, after=1))
        (step,) = [s for s, _ in found.record.stages if s.beta == 1]
        assert step.sigma == pytest.approx(FREE.sigma * sqrt((0.5 + 0.5 * 3 / 6) / 4), rel=1e-12)
        alike = setting.replace(T=1, beta=1.0, sigma=step.sigma)
        assert epsilon(setting.replace(T=5), "composition") < found.epsilon
        assert (
            epsilon(alike, "composition")
            < found.epsilon
            <= epsilon(alike, "composition") + epsilon(setting.replace(T=1), "composition")
        )

    def test_runs_that_share_nothing_and_models_of_other_sizes(self):
        reports = [run(optimiser(FREE, sources=Sources.secure()), steps).privacy_report() for steps in (2, 3)]
        assert together(reports).epsilon == epsilon(FREE.replace(T=5), "composition")
        wide = optimiser(FREE.replace(d=12), loss=lambda w, b: logistic(w[:6], b), sources=Sources.secure())
        found = together([*reports, run(wide, 4).privacy_report()]).guarantees["composition"]
        mu2 = [(2 / 24 / 3**0.5 / FREE.sigma) ** 2 * 3 / (0.5 + 0.5 * 3 / d) for d in (6, 12)]
        budget = (5 * mu2[0] + 4 * mu2[1]) / 2 / 3
        assert found.rho == pytest.approx(budget * found.rho / budget)
        assert together(reports).epsilon < found.epsilon < epsilon(FREE.replace(T=10), "composition")

    def test_on_turns_a_record_pays_for_those_that_met_it(self):
        setting = FREE.replace(batch=6, sampling="cyclic")
        reports = [run(optimiser(setting, sources=Sources.secure()), steps).privacy_report() for steps in (3, 2)]
        found = together(reports).epsilon
        assert found == pytest.approx(epsilon(FREE.replace(n=6, T=2), "composition"), rel=1e-9)
        assert found >= epsilon(FREE.replace(n=6, T=2), "composition")

    def test_where_it_is_not_known_the_reason_is_told(self):
        secure = run(optimiser(FREE, sources=Sources.secure()), 2)
        demonstration = run(optimiser(FREE), 2)
        found = together([secure.privacy_report(), demonstration.privacy_report()])
        assert found.epsilon == inf and "only those of Sources.secure() add up" in found.guarantees["composition"].reason
        state = secure.state_dict()
        del state["ledger"]["path"]
        old = optimiser(FREE, sources=Sources.secure())
        with pytest.warns(UserWarning, match="new keys"):
            old.load_state_dict(state)
        found = together([secure.privacy_report(), old.privacy_report()])
        assert found.epsilon == inf and "without their history" in found.guarantees["composition"].reason
        secure._parameters.tensors[0].add_(1)
        found = together([run(optimiser(FREE, sources=Sources.secure()), 1).privacy_report(), secure.privacy_report()])
        assert found.epsilon == inf and "changed since the last step" in found.guarantees["composition"].reason

    @pytest.mark.parametrize("changes", [{"n": 12}, {"delta": 1e-6}, {"neighbours": "add-remove"}], ids=str)
    def test_reports_of_other_data_are_refused(self, changes):
        (name,) = changes
        one, other = (
            run(optimiser(s, sources=Sources.secure()), 1, data(s.n)).privacy_report() for s in (FREE, FREE.replace(**changes))
        )
        with pytest.raises(ValueError, match=f"reports of {name} = .* are not allowed together"):
            together([one, other])
        with pytest.raises(ValueError, match="no report"):
            together([])
        with pytest.raises(TypeError, match="takes the reports"):
            together([1.0])


def test_under_autocast_no_bound_for_the_last_iterate_holds():
    """A step may part two runs by five times as much as they were apart, where the proof has them come closer."""
    module = nn.Linear(6, 1, bias=False)
    setting = SETTING.replace(xi=1e-3)
    X, y = data()

    def loss(outputs, targets):
        return nn.functional.softplus(-targets * outputs.squeeze(1))

    for autocast in (False, True):
        made = NoisyZOGD(copy.deepcopy(module), loss, setting, sources=Sources(1, 2), declared=DECLARED, microbatch=1)
        made._examination.quotient_error = 0.0  # rounding swamps so small a problem's quotients
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=autocast):
            run(made, 2, (X.float(), y.float()))
        again = NoisyZOGD(copy.deepcopy(module), loss, setting, sources=Sources(1, 2), declared=DECLARED, microbatch=1)
        again.load_state_dict(made.state_dict())
        for each in (made, again):
            found = each.privacy_report().guarantees
            assert found["composition"].epsilon < inf
            assert (found["sharp"].epsilon == inf) == autocast
            assert ("as under autocast" in found["sharp"].reason) == autocast


class TestData:
    CYCLIC = FREE.replace(batch=6, sampling="cyclic")

    def test_an_order_that_changes_between_two_passes_is_found(self):
        X, y = data()
        made = optimiser(self.CYCLIC)
        run(made, 4, (X, y))
        assert made.privacy_report().epsilon < inf
        run(made, 1, (X.flip(0), y.flip(0)))
        assert says_nothing(made, "at step 5 record 0 came as another one had come before: the order of the data changed")

    def test_a_batch_made_by_hand_of_others_is_found_as_well(self):
        X, y = data()
        made = run(optimiser(self.CYCLIC), 4, (X, y))
        batch = made.batch((X, y))
        made.step(Batch(batch.records, (X[6:12], y[6:12])))
        assert says_nothing(made, "came as another one had come before")

    def test_where_batches_are_drawn_the_order_does_not_matter(self):
        X, y = data()
        made = run(optimiser(FREE.replace(batch=6)), 4, (X, y))
        run(made, 2, (X.flip(0), y.flip(0)))
        assert made.privacy_report().epsilon < inf

    def test_copies_of_a_record_are_counted_and_warned_of(self):
        X, y = data()
        X, y = (
            X[:24].index_copy(0, torch.tensor([5, 7, 9]), X[[2, 2, 2]]),
            y.index_fill(0, torch.tensor([5, 7, 9]), float(y[2])),
        )
        made = optimiser(FREE)
        with pytest.warns(UserWarning, match="3 of the 24 records seen so far equal an earlier one, bit by bit"):
            run(made, 1, (X, y))
        assert "3 records equal another one, bit by bit." in repr(made.privacy_report())

    def test_records_that_change_are_counted(self):
        X, y = data()
        made = run(optimiser(FREE), 1, (X, y))
        assert "changed from one step to another" not in repr(made.privacy_report())
        X[:5] *= 2
        assert "5 records changed from one step to another." in repr(run(made, 1, (X, y)).privacy_report())


class TestSeveralProcesses:
    def test_are_refused_at_the_start_and_at_a_step(self, monkeypatch):
        made = optimiser(FREE)
        monkeypatch.setattr(distributed, "is_initialized", lambda: True)
        monkeypatch.setattr(distributed, "get_world_size", lambda: 2)
        for act in (lambda: optimiser(FREE), lambda: run(made, 1)):
            with pytest.raises(RuntimeError, match="training in 2 processes, each by itself, is not allowed"):
                act()
        monkeypatch.setattr(distributed, "get_world_size", lambda: 1)
        assert run(made, 1).steps == 1

    @pytest.mark.proof
    def test_two_real_ones(self, tmp_path):
        script = (
            "import sys, torch.distributed as dist; from tests.mechanism.problems import optimiser\n"
            f"dist.init_process_group('gloo', init_method='file://{tmp_path}/store', rank=int(sys.argv[1]), world_size=2)\n"
            "try: optimiser()\nexcept RuntimeError as refused: print(refused)"
        )
        ranks = [subprocess.Popen([sys.executable, "-c", script, str(rank)], stdout=subprocess.PIPE) for rank in range(2)]
        assert all(b"training in 2 processes, each by itself, is not allowed" in rank.communicate()[0] for rank in ranks)


class TestSmallerOnes:
    def test_a_deep_copy_of_an_optimiser_trains_a_copy_of_its_module(self):
        module = network()
        made = run(over(module), 2, classes())
        for copied in (copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))):
            twin = copied(made)
            assert torch.equal(twin.w, made.w) and torch.equal(run(twin, 3, classes()).w, twin.w)
            assert twin.steps == 5 and made.steps == 2 and made.privacy_report().epsilon < inf
            assert not torch.equal(twin.w, made.w)
            outputs = functional_call(network(), dict(twin.objective.module.named_parameters()), (classes()[0],))
            assert torch.equal(twin.objective.module(classes()[0]), outputs)
        assert torch.equal(run(made, 3, classes()).w, twin.w)

    @pytest.mark.parametrize("directions", ["dense", "streamed"])
    @pytest.mark.parametrize("xi", [0.0, 1e-3])
    def test_a_loss_that_does_not_depend_on_the_parameters_moves_by_noise_alone(self, xi, directions):
        made = run(optimiser(FREE.replace(xi=xi), loss=lambda w, batch: 2.0 * batch[1], directions=directions), 2)
        assert made.steps == 2 and made.counts.clipped == 0

    def test_a_layer_without_forward_derivatives_says_what_to_do(self):
        class Recurrent(nn.Module):
            def __init__(self):
                super().__init__()
                self.rnn, self.last = nn.LSTM(6, 4, batch_first=True), nn.Linear(4, 3)

            def forward(self, X):
                return self.last(self.rnn(X.unsqueeze(1))[0][:, -1])

        X, y = classes()
        with pytest.raises(ValueError, match=r"xi = 0 is not allowed here: torch has no forward-mode derivative of \S+; give"):
            run(over(Recurrent(), xi=0.0), 1, (X.float(), y))

    @pytest.mark.parametrize("given", [list, iter], ids=["list", "iterator"])
    def test_parameters_alone_are_refused_with_what_to_give(self, given):
        for make in (
            lambda p: NoisyZOGD(p, cross_entropy, FREE, sources=Sources(1, 2)),
            lambda p: NoisyZOGD.for_epsilon(p, cross_entropy, n=24, epsilon=1.0, delta=1e-5, T=3, lr=0.1),
        ):
            with pytest.raises(TypeError, match="are not allowed: give the module itself"):
                make(given(list(network().parameters())))

    def test_the_advice_for_a_swamped_quotient_is_not_what_one_has(self):
        module = network().bfloat16()
        usual = 1e-3 * TRAINED**0.5
        with pytest.raises(
            ValueError,
            match=f"xi = {usual:g} is not allowed .* Take xi = {4 * usual:.2g}, a more precise kind",
        ):
            run(over(module, xi=usual), 1, (classes()[0].bfloat16(), classes()[1]))

    def test_a_usual_run_is_not_told_that_something_was_not_met(self):
        assert "[not met]" not in repr(run(optimiser(FREE), 2).privacy_report())
