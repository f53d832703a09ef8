"""Ways to a report that says less than was spent: each ends in a refusal, or in a report that says
so.
"""

import copy
import ctypes
import json
import os
from math import inf
from typing import ClassVar

import pytest
import torch
from torch import nn

from tests.effort import proof
from tests.mechanism.problems import (
    FREE,
    SETTING,
    classes,
    composed,
    cross_entropy,
    data,
    network,
    optimiser,
    over,
    run,
    says_nothing,
)
from zoexplore import compose
from zoexplore.mechanism import Declared, NoisyZOGD, PrivateSampler, Sources, mark_moved
from zoexplore.mechanism.batches import Batch


class TestStates:
    """A saved state is loaded whole, or not at all."""

    @staticmethod
    def damaged(state, how):
        state = copy.deepcopy(state)
        how(state)
        return state

    WAYS: ClassVar = {
        "lacks its ledger": lambda s: s.pop("ledger"),
        "has a field of its own": lambda s: s.update(more=1),
        "a step lacks a field": lambda s: s["ledger"]["stages"][0][0].pop("sigma"),
        "a step has one more": lambda s: s["ledger"]["stages"][0][0].update(more=1),
        "counts of another kind": lambda s: s["counts"].update(more=1),
        "no batches": lambda s: s.update(draws=None),
        "no generators": lambda s: s["sources"]["states"].pop("directions"),
        "a generator that is none": lambda s: s["sources"]["states"].update(
            noise={"bit_generator": "PCG64DXSM"}
        ),
        "weights that are none": lambda s: s.update(w=[None]),
        "another version": lambda s: s.update(version=0),
        "no version": lambda s: s.pop("version"),
    }

    @pytest.mark.parametrize("how", WAYS.values(), ids=WAYS)
    def test_that_is_damaged_changes_nothing(self, how):
        saved, made = run(optimiser(FREE), 3), run(optimiser(FREE), 1)
        twin = run(optimiser(FREE), 1)
        with pytest.raises(ValueError, match="state"):
            made.load_state_dict(self.damaged(saved.state_dict(), how))
        assert composed(made) == composed(twin)
        assert torch.equal(run(made, 2).w, run(twin, 2).w)

    @pytest.mark.parametrize("state", [None, {}, [1]], ids=str)
    def test_that_is_none_is_refused_in_words(self, state):
        with pytest.raises(ValueError, match="a state of the version None is not allowed"):
            optimiser(FREE).load_state_dict(state)

    @pytest.mark.parametrize("where", ["renew", "claim", "changes"])
    def test_that_is_interrupted_leaves_a_run_that_says_so(self, monkeypatch, where):
        def stop(*_, **__):
            raise KeyboardInterrupt

        saved, made = run(optimiser(FREE), 5), run(optimiser(FREE), 1)
        with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
            patch.setattr(made._run.watch.fingerprint, where, stop)
            made.load_state_dict(saved.state_dict())
        if torch.equal(made.w, saved.w):
            assert made.privacy_report().epsilon == inf
            with pytest.raises(RuntimeError, match="interrupted while it moved the parameters"):
                run(made, 1)
        made.load_state_dict(saved.state_dict())
        assert run(made, 1).steps == 6 and composed(made) < inf


class TestLoadedWeights:
    """Weights of unknown steps are moved only after the state that was saved with them is loaded."""

    def test_no_step_is_made_on_them(self):
        module = network()
        made = run(over(module), 3, classes())
        weights, state = copy.deepcopy(module.state_dict()), made.state_dict(weights=False)
        again = network()
        again.load_state_dict(weights)
        mark_moved(again)
        resumed = over(again)
        with pytest.raises(
            RuntimeError,
            match=r"'0\.weight' was loaded, and it is not known what the steps that led there cost",
        ):
            run(resumed, 1, classes())
        resumed.load_state_dict(state)
        assert run(resumed, 1, classes()).steps == 4
        assert torch.equal(resumed.w, run(made, 1, classes()).w)

    def test_a_state_of_others_does_not_free_them(self):
        module = network()
        state = run(over(module), 3, classes()).state_dict(weights=False)
        again = network()
        mark_moved(again)
        made = over(again)
        with pytest.raises(ValueError, match="load the model that was saved"):
            made.load_state_dict(state)
        with pytest.raises(RuntimeError, match="was loaded"):
            run(made, 1, classes())

    def test_nor_is_a_part_of_them_trained(self):
        module = network()
        mark_moved(module)
        module[0].requires_grad_(False)
        with pytest.raises(RuntimeError, match="was loaded"):
            run(over(module), 1, classes())


