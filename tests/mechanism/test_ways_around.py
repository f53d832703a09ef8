"""Ways around the guards of the report, each closed; and usual ways to work, which no guard may disturb."""

import copy
import io
import os
import pickle
import warnings
from math import inf
from typing import ClassVar

import pytest
import torch
from torch import nn

from tests.mechanism.problems import DECLARED, SETTING, classes, cross_entropy, data, network, optimiser, run
from tests.mechanism.test_guards import learn, over, says_nothing
from tests.mechanism.test_rounding import FREE
from zoexplore.mechanism import Momentum, NoisyZOGD, Sources, together
from zoexplore.mechanism import optimiser as optimisers
from zoexplore.mechanism.watch import Changed


def composed(made):
    return made.privacy_report(released="all").epsilon


class TestALossThatFails:
    WAYS: ClassVar = {
        "a step": lambda module: learn(module, lr=1e-2),
        "data": lambda module: module[0].weight.data.add_(1),
    }

    @pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
    @pytest.mark.parametrize("keep_copy", [True, False])
    def test_after_it_moved_the_model_hides_nothing(self, way, keep_copy):
        module, armed = network(), []

        def loss(outputs, targets):
            if armed:
                armed.clear()
                with torch.enable_grad():
                    way(module)
                raise KeyboardInterrupt
            return cross_entropy(outputs, targets)

        setting = FREE.replace(d=51, xi=1e-3)
        made = NoisyZOGD(module, loss, setting, sources=Sources(1, 2), keep_copy=keep_copy)
        before = run(made, 2, classes()).w
        armed.append(True)
        with pytest.raises((KeyboardInterrupt, Changed)):
            run(made, 1, classes())
        assert torch.equal(made.w, before) or composed(made) == inf


class TestAState:
    @pytest.mark.parametrize("part", ["w", "kept"])
    def test_whose_numbers_were_changed_is_refused(self, part):
        made = optimiser(SETTING.replace(T=20), post_processing=Momentum(0.9))
        state = run(made, 2).state_dict()
        held = state[part][0] if part == "w" else state[part][0][0]
        held[0] += 1e-6
        with pytest.raises(ValueError, match="the state was changed"):
            made.load_state_dict(state)

    def test_of_a_model_is_loaded_after_the_optimiser_is_made_as_usual(self):
        def make(seed):
            torch.manual_seed(seed)
            module = nn.Sequential(nn.Linear(6, 4), nn.BatchNorm1d(4), nn.Linear(4, 3)).double().eval()
            module[0].weight.requires_grad_(False)
            module[1].running_mean += torch.rand(4)
            return module

        module, other = make(1), make(2)
        made, again = run(over(module), 2, classes()), over(other)
        state = made.state_dict()
        other.load_state_dict(module.state_dict())
        again.load_state_dict(state)
        assert composed(run(again, 2, classes())) == composed(run(made, 2, classes())) < inf

    def test_a_start_that_is_loaded_after_the_optimiser_is_made_is_the_start(self):
        module = network()
        made = over(module)
        module.load_state_dict({name: x + 1 for name, x in module.state_dict().items()})
        assert composed(run(made, 2, classes())) < inf
        module.load_state_dict({name: x + 1 for name, x in module.state_dict().items()})
        assert says_nothing(made, "changed since the last step")


class TestACopyOfAnOptimiserWithAScheduler:
    def test_makes_its_own_steps(self):
        made = over(network())
        torch.optim.lr_scheduler.LinearLR(made, total_iters=3)
        run(made, 1, classes())
        other, before = copy.deepcopy(made), made.w
        assert "step" not in vars(other)  # a wrapper that no pickle holds
        run(other, 1, classes())
        assert (made.steps, other.steps) == (1, 2) and torch.equal(made.w, before)


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_what_a_forked_process_makes_is_another_branch():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        made = run(optimiser(SETTING.replace(T=20), sources=Sources.secure()), 2)
        reader, writer = os.pipe()
        if (child := os.fork()) == 0:
            try:
                os.write(writer, pickle.dumps(run(made, 4).privacy_report(released="all")))
            finally:
                os._exit(0)
        theirs = pickle.loads(os.read(reader, 10**6))
        os.waitpid(child, 0)
        own = run(made, 4).privacy_report(released="all")
    finally:
        torch.set_num_threads(threads)
    assert own.epsilon == theirs.epsilon < together([own, theirs]).epsilon < inf


