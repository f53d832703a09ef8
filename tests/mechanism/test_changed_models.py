"""What changes a model beside the run's own steps is found, and its report says so; what is usual
disturbs nothing.
"""

import copy
import io
import warnings
from math import inf
from typing import ClassVar

import pytest
import torch
from torch import nn
from torch.nn.utils import parametrizations, parametrize

from tests.convention import epsilon
from tests.mechanism.problems import (
    FREE,
    classes,
    composed,
    cross_entropy,
    learn,
    network,
    over,
    run,
    says_nothing,
)
from zoexplore.mechanism import NoisyZOGD, Sources
from zoexplore.mechanism import step as steps
from zoexplore.mechanism.checksums import Changed


def rescaled(module):
    """Learn, and then have the old length."""
    before = torch.nn.utils.parameters_to_vector(module.parameters()).detach()
    learn(module, lr=1e-3)
    after = torch.nn.utils.parameters_to_vector(module.parameters()).detach()
    torch.nn.utils.vector_to_parameters(after * before.norm() / after.norm(), module.parameters())


def swapped(module):
    weight = module[0].weight.data
    weight[0], weight[1] = weight[1].clone(), weight[0].clone()


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
        try:
            made.load_state_dict(state)
            # where nothing but numbers had changed the run goes on
            assert run(made, 1, classes()).steps == 3
        except RuntimeError as error:
            assert "parameters were replaced since" in str(
                error
            ) or "parameters were moved since" in str(error)
        assert made.privacy_report().epsilon == inf

    def test_also_after_the_last_step_and_in_a_state_that_is_saved(self):
        module = network()
        made = run(over(module), 8, classes())
        learn(module)
        assert says_nothing(
            made,
            "'0.bias', '0.weight', '2.bias' changed since the last step, and not by this run",
        )
        again = over(network())
        again.load_state_dict(made.state_dict())
        assert says_nothing(again, "changed since the last step")

    def test_stays_found_when_the_old_bits_come_back(self):
        module = network()
        made = run(over(module), 2, classes())
        module[0].weight.data.neg_()
        assert made.privacy_report().epsilon == inf
        module[0].weight.data.neg_()
        assert run(made, 1, classes()).steps == 3 and says_nothing(
            made, "changed since the last step"
        )

    @pytest.mark.parametrize("part", ["a frozen weight", "a buffer", "a loss's own weight"])
    def test_frozen_parts_and_buffers_too(self, part):
        module, loss = network(), Weighted()
        module[0].requires_grad_(False)
        module.register_buffer("scale", torch.ones(3, dtype=torch.float64))
        made = run(over(module, loss), 2, classes())
        state = made.state_dict()
        {
            "a frozen weight": module[0].weight,
            "a buffer": module.scale,
            "a loss's own weight": loss.weight,
        }[part].data[0] += 1e-9
        assert says_nothing(made, "which this run does not train, changed since it began")
        with pytest.raises(RuntimeError, match="which this run does not train"):
            run(made, 1, classes())
        if part == "a frozen weight":
            with pytest.raises(ValueError, match=r"the saved run had frozen '0\.weight'"):
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

        made = NoisyZOGD(
            module, loss, FREE.replace(d=51, xi=1e-3), sources=Sources(1, 2), keep_copy=keep_copy
        )
        run(made, 1, classes())
        on[0] = True
        with pytest.raises(
            RuntimeError, match="moved its own parameters while losses were computed"
        ):
            run(made, 1, classes())
        assert made.steps == 1 and says_nothing(made, "at step 2 the loss, or the module, moved")

    def test_a_second_optimiser_is_refused_until_it_goes_on_from_the_first(self):
        module = network()
        sources = Sources(1, 2)  # it does not matter whether they share generators
        one, other = over(module, sources=sources), over(module, sources=sources)
        run(one, 3, classes())
        for third in (other, over(module)):
            with pytest.raises(
                RuntimeError,
                match=r"another NoisyZOGD has moved '0\.weight': neither report would count",
            ):
                run(third, 1, classes())
        module[0].requires_grad_(False)
        with pytest.raises(RuntimeError, match="another NoisyZOGD has moved"):
            run(over(module), 1, classes())
        module[0].requires_grad_(True)
        other.load_state_dict(one.state_dict())
        assert run(other, 3, classes()).privacy_report().epsilon == epsilon(
            other.setting.replace(T=6), "composition"
        )
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