class Remembering(nn.Linear):
    """Keeps records in what a state_dict has beside tensors."""

    def __init__(self):
        super().__init__(6, 3, dtype=torch.float64)
        self.seen = []

    def forward(self, X):
        self.seen.append(X.detach().clone())
        return super().forward(X)

    def get_extra_state(self):
        return {"seen": self.seen}

    def set_extra_state(self, state):
        self.seen = state["seen"]


class Growing(nn.Linear):
    """Keeps records in a buffer that is not saved."""

    def __init__(self, begin=0):
        super().__init__(6, 3, dtype=torch.float64)
        self.register_buffer("cache", torch.empty(0, 6, dtype=torch.float64), persistent=False)
        self.calls, self.begin = 0, begin

    def forward(self, X):
        self.calls += 1
        if self.calls > self.begin:
            self.cache = torch.cat([self.cache, X.detach()])
        return super().forward(X)


class OfTheBatch(Growing):
    """Keeps the last batch, whose size varies."""

    def forward(self, X):
        self.cache = X.detach().clone()
        return nn.Linear.forward(self, X)


class TestWhatAModuleKeeps:
    def test_is_vouched_for_and_so_is_what_records_were_prepared_with(self):
        said = repr(run(optimiser(FREE), 1).privacy_report())
        assert (
            "Module: it keeps nothing of the records" in said
            and "nor the means, vocabulary or columns" in said
        )

    def test_beside_parameters_is_a_flaw(self):
        made = over(Remembering())
        with pytest.raises(
            RuntimeError,
            match="'_extra_state', which this run does not train, changed since it began",
        ):
            run(made, 1, classes())
        assert made.steps == 0

    def test_beside_parameters_may_stay_as_it_was(self):
        class Settled(Remembering):
            def forward(self, X):
                return nn.Linear.forward(self, X)

        module = Settled()
        made = run(over(module), 2, classes())
        assert composed(made) < inf
        again = Settled()
        again.load_state_dict(module.state_dict())
        again.seen.append(1)
        with pytest.raises(ValueError, match="the saved run had frozen '_extra_state'"):
            over(again).load_state_dict(made.state_dict())

    @pytest.mark.parametrize("module", [Growing, OfTheBatch])
    def test_in_a_buffer_that_grows_is_found(self, module):
        poisson = {"sampling": "poisson", "neighbours": "add-remove", "batch": 6}
        made = NoisyZOGD(
            module(), cross_entropy, FREE.replace(d=21, xi=1e-3, **poisson), sources=Sources(3, 4)
        )
        with pytest.raises(ValueError, match="'cache' was changed while losses were computed"):
            run(made, 1, classes())
        assert made.steps == 0

    def test_from_a_later_step_on_is_a_flaw(self):
        module = Growing(begin=10**9)
        made = run(over(module), 2, classes())
        module.begin = 0
        run(made, 1, classes())
        with pytest.raises(ValueError, match="'cache' was changed"):
            run(made, 1, classes())
        assert says_nothing(made, "'cache' was changed")


