"""What changes the run from outside: models, losses, batches, threads and arguments that are not what they seem."""

from dataclasses import dataclass
from threading import Event, Thread

import pytest
import torch
from torch import nn
from torch.nn.utils import parametrizations, parametrize

from tests.convention import epsilon
from tests.mechanism.problems import DECLARED, SETTING, classes, cross_entropy, data, logistic, network, optimiser, run
from tests.mechanism.test_rounding import FREE
from zoexplore import Setting
from zoexplore.mechanism import Batch, Declared, Momentum, NoisyZOGD, Sources

MIXES = "a loss must depend on its own record alone"


def over(module, xi=1e-3, **options):
    d = sum(p.numel() for p in module.parameters() if p.requires_grad)
    return NoisyZOGD(module, cross_entropy, FREE.replace(d=d, xi=xi), sources=Sources(1, 2), **options)


def mean_of_the_batch(module, inputs, outputs):
    return outputs - outputs.mean(0)


class WithBuffer(nn.Linear):
    """Learns the mean of what it sees, once it is told to."""

    def __init__(self):
        super().__init__(6, 3, dtype=torch.float64)
        self.register_buffer("seen", torch.zeros(6, dtype=torch.float64))
        self.learns = False

    def forward(self, X):
        if self.learns:
            self.seen.lerp_(X.mean(0), 0.5)
        return super().forward(X - self.seen)


class TestModules:
    """What lets records meet in a later step is found in that step."""

    @pytest.mark.parametrize("xi", [0.0, 1e-3])
    @pytest.mark.parametrize(
        "hook", [nn.Module.register_forward_hook, lambda m, f: m.register_forward_pre_hook(lambda m, x: (f(m, x, x[0]),))]
    )
    def test_a_hook_that_mixes_records(self, hook, xi):
        module = network()
        made = run(over(module, xi), 2, classes())
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
        with pytest.raises(ValueError, match=r"the buffer 'seen' was changed|a loss must depend on its own record alone"):
            run(made, 2, classes())

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

    @pytest.mark.parametrize("xi, register", [(1e-3, parametrizations.weight_norm), (0.0, parametrizations.orthogonal)])
    def test_one_that_was_there_trains(self, xi, register):
        module = network()
        register(module[0])
        assert run(over(module, xi), 3, classes()).steps == 3

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

    def test_two_optimisers_on_one_module(self):
        """Each one's report is of its own steps: the other's are noticed, whether they share generators or not."""
        module, sources = network(), Sources(1, 2)
        one, other = (NoisyZOGD(module, cross_entropy, FREE.replace(d=51), sources=sources) for _ in range(2))
        run(one, 1, classes())
        with pytest.raises(RuntimeError, match=r"another NoisyZOGD has moved '0\.weight'"):
            run(other, 1, classes())

    def test_autocast_that_is_switched_on_between_steps(self):
        module = network().float()
        made, batch = over(module, xi=1.0), (classes()[0].float(), classes()[1])
        run(made, 1, batch)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            run(made, 1, batch)
        assert made.w.dtype == torch.float32 and made.privacy_report().epsilon == epsilon(
            made.setting.replace(T=2), "composition"
        )


