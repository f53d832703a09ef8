"""A run finds its own scale by probes, each of which costs what a step costs."""

import copy
from dataclasses import replace
from math import exp, inf, sqrt
from typing import ClassVar

import pytest
import torch
from scipy.optimize import brentq
from scipy.special import ndtr

from tests.mechanism.problems import (
    N,
    classes,
    composed,
    cross_entropy,
    data,
    logistic,
    network,
    run,
)
from zoexplore import Setting, compose, epsilon
from zoexplore.mechanism import NoisyZOGD, Sources, privacy_report

GIVEN = {"lr": 0.1, "clip": 0.5, "xi": 0.01}


def made(module=None, loss=cross_entropy, *, seeds=(1, 2), **options):
    usual = {
        "n": N,
        "epsilon": 2.0,
        "delta": 1e-5,
        "T": 60,
        "batch": 6,
        "sources": Sources(*seeds),
        "show": str,
    }
    return NoisyZOGD.for_epsilon(network() if module is None else module, loss, **usual | options)


def of_two_gaussians(mu, delta):
    """Epsilon of N(0, 1) against N(mu, 1), by its closed form (Balle, Wang 2018)."""
    return brentq(lambda e: ndtr(mu / 2 - e / mu) - exp(e) * ndtr(-mu / 2 - e / mu) - delta, 0, 500)


class TestWhatAProbeCosts:
    @pytest.mark.parametrize("count", [1, 13, 40, 47, 60])
    @pytest.mark.parametrize("batch", [None, 6])
    def test_as_much_as_a_step(self, batch, count):
        optimiser = made(batch=batch, K=2)
        noise = optimiser.setting.sigma / optimiser.setting.clip_each
        run(optimiser, count, classes())
        alone = Setting(
            n=N, d=51, K=1, T=count, sigma=noise, beta=1.0, clip=1.0, batch=batch, delta=1e-5
        )
        assert composed(optimiser) == pytest.approx(epsilon(alone, "composition"), rel=1e-7)
        assert optimiser.record.probes == min(count, 40) and optimiser.record.steps == count
        if batch is None:
            exact = of_two_gaussians(sqrt(count) * 2 / (N * noise), 1e-5)
            assert exact <= composed(optimiser) <= exact * (1 + 1e-6)

    def test_the_whole_run_uses_its_target_up(self):
        optimiser = run(made(), 60, classes())
        assert 2 * (1 - 1e-6) < composed(optimiser) <= 2
        assert optimiser.left().steps == 0

    def test_also_where_the_rate_is_0_and_where_some_noise_is_in_every_coordinate(self):
        optimiser = made(beta=0.5)
        optimiser.param_groups[0]["lr"] = 0.0
        spent = composed(run(optimiser, 40, classes()))
        assert spent == pytest.approx(composed(run(made(), 40, classes())), rel=1e-6)
        assert composed(run(optimiser, 5, classes())) == spent  # steps of rate 0 look at nothing

    @pytest.mark.parametrize(
        "drawn",
        [
            {"sampling": "cyclic"},
            {"sampling": "cyclic", "neighbours": "add-remove"},
            {"sampling": "poisson", "neighbours": "add-remove"},
            {"batch": None, "neighbours": "add-remove"},
        ],
        ids=str,
    )
    def test_however_batches_are_drawn(self, drawn):
        optimiser = made(**drawn)
        assert optimiser.setting.sampling == drawn.get("sampling", "without-replacement")
        run(optimiser, 60, classes())
        assert 2 * (1 - 1e-6) < composed(optimiser) <= 2

    def test_added_to_others(self):
        one, other = (run(made(sources=Sources.secure()), count, classes()) for count in (30, 50))
        both = compose([x.privacy_report(released="all") for x in (one, other)]).epsilon
        assert max(composed(one), composed(other)) < both < composed(one) + composed(other)

    def test_no_bound_on_hidden_iterates_counts_what_data_chose(self):
        optimiser = run(made(), 50, classes())
        report = optimiser.privacy_report()
        others = [g for bound, g in report.guarantees.items() if bound != "composition"]
        assert all(
            g.epsilon == inf and "probes of the data chose its constants" in g.reason
            for g in others
        )
        assert (
            f"40 probes found, and released, the scale: r = {optimiser.found.length:.3g}"
            in repr(report)
        )