def test_a_loss_that_writes_where_torch_does_not_count_moves_nothing_unseen():
    module, armed = network(), []
    numbers = module[0].weight.detach().numpy()

    def loss(outputs, targets):
        if armed:
            numbers[0, 0] += 16
        return cross_entropy(outputs, targets)

    made = run(
        NoisyZOGD(
            module, loss, FREE.replace(d=51, xi=1e-3), sources=Sources(1, 2), keep_copy=False
        ),
        2,
        classes(),
    )
    armed.append(True)
    with pytest.raises(RuntimeError, match="changed since the last step"):
        run(made, 1, classes())
    assert made.steps == 2 and says_nothing(made, "changed since the last step")


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_fork_with_its_parents_number_draws_other_noise(monkeypatch):
    """As in another namespace, where both may be process 1."""
    monkeypatch.setattr(os, "getpid", lambda: 1)
    sources = Sources.secure()
    out, into = os.pipe()
    if (child := os.fork()) == 0:
        numbers = sources.noise.random(3).tolist(), sources.data.random(3).tolist()
        os.write(into, json.dumps(numbers).encode())
        os._exit(0)
    os.waitpid(child, 0)
    numbers = json.loads(os.read(out, 1000))
    assert (
        numbers[0] != sources.noise.random(3).tolist()
        and numbers[1] != sources.data.random(3).tolist()
    )


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_fork_that_python_does_not_see_draws_other_noise():
    """As a library makes one, after which no hook is run."""
    sources = Sources.secure()
    out, into = os.pipe()
    if (child := ctypes.CDLL(None).fork()) == 0:
        os.write(into, json.dumps(sources.noise.random(3).tolist()).encode())
        os._exit(0)
    os.waitpid(child, 0)
    assert json.loads(os.read(out, 1000)) != sources.noise.random(3).tolist()


def test_two_demonstrations_of_one_noise_are_not_composed():
    reports = [run(optimiser(FREE, seeds=(i, 2)), 2).privacy_report(released="all") for i in (1, 3)]
    with pytest.raises(ValueError, match="may share their noise"):
        compose(reports)


def test_a_copy_of_a_run_s_model_is_moved_by_no_other_run():
    module = network()
    copied, _ = copy.deepcopy((module, run(over(module), 3, classes())))
    with pytest.raises(RuntimeError, match="another NoisyZOGD has moved"):
        run(over(copied), 1, classes())


def test_an_interruption_where_w_is_copied_changes_nothing(monkeypatch):
    """Nothing moves until the copy that brings w back is whole."""
    made = run(optimiser(FREE.replace(xi=1e-2)), 2)
    before = made.w

    def stop(block):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(torch.Tensor, "clone", stop)
        run(made, 1)
    assert torch.equal(made.w, before) and run(made, 1).steps == 3 and composed(made) < inf


class Prepared:
    """Collates records less a share of their batch's mean."""

    def __init__(self, share, begin=0):
        self.share, self.calls, self.begin = share, 0, begin

    def __call__(self, records):
        self.calls += 1
        X, y = (torch.stack([row[i] for row in records]) for i in (0, 1))
        return X - self.share * (self.calls > self.begin) * X.mean(0), y


class TestCollators:
    """What is made of a record before its loss is of that record alone, too."""

    records: ClassVar = list(zip(*classes(), strict=True))

    @pytest.mark.parametrize("begin", [0, 12])
    def test_that_look_at_the_batch_are_refused(self, begin):
        made, mixing = over(network()), Prepared(1e-6, begin)
        with pytest.raises(
            ValueError, match="a collator makes a record's part of the batch of other records too"
        ):
            for batch in made.batches(self.records, collate_fn=mixing):
                made.step(batch)
        assert made.steps == (3 if begin else 0) and (
            begin == 0 or says_nothing(made, "of the steps before were so")
        )

    @pytest.mark.parametrize("loaded", [False, True])
    def test_and_at_a_runs_last_batch(self, loaded):
        made, mixing = over(network(), T=3), Prepared(1e-6, 11)
        loader = PrivateSampler(made, self.records).loader(mixing)
        with pytest.raises(ValueError, match="a collator makes"):
            for batch in loader if loaded else made.batches(self.records, collate_fn=mixing):
                made.step(batch)
        assert made.steps == 2 and says_nothing(made, "of the steps before were so")

    @pytest.mark.parametrize("workers", [0, proof(1)])
    def test_of_a_loader_too(self, workers):
        made = over(network())
        (first, *_) = PrivateSampler(made, self.records).loader(Prepared(0.1), num_workers=workers)
        with pytest.raises(ValueError, match="a collator makes"):
            made.step(first)

    def test_that_draw_and_change_records_are_taken(self):
        def collate(records):
            X = torch.stack([record.pop("x") for record in records])
            return X + torch.rand(X.shape[0], 1), torch.tensor(
                [record.pop("y") for record in records]
            )

        made, twin = over(network()), over(network())
        records, same = ([{"x": x, "y": int(y)} for x, y in self.records] for _ in "ab")
        torch.manual_seed(3)
        made.step(made.batch(records, collate_fn=collate))
        torch.manual_seed(3)
        twin.step(Batch(twin.drawn(0), collate(same)))
        assert torch.equal(made.w, twin.w)