class TestLosses:
    @pytest.mark.parametrize("scale", [1e-9, 1e9])
    def test_losses_of_any_size_that_mix_records(self, scale):
        """The clip says how much matters."""

        def mixing(w, batch):
            return scale * (logistic(w, batch) - logistic(w, batch).mean())

        with pytest.raises(ValueError, match=MIXES):
            run(optimiser(FREE.replace(clip=scale), loss=mixing), 1)
        assert run(optimiser(FREE.replace(clip=scale), loss=lambda w, b: scale * logistic(w, b)), 1).steps == 1

    def test_losses_in_single_precision_divided_by_how_many_there_are(self):
        def mixing(w, batch):
            return (logistic(w, batch) - logistic(w, batch).mean()) / 1e4

        with pytest.raises(ValueError, match=MIXES):
            run(optimiser(FREE.replace(clip=1e-4), start=torch.zeros(6), loss=mixing), 1, tuple(x.float() for x in data()))

    def test_a_loss_that_makes_a_step(self):
        made = None

        def loss(w, batch):
            if made is not None:
                made.step(made.batch(data()))
            return logistic(w, batch)

        made = optimiser(FREE, loss=loss)
        with pytest.raises(RuntimeError, match="a step is being made"):
            run(made, 1)
        assert made.steps == 0

    def test_two_threads_make_one_step_after_the_other(self):
        inside, go_on, refused = Event(), Event(), []

        def loss(w, batch):
            inside.set()
            go_on.wait(30)
            return logistic(w, batch)

        made = optimiser(FREE, loss=loss)
        thread = Thread(target=run, args=(made, 1))
        thread.start()
        assert inside.wait(30)
        try:
            run(made, 1)
        except RuntimeError as error:
            refused.append(str(error))
        go_on.set()
        thread.join()
        assert len(refused) == 1 and "a step is being made" in refused[0]
        assert run(made, 2).steps == 3


class Extra(nn.Linear):
    """Looks at something beside its records."""

    def forward(self, X, extra):
        return super().forward(X) * sum(extra)


@dataclass
class Graph:
    """Of a kind that nobody can cut into records."""

    X: torch.Tensor


class TestBatches:
    """All of a batch belongs to its records, one each."""

    @pytest.mark.parametrize("extra", [[1.0] * 24, ["a"] * 24, 3.0, Graph(torch.ones(24))], ids=lambda x: type(x).__name__)
    def test_what_is_not_a_tensor_would_be_every_records(self, extra):
        """A list of numbers would reach the model whole, with every part of the batch."""
        X, y = classes()
        made = over(Extra(6, 3, dtype=torch.float64))
        with pytest.raises(ValueError, match=r"a batch of .* is not allowed: give tensors"):
            run(made, 1, {"X": X, "extra": extra, "labels": y})

    def test_entries_that_are_nothing_are_fine(self):
        X, y = classes()
        assert run(over(network()), 1, {"input": X, "labels": y}).steps == 1

        class Optional(nn.Linear):
            def forward(self, X, mask=None):
                assert mask is None
                return super().forward(X)

        assert run(over(Optional(6, 3, dtype=torch.float64)), 2, {"X": X, "mask": None, "labels": y}).steps == 2

    def test_strings_of_a_data_set(self):
        X, y = classes()
        with pytest.raises(ValueError, match="a batch of str is not allowed"):
            run(over(network()), 1, [(x, "words", c) for x, c in zip(X, y, strict=True)])

    @pytest.mark.parametrize("change", [lambda x: x[:-1], lambda x: x.repeat(2, 1), lambda x: x[None], lambda x: x[0, 0]])
    def test_more_or_fewer_records_than_were_drawn(self, change):
        made = over(network())
        batch = made.batch(classes())
        with pytest.raises(ValueError, match="give 24 records in the first dimension"):
            made.step(Batch(batch.records, (change(batch.data[0]), batch.data[1])))

    def test_a_data_set_that_grows(self):
        X, y = data(30)
        rows = list(zip(X[:24], y[:24], strict=True))
        made = run(optimiser(FREE.replace(batch=4)), 1, rows)
        rows.append((X[24], y[24]))
        with pytest.raises(ValueError, match="a data set of 25 records is not allowed: give one of n = 24"):
            run(made, 1, rows)

    def test_a_hook_that_hands_over_another_batch(self):
        made = over(network())
        made.register_step_pre_hook(lambda optimiser, args, kwargs: ((optimiser, torch.ones(2)), kwargs))
        with pytest.raises(TypeError, match="a batch of the type Tensor is not allowed"):
            run(made, 1, classes())

    def test_a_hook_that_changes_the_learning_rate_is_counted_with_it(self):
        made = over(network())
        made.register_step_pre_hook(lambda optimiser, args, kwargs: optimiser.param_groups[0].update(lr=0.5))
        run(made, 1, classes())
        assert [step.eta for step, _ in made.record.stages] == [1.5]

    def test_a_hook_that_changes_the_parameters_is_noticed(self):
        module = network()
        made = over(module)
        made.register_step_post_hook(lambda *_: module[0].weight.data.mul_(1.1))
        with pytest.raises(RuntimeError, match="changed since the last step"):
            run(made, 2, classes())