class TestWhatIsFound:
    """With next to no noise."""

    @pytest.mark.parametrize("factor", [1.0, 100.0, 0.01])
    def test_the_length_at_which_a_quarter_of_the_losses_double_and_the_median_quotient(
        self, factor
    ):
        X, y = classes()
        optimiser = run(made(epsilon=1e6, batch=None, T=50), 40, (X * factor, y))
        found, start = optimiser.found, network()
        loss = lambda move: torch.func.functional_call(start, moved(start, move), (X * factor,))  # noqa: E731
        here, doubled, quotients = cross_entropy(start(X * factor), y), [], []
        for _ in range(200):
            u = torch.randn(51, dtype=torch.float64)
            u /= u.norm()
            doubled.append((cross_entropy(loss(found.length * u), y) > 2 * here).double().mean())
            ahead, behind = (cross_entropy(loss(s * found.xi * u), y) for s in (1, -1))
            quotients.append(((ahead - behind) / (2 * found.xi)).abs().detach())
        assert 0.12 < float(torch.stack(doubled).mean()) < 0.4
        assert 0.6 < found.quotient / float(torch.cat(quotients).median()) < 1.6
        assert found.xi == found.length / 30

    @pytest.mark.parametrize("decay", [None, "constant"])
    @pytest.mark.parametrize("K", [1, 4])
    def test_steps_of_pure_noise_lead_about_as_far(self, K, decay):
        optimiser = run(made(epsilon=0.01, K=K, T=340, decay=decay), 40, classes())
        before = optimiser.w
        run(optimiser, 300, classes())
        assert float((optimiser.w - before).norm()) == pytest.approx(
            optimiser.found.length, rel=0.35
        )

    def test_the_rate_falls_to_0_and_schedulers_take_a_part_of_it(self):
        optimiser = made()
        scheduler = torch.optim.lr_scheduler.LambdaLR(optimiser, lambda t: 1.0 if t < 50 else 0.5)
        for _ in range(60):
            run(optimiser, 1, classes())
            scheduler.step()
        rates = [
            step.eta
            for step, count in optimiser.record.stages
            if step.kind == "step"
            for _ in range(count)
        ]
        part = [(1 if t < 10 else 0.5) * (1 - t / 20) for t in range(20)]
        assert rates == pytest.approx([optimiser.found.rate * x for x in part])

    @pytest.mark.parametrize(
        "given, probes",
        [
            ((), 40),
            (("lr",), 40),
            (("lr", "xi"), 40),
            (("clip",), 20),
            (("clip", "lr"), 20),
            (("clip", "lr", "xi"), 0),
        ],
    )
    def test_what_is_given_is_kept_and_no_probe_made_for_nothing(self, given, probes):
        optimiser = made(K=2, **{name: GIVEN[name] for name in given})
        assert optimiser.probes_left == probes
        run(optimiser, 41, classes())
        step = optimiser.record.last
        found = {"lr": step.eta / 2, "clip": step.clip, "xi": step.xi}
        assert all((found[name] == pytest.approx(GIVEN[name])) == (name in given) for name in GIVEN)
        assert (
            optimiser.record.probes == probes
            and optimiser.probes_left == 0
            and composed(optimiser) <= 2
        )

    def test_public_data_tell_it_for_nothing(self):
        X, y = classes()
        optimiser = made(scale_from=(X + 0.1, y), epsilon=1e6)
        assert optimiser.probes_left == 0 and optimiser.found.public
        private = run(made(epsilon=1e6, batch=None), 40, classes()).found
        assert (
            1 / 3 < optimiser.found.length / private.length < 3
            and 1 / 3 < optimiser.found.quotient / private.quotient < 3
        )
        run(optimiser, 60, classes())
        assert not optimiser.record.probes
        assert "[yours to vouch for] Scale: the batch that told it has no record" in repr(
            optimiser.privacy_report()
        )


def moved(module, move):
    """A module's parameters at a distance."""
    parts = move.split([p.numel() for p in module.parameters()])
    return {
        name: p + x.view_as(p)
        for (name, p), x in zip(module.named_parameters(), parts, strict=True)
    }