def test_records_that_become_equal_are_warned_of():
    X, y = (x.clone() for x in classes())
    made = over(network())
    made.step(made.batch((X, y)))
    X[:], y[:] = X[0].clone(), y[0].clone()
    with pytest.warns(UserWarning, match="23 of the 24 records seen so far equal"):
        made.step(made.batch((X, y)))
    assert "23 records equal another one" in repr(made.privacy_report())


@pytest.mark.parametrize("halves", [True, False])
def test_a_module_that_computes_in_half_precision_by_itself_leaves_composition(halves):
    class OfItsOwn(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(6, 1, bias=False)

        def forward(self, X):
            with torch.autocast("cpu", dtype=torch.bfloat16, enabled=halves):
                return self.layer(X).float().squeeze(1)

    X, y = data()
    made = NoisyZOGD(
        OfItsOwn(),
        lambda outputs, targets: nn.functional.softplus(-targets * outputs),
        SETTING.replace(xi=0.05),
        sources=Sources(1, 2),
        declared=DECLARED,
    )
    found = run(made, 2, (X.float(), y.float())).privacy_report().guarantees
    assert found["composition"].valid and found["sharp"].valid is not halves
    assert halves == ("half precision" in found["sharp"].reason)


def test_a_model_that_a_stopped_step_left_somewhere_has_no_report(monkeypatch):
    def stop(*_):
        raise KeyboardInterrupt

    made = run(over(network()), 2, classes())
    state = made.state_dict()
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(optimisers, "into_ball", stop)
        run(made, 1, classes())
    assert says_nothing(made, "interrupted")
    made.load_state_dict(state)
    assert composed(made) < inf


def test_a_loss_that_is_a_method_of_a_module_is_watched_as_one():
    class WithAHead(nn.Module):
        def __init__(self):
            super().__init__()
            self.head = nn.Linear(3, 3).double()

        def losses(self, outputs, targets):
            return cross_entropy(self.head(outputs), targets)

    teacher = WithAHead()
    made = run(over(network(), teacher.losses), 2, classes())
    assert composed(made) < inf
    teacher.head.weight.data += 1
    assert says_nothing(made, "'loss.head.weight', which this run does not train")


def test_parts_that_are_merged_after_the_run_are_named():
    class Merged(nn.Module):
        def __init__(self):
            super().__init__()
            self.base, self.adapter = nn.Linear(6, 3).double(), nn.Linear(6, 3, bias=False).double()
            self.base.requires_grad_(False)

        def forward(self, X):
            return self.base(X) + self.adapter(X)

    module = Merged()
    made = run(over(module), 2, classes())
    module.base = nn.Sequential(nn.Linear(6, 3).double())
    assert says_nothing(made, "'base.0.weight', which this run does not train, changed")


class TestUsualWaysToWork:
    def test_evaluation_an_average_and_a_copy_between_steps(self):
        module = network()
        made = over(module, T=20)
        average = torch.optim.swa_utils.AveragedModel(module)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for _ in range(5):
                run(made, 1, classes())
                average.update_parameters(module)
                module.train()
                cross_entropy(module.eval()(classes()[0]), classes()[1]).mean().backward()
                module.zero_grad()
                copy.deepcopy(module).float()
                torch.save(module.state_dict(), io.BytesIO())
        assert composed(made) < inf

    def test_accelerate_wraps_it(self):
        accelerate = pytest.importorskip("accelerate")
        made = over(network(), T=20)
        _, wrapped = accelerate.Accelerator(cpu=True).prepare(made.objective.module, made)
        for _ in range(3):
            wrapped.step(made.batch(classes()))
        assert made.steps == 3 and composed(made) < inf