def test_the_order_of_cyclic_batches_stays_where_a_run_goes_on():
    X, y = classes()
    cyclic = {"sampling": "cyclic", "batch": 6}
    made, again = (
        NoisyZOGD(
            network(), cross_entropy, FREE.replace(d=51, xi=1e-3, **cyclic), sources=Sources(1, 2)
        )
        for _ in "ab"
    )
    again.load_state_dict(run(made, 4, (X, y)).state_dict())
    run(again, 1, (X.flip(0), y.flip(0)))
    assert says_nothing(again, "the order of the data changed")


def test_a_scale_told_by_the_data_themselves_is_not_public():
    X, y = classes()
    target = {"epsilon": 3.0, "delta": 1e-4, "n": 24, "T": 8, "show": lambda said: None}
    of_others, of_these = (
        NoisyZOGD.for_epsilon(
            network(), cross_entropy, scale_from=(told, y[:8]), sources=Sources(1, 2), **target
        )
        for told in (X[:8] + 1, X[:8])
    )
    assert composed(run(of_others, 2, (X, y))) < inf
    assert says_nothing(
        run(of_these, 2, (X, y)), "that told the scale, as public ones, are of these data"
    )


class TestRounding:
    """Products in fewer digits are refused, as autocast is."""

    @pytest.fixture(autouse=True)
    def as_before(self):
        yield
        torch.set_float32_matmul_precision("highest")
        torch.backends.mkldnn.matmul.fp32_precision = torch.backends.mkldnn.conv.fp32_precision = (
            "none"
        )

    @staticmethod
    def step(module, made=None):
        made = made or NoisyZOGD(
            module,
            cross_entropy,
            FREE.replace(d=sum(p.numel() for p in module.parameters()), xi=0.3),
            sources=Sources(1, 2),
        )
        kind = next(module.parameters()).dtype
        return run(made, 1, (classes()[0].to(kind), classes()[1]))

    @pytest.mark.parametrize("precision", ["high", "medium"])
    def test_by_the_old_switch(self, precision):
        torch.set_float32_matmul_precision(precision)
        with pytest.raises(RuntimeError, match=r"products in (tf32|bf16) is not allowed"):
            self.step(network().float())
        assert self.step(network()).steps == 1  # in double precision it has no effect

    def test_by_the_module_itself_rounds_losses_as_autocast_in_it_does(self):
        class Coarse(nn.Linear):
            def forward(self, X):
                torch.set_float32_matmul_precision("medium")
                try:
                    return super().forward(X)
                finally:
                    torch.set_float32_matmul_precision("highest")

        assert (
            self.step(Coarse(6, 3)).record.halves and not self.step(nn.Linear(6, 3)).record.halves
        )

    def test_by_the_new_one_and_of_what_the_module_has(self):
        torch.backends.mkldnn.conv.fp32_precision = "bf16"
        assert self.step(network().float()).steps == 1
        with pytest.raises(RuntimeError, match=r"conv\.fp32_precision"):
            self.step(nn.Sequential(nn.Unflatten(1, (1, 6)), nn.Conv1d(1, 1, 4), nn.Flatten()))


class TestSharesAtTheEdges:
    """A report is written for every share and every schedule of the rate."""

    @pytest.mark.parametrize("rates", [1.0, 0.7], ids=["constant", "falling"])
    @pytest.mark.parametrize("cooldown", [0, 3, 8])
    @pytest.mark.parametrize("beta", [0.0, 1.0])
    def test_it_has_every_bound_or_why_not(self, beta, cooldown, rates):
        declared = Declared("strongly-convex", M=0.75, m=0.5, lipschitz=1.0)
        setting = SETTING.replace(beta=beta, d=6, cooldown=cooldown, cooldown_beta=1 - beta)
        made = optimiser(setting, declared=declared)
        rate = torch.optim.lr_scheduler.ExponentialLR(made, rates)
        for _ in range(8):
            run(made, 1, data())
            rate.step()
        report = made.privacy_report()
        assert composed(made) < inf and all(g.valid or g.reason for g in report.guarantees.values())
        assert report.epsilon <= composed(made)