class TestProbes:
    def test_move_nothing_and_return_the_loss(self):
        optimiser = made(batch=None)
        before = optimiser.w
        losses = [optimiser.step(optimiser.batch(classes())) for _ in range(40)]
        mean = cross_entropy(network()(classes()[0]), classes()[1]).mean().item()
        assert torch.equal(optimiser.w, before) and losses == pytest.approx([mean] * 40, rel=0.05)
        assert optimiser.found is not None
        run(optimiser, 1, classes())
        assert not torch.equal(optimiser.w, before)

    @pytest.mark.parametrize(
        "options", [{"keep_copy": False}, {"keep_copy": True}, {"directions": "streamed"}], ids=str
    )
    def test_however_parameters_are_moved(self, options):
        assert run(made(**options), 45, classes()).found is not None

    def test_of_a_vector(self):
        optimiser = made(torch.zeros(6, dtype=torch.float64), logistic)
        assert run(optimiser, 45, data()).found is not None

    def test_a_record_whose_loss_is_constant_answers_nothing(self):
        """It may be missing: neighbours would else differ by more than is counted."""
        seen = []

        def loss(outputs, targets):
            return torch.where(targets == 0, 1.0, cross_entropy(outputs, targets))

        optimiser = made(loss=loss, batch=None, microbatch=N)
        answers = optimiser._run.scale.answers
        optimiser._run.scale.answers = lambda *given: (
            seen.append(answers(*given).values.flatten()) or answers(*given)
        )
        run(optimiser, 40, classes())
        assert all(
            torch.equal(x == 0, classes()[1] == 0) and set(x.tolist()) <= {-1.0, 0.0, 1.0}
            for x in seen
        )

    def test_a_loss_below_0_is_refused_with_what_to_do(self):
        optimiser = made(loss=lambda outputs, targets: cross_entropy(outputs, targets) - 2)
        with pytest.raises(
            ValueError, match="a loss below 0 is not allowed where a run finds its own scale"
        ):
            run(optimiser, 1, classes())
        assert optimiser.steps == 0

    def test_an_optimiser_with_too_few_steps_is_refused(self):
        with pytest.raises(ValueError, match="T = 40 is not allowed: 40 steps find the scale"):
            made(T=40)

    def test_a_plan_is_printed_in_words(self):
        said = []
        made(show=said.append)
        assert (
            "ε ≤ 2 at δ = 1e-05 for T = 60 steps on 6 of n = 24: 40 find the scale, 20 train; all cost the same."
            in said[0]
        )
        assert (
            "With one record replaced ε ≤ 2, with one added or removed" in said[0]
            and "Nothing to tune." in said[0]
        )
        assert "× the median quotient" in said[0] and "smaller batches and more steps" in said[0]

    def test_losses_that_mix_records_are_found(self):
        def mixing(outputs, targets):
            own = cross_entropy(outputs, targets)
            return own + 0.1 * own.mean()

        with pytest.raises(ValueError, match="a loss must depend on its own record alone"):
            run(made(loss=mixing), 1, classes())


class TestGoingOn:
    """From a state, in the middle of probes too."""

    @pytest.mark.parametrize("at", [1, 19, 20, 21, 33, 40, 44])
    def test_bit_by_bit(self, at):
        straight, first = run(made(), 50, classes()), run(made(), at, classes())
        second = made(seeds=(7, 8))
        second.load_state_dict(copy.deepcopy(first.state_dict()))
        assert second.probes_left == max(0, 40 - at)
        run(second, 50 - at, classes())
        assert torch.equal(second.w, straight.w) and second.found == straight.found
        assert composed(second) == composed(straight)

    def test_a_copy_in_the_middle_too(self):
        first = run(made(), 25, classes())
        second = copy.deepcopy(first)
        assert torch.equal(run(first, 20, classes()).w, run(second, 20, classes()).w)

    @pytest.mark.parametrize("given", [{"lr": 0.1}, {"clip": 0.5}, GIVEN], ids=str)
    def test_by_a_run_that_is_given_more(self, given):
        first = run(made(), 45, classes())
        second = made(**given)
        second.load_state_dict(first.state_dict())
        assert run(second, 15, classes()).record.probes == 40 and composed(second) <= 2

    def test_by_one_that_is_given_less_which_looks_for_it_then(self):
        first = run(made(**GIVEN), 10, classes())
        second = made()
        second.load_state_dict(first.state_dict())
        assert second.probes_left == 40
        run(second, 50, classes())
        assert second.record.probes == 40 and composed(second) <= 2 and second.steps == 60


