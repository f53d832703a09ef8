"""What answers otherwise than it was asked, or what no report would count, is refused."""

import re
import subprocess
import sys

import pytest
from torch import distributed

from tests.convention import epsilon
from tests.mechanism.problems import (
    FREE,
    SETTING,
    classes,
    cross_entropy,
    data,
    network,
    optimiser,
    over,
    run,
)
from zoexplore import Setting
from zoexplore.__main__ import main
from zoexplore.mechanism import Declared, NoisyZOGD, Sources
from zoexplore.questions.export import from_yaml


class Deaf(Setting):
    """Reports another sigma than it runs with."""

    def replace(self, **changes):
        return Setting.replace(self, **changes | {"sigma": 1e3})


class TestKinds:
    """What answers otherwise than it was asked is refused."""

    @pytest.mark.parametrize(
        "options",
        [
            {"setting": Deaf(**FREE.as_dict())},
            {"declared": type("Other", (Declared,), {})()},
            {"sources": type("Silent", (Sources,), {})(1, 2)},
        ],
        ids=lambda options: next(iter(options)),
    )
    def test_of_a_class_of_ones_own(self, options):
        with pytest.raises(
            TypeError, match=f"{next(iter(options))} of the type .* is not allowed: give a plain"
        ):
            optimiser(**options)

    def test_of_a_setting_that_is_changed_by_its_fields(self):
        with pytest.raises(AttributeError):
            optimiser().setting.sigma = 1.0

    @pytest.mark.parametrize("d, K", [(1, 1), (6, 6), (2, 1)])
    def test_all_directions_and_one_dimension_are_counted_as_any(self, d, K):
        made = run(optimiser(FREE.replace(d=d, K=K), loss=lambda w, X: X @ w), 8, data(24, d)[0])
        assert made.privacy_report().epsilon == epsilon(FREE.replace(d=d, K=K), "composition")


class TestForEpsilon:
    """From a target however small or large to a report of no more."""

    @pytest.mark.parametrize(
        "target, delta", [(1e-9, 1e-5), (1e-3, 1e-12), (2.0, 1e-200), (2.0, 0.1), (1e5, 1e-5)]
    )
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
            clip=1.0,
            xi=0.01,
            batch=batch,
            sources=Sources(1, 2),
            show=str,
        )
        assert target / 2 < run(made, 3, classes()).privacy_report(released="all").epsilon <= target

    @pytest.mark.parametrize(
        "options", [{"epsilon": 0.0}, {"epsilon": -1.0}, {"delta": 0.0}, {"delta": 1.0}], ids=str
    )
    def test_what_no_noise_meets_or_what_would_undo_it(self, options):
        with pytest.raises(ValueError, match="is not allowed"):
            NoisyZOGD.for_epsilon(
                network(),
                cross_entropy,
                **{"n": 24, "epsilon": 1.0, "delta": 1e-5, "T": 50} | options,
            )


def test_the_command_s_plan_says_how_to_train_it(tmp_path, capsys):
    drawn = "sampling: poisson\nneighbours: add-remove"
    (tmp_path / "run.yaml").write_text(f"n: 24\nd: 51\ndelta: 1e-4\nbatch: 6\nK: 1\nT: 50\n{drawn}")
    assert main(["plan", str(tmp_path / "run.yaml"), "--epsilon", "2"]) == 0
    text = capsys.readouterr().out
    (call,) = re.findall(r"NoisyZOGD\.for_epsilon\(model, loss, (.*)\) trains it", text)
    options = eval(f"dict({call})") | {"sources": Sources(1, 2), "show": str}
    made, plan = (
        NoisyZOGD.for_epsilon(network(), cross_entropy, **options),
        from_yaml(text).setting,
    )
    for name in (
        "n",
        "d",
        "T",
        "K",
        "batch",
        "delta",
        "beta",
        "sampling",
        "neighbours",
        "clipping",
    ):
        assert getattr(made.setting, name) == getattr(plan, name), name
    assert made.setting.sigma == pytest.approx(plan.sigma, rel=1e-3)
    assert 1.9 < run(made, 50, classes()).privacy_report().epsilon <= 2.0


@pytest.mark.parametrize("delta", [0.1, 1e-5])
def test_a_delta_of_one_over_n_is_remarked_on(delta):
    said = []
    NoisyZOGD.for_epsilon(
        network(),
        cross_entropy,
        n=24,
        epsilon=1.0,
        delta=delta,
        T=50,
        sources=Sources(1, 2),
        show=said.append,
    )
    assert ("δ = 0.1 is at least 1/n: publishing every record" in said[0]) == (delta == 0.1)


@pytest.mark.parametrize(
    "changes",
    [{"sampling": "shuffled", "batch": 4}, {"releases": 2}],
)
def test_what_the_optimiser_does_not_do_is_refused(changes):
    """A batch drawn afresh is not a shuffled one, and the optimiser hands out one model."""
    (name, *_) = changes
    with pytest.raises(ValueError, match=f"{name} = .* is not allowed"):
        optimiser(SETTING.replace(**changes))


class TestSeveralProcesses:
    def test_are_refused_at_the_start_and_at_a_step(self, monkeypatch):
        made = optimiser(FREE)
        monkeypatch.setattr(distributed, "is_initialized", lambda: True)
        monkeypatch.setattr(distributed, "get_world_size", lambda: 2)
        for act in (lambda: optimiser(FREE), lambda: run(made, 1)):
            with pytest.raises(
                RuntimeError, match="training in 2 processes, each by itself, is not allowed"
            ):
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
        ranks = [
            subprocess.Popen([sys.executable, "-c", script, str(rank)], stdout=subprocess.PIPE)
            for rank in range(2)
        ]
        assert all(
            b"training in 2 processes, each by itself, is not allowed" in rank.communicate()[0]
            for rank in ranks
        )


class TestAdvice:
    @pytest.mark.parametrize("given", [list, iter], ids=["list", "iterator"])
    def test_parameters_alone_are_refused_with_what_to_give(self, given):
        for make in (
            lambda p: NoisyZOGD(p, cross_entropy, FREE, sources=Sources(1, 2)),
            lambda p: NoisyZOGD.for_epsilon(
                p, cross_entropy, n=24, epsilon=1.0, delta=1e-5, T=3, lr=0.1
            ),
        ):
            with pytest.raises(TypeError, match="are not allowed: give the module itself"):
                make(given(list(network().parameters())))

    def test_the_advice_for_a_swamped_quotient_is_not_what_one_has(self):
        module = network().bfloat16()
        usual = 1e-3 * 51**0.5
        with pytest.raises(
            ValueError,
            match=f"xi = {usual:g} is not allowed .* Take xi = {4 * usual:.2g}, a more precise kind",
        ):
            run(over(module, xi=usual), 1, (classes()[0].bfloat16(), classes()[1]))