class TestParts:
    """Parts of a module that are put in the place of others, or share what they hold."""

    def test_parameters_that_are_exchanged(self):
        """The module would be another one than the steps move."""
        module = network()
        made = run(over(module), 1, classes())
        module[0].weight = nn.Parameter(torch.ones(4, 6, dtype=torch.float64))
        with pytest.raises(RuntimeError, match="the module's parameters were replaced"):
            run(made, 1, classes())

    def test_a_parametrization_that_comes_later(self):
        module = network()
        made = run(over(module), 1, classes())
        parametrize.register_parametrization(module[0], "weight", nn.Tanh())
        with pytest.raises(RuntimeError, match="the module's parameters were replaced"):
            run(made, 1, classes())

    @pytest.mark.parametrize(
        "xi, register", [(1e-3, parametrizations.weight_norm), (0.0, parametrizations.orthogonal)]
    )
    def test_one_that_was_there_trains(self, xi, register):
        module = network()
        register(module[0])
        assert run(over(module, xi=xi), 3, classes()).steps == 3

    def test_parameters_that_share_memory(self):
        module = nn.Sequential(nn.Linear(6, 6), nn.Linear(6, 6)).double()
        module[1].weight.data = module[0].weight.data
        with pytest.raises(ValueError, match="parameters that share memory are not allowed"):
            over(module)
        module[1].weight = module[0].weight
        assert over(module).setting.d == 48

    def test_requires_grad_says_what_is_trained_when_the_optimiser_is_made(self):
        module = network()
        made = run(over(module), 1, classes())
        module.requires_grad_(False)
        before = made.w
        assert not torch.equal(run(made, 1, classes()).w, before)
        assert made.record.setting.d == 51


class TestWhatIsTrainedLiesWhereItLay:
    def test_another_kind_of_numbers_is_noticed_and_other_memory_is_trained(self):
        module = network()
        made = run(over(module), 1, classes())
        module[0].weight.data = module[0].weight.data.clone()
        before = module[0].weight.clone()
        assert not torch.equal(run(made, 1, classes()).objective.trained["0.weight"], before)
        module.float()
        with pytest.raises(RuntimeError, match="parameters were moved"):
            run(made, 1, classes())


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


@pytest.mark.parametrize("where", ["at the projection", "at the fingerprint"])
def test_a_step_that_is_stopped_while_written_goes_on_only_from_a_state(where, monkeypatch):
    def stop(*_):
        raise KeyboardInterrupt

    made = run(over(network()), 2, classes())
    state = made.state_dict()
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        fingerprint = made._run.watch.fingerprint
        patch.setattr(
            *{
                "at the projection": (steps, "into_ball"),
                "at the fingerprint": (fingerprint, "renew"),
            }[where],
            stop,
        )
        run(made, 1, classes())
    assert made.steps == 3 and says_nothing(made, "interrupted")
    with pytest.raises(RuntimeError, match="interrupted while it moved the parameters"):
        run(made, 1, classes())
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


class TestHooksOfAStep:
    """Around a step, as torch calls them."""

    def test_a_hook_that_hands_over_another_batch(self):
        made = over(network())
        made.register_step_pre_hook(
            lambda optimiser, args, kwargs: ((optimiser, torch.ones(2)), kwargs)
        )
        with pytest.raises(TypeError, match="a batch of the type Tensor is not allowed"):
            run(made, 1, classes())

    def test_a_hook_that_changes_the_learning_rate_is_counted_with_it(self):
        made = over(network())
        made.register_step_pre_hook(
            lambda optimiser, args, kwargs: optimiser.param_groups[0].update(lr=0.5)
        )
        run(made, 1, classes())
        assert [step.eta for step, _ in made.record.stages] == [1.5]

    def test_a_hook_that_changes_the_parameters_is_noticed(self):
        module = network()
        made = over(module)
        made.register_step_post_hook(lambda *_: module[0].weight.data.mul_(1.1))
        with pytest.raises(RuntimeError, match="changed since the last step"):
            run(made, 2, classes())


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