class TestTheTarget:
    """Is kept by every step, whatever is changed in between."""

    CHANGES: ClassVar = {
        "a longer plan": {"T": 300},
        "a shorter plan": {"T": 46},
        "a larger batch": {"batch": 12},
        "all records": {"batch": None},
        "a smaller batch": {"batch": 2},
        "a smaller target": {"epsilon": 1.9},
        "a larger target": {"epsilon": 4.0},
        "a smaller delta": {"delta": 1e-6},
        "more directions": {"K": 5},
        "another share": {"beta": 0.3},
        "batches in order": {"sampling": "cyclic"},
        "another clip": {"clip": 3.0},
        "a clip on each": {"clipping": "each", "K": 3},
    }

    @pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
    def test_after_a_resume(self, change):
        first = run(made(), 45, classes())
        second = made(**change)
        second.load_state_dict(first.state_dict())
        for batch in second.batches(classes()):
            second.step(batch)
        target = change.get("epsilon", 2.0)
        assert second.steps == change.get("T", 60)
        assert 0.5 * target < composed(second) <= target

    def test_after_two_of_them_the_last_one_exact(self):
        def resumed(before, **options):
            after = made(**options)
            after.load_state_dict(copy.deepcopy(before.state_dict()))
            return after

        longer = resumed(run(made(), 45, classes()), T=100)
        again = resumed(run(longer, 10, classes()), T=100, seeds=(3, 4))
        assert torch.equal(run(longer, 45, classes()).w, run(again, 45, classes()).w)
        assert composed(again) == composed(longer) <= 2

    def test_that_is_spent_already_is_refused_and_nothing_changed(self):
        first, second = run(made(), 55, classes()), made(epsilon=0.3)
        with pytest.raises(
            ValueError, match=r"ε = 0.3 is not allowed: the steps so far cost 1\.\d+"
        ):
            second.load_state_dict(first.state_dict())
        assert run(second, 3, classes()).steps == 3 and composed(second) < 0.3

    def test_a_step_that_would_exceed_it_is_refused(self):
        optimiser = run(made(**GIVEN), 50, classes())
        optimiser._run.setting = optimiser.setting.replace(sigma=optimiser.setting.sigma / 10)
        with pytest.raises(RuntimeError, match=r"this step would bring ε to .* above the target 2"):
            run(optimiser, 10, classes())
        assert composed(optimiser) <= 2

    def test_a_probe_that_is_interrupted_after_its_noise_is_counted(self, monkeypatch):
        optimiser = run(made(), 10, classes())

        def stop(*_):
            raise KeyboardInterrupt

        with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
            patch.setattr(optimiser._run, "answered", stop)
            run(optimiser, 1, classes())
        assert optimiser.record.probes == 11 and optimiser.probes_left == 30
        run(optimiser, 49, classes())
        assert optimiser.steps == 60 and composed(optimiser) <= 2

    def test_what_is_left_can_be_asked_for(self):
        optimiser = made()
        assert optimiser.left() == (0.0, 2.0, 60)
        run(optimiser, 45, classes())
        left = optimiser.left()
        assert left.spent == composed(optimiser) and left.steps == 15
        with pytest.raises(ValueError, match="there is no target"):
            NoisyZOGD(network(), cross_entropy, optimiser.setting, sources=Sources(1, 2)).left()

    def test_a_record_without_its_probes_would_cost_less(self):
        """As it would were a probe a step of rate 0."""
        record = run(made(), 60, classes()).record
        stages = tuple((step, count) for step, count in record.stages if step.kind == "step")
        assert privacy_report(replace(record, stages=stages), released="all").epsilon < 1.9


def said(**given):
    shown: list[str] = []
    known = {"epsilon": 2.0, "delta": 1e-5, "n": 24, "T": 200, "show": shown.append}
    optimiser = NoisyZOGD.for_epsilon(network(), cross_entropy, **known | given)
    return optimiser, " ".join(shown)


@pytest.mark.parametrize("name", ["lr", "clip", "xi"])
def test_what_is_none_is_found_as_what_is_auto(name):
    given = {"lr": 1.0, "clip": 1.0, "xi": 0.1} | {name: None}
    plans = [said(**given | {name: value})[0] for value in (None, "auto")]
    assert plans[0].setting == plans[1].setting and plans[0].probes_left == plans[1].probes_left > 0


@pytest.mark.parametrize("lr, still", [(1e-9, True), (1.0, False), (None, False)])
def test_a_rate_that_moves_nothing_is_warned_of_in_the_plan(lr, still):
    assert (
        "multiply a rate of MeZO's by the number of trained parameters, d = 51"
        in said(lr=lr, clip=1.0)[1]
    ) == still