class Deaf(Setting):
    """Reports another sigma than it runs with."""

    def replace(self, **changes):
        return Setting.replace(self, **changes | {"sigma": 1e3})


class Mute(Momentum):
    def __repr__(self):
        return ""


class TestKinds:
    """What answers otherwise than it was asked is refused."""

    @pytest.mark.parametrize(
        "options",
        [
            {"setting": Deaf(**FREE.as_dict())},
            {"post_processing": Mute(0.9)},
            {"declared": type("Told", (Declared,), {})()},
            {"sources": type("Silent", (Sources,), {})(1, 2)},
        ],
        ids=lambda options: next(iter(options)),
    )
    def test_of_a_class_of_ones_own(self, options):
        with pytest.raises(TypeError, match=f"{next(iter(options))} of the type .* is not allowed: give a plain"):
            optimiser(**options)

    @pytest.mark.parametrize("name", ["K", "eta", "xi", "R", "n"])
    def test_of_what_is_not_to_vary(self, name):
        with pytest.raises(ValueError, match=f"a schedule of '{name}' is not allowed"):
            optimiser(schedule={name: [1.0] * 8})

    def test_of_a_setting_that_is_changed_by_its_fields(self):
        with pytest.raises(AttributeError):
            optimiser().setting.sigma = 1.0

    @pytest.mark.parametrize("d, K", [(1, 1), (6, 6), (2, 1)])
    def test_all_directions_and_one_dimension_are_counted_as_any(self, d, K):
        made = run(optimiser(FREE.replace(d=d, K=K), loss=lambda w, X: X @ w), 8, data(24, d)[0])
        assert made.privacy_report().epsilon == epsilon(FREE.replace(d=d, K=K), "composition")


class TestForEpsilon:
    """From a target however small or large to a report of no more."""

    @pytest.mark.parametrize("target, delta", [(1e-9, 1e-5), (1e-3, 1e-12), (2.0, 1e-200), (2.0, 0.1), (1e5, 1e-5)])
    @pytest.mark.parametrize("batch", [None, 3])
    def test_targets(self, target, delta, batch):
        made = NoisyZOGD.for_epsilon(
            network(),
            cross_entropy,
            n=24,
            epsilon=target,
            delta=delta,
            T=3,
            K=3,
            lr=0.1,
            batch=batch,
            sources=Sources(1, 2),
            show=str,
        )
        assert target / 2 < run(made, 3, classes()).privacy_report(released="all").epsilon <= target

    @pytest.mark.parametrize(
        "options", [{"epsilon": 0.0}, {"epsilon": -1.0}, {"delta": 0.0}, {"delta": 1.0}, {"schedule": {"sigma": [1e-9] * 5}}]
    )
    def test_what_no_noise_meets_or_what_would_undo_it(self, options):
        with pytest.raises(ValueError, match="is not allowed"):
            NoisyZOGD.for_epsilon(
                network(), cross_entropy, **{"n": 24, "epsilon": 1.0, "delta": 1e-5, "T": 5, "lr": 0.1} | options
            )


class Halved(torch.autograd.Function):
    """Has derivatives in forward mode alone."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x):
        return x / 2

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass

    @staticmethod
    def jvp(ctx, tangent):
        return tangent / 2


@pytest.mark.parametrize("options", [{}, {"skip_idle_clip": True}], ids=str)
def test_gradients_are_taken_in_place_of_quotients_only_where_they_are_asked_for(options):
    made = optimiser(SETTING, loss=lambda w, batch: Halved.apply(logistic(w, batch)), declared=DECLARED, **options)
    if options:
        with pytest.raises(NotImplementedError):
            run(made, 1)
    else:
        assert run(made, 1).steps == 1
