"""The record is what counts: steps, states and branches stay in it, whatever comes after, and are
added up.
"""

import copy
import os
import pickle
from math import inf
from threading import Event, Thread

import pytest
import torch
from torch import nn
from torch.func import functional_call

from tests.convention import epsilon
from tests.mechanism.problems import (
    DECLARED,
    FREE,
    MIXES,
    SETTING,
    centred,
    classes,
    composed,
    data,
    logistic,
    network,
    optimiser,
    over,
    run,
    says_nothing,
)
from zoexplore import compose
from zoexplore.mechanism import NoisyZOGD, Sources


class TestTheRecordIsWhatCounts:
    @pytest.mark.parametrize(
        "name", ["setting", "clipping", "declared", "counts", "record", "steps", "sources"]
    )
    def test_what_was_made_cannot_be_set(self, name):
        made = run(optimiser(), 1)
        with pytest.raises(AttributeError):
            setattr(made, name, getattr(made, name))

    def test_steps_of_less_noise_stay_in_the_report_whatever_comes_after(self):
        """19 steps at 1e-9 and one at 1, by a state that is loaded."""
        T, little = 20, 1e-9
        first, second = (
            optimiser(FREE.replace(T=T, sigma=little)),
            optimiser(FREE.replace(T=T, sigma=1.0)),
        )
        second.load_state_dict(run(first, 19).state_dict())
        least = epsilon(FREE.replace(T=19, sigma=little), "composition")
        assert run(second, 1).privacy_report(released="all").epsilon >= least

    def test_two_phases_compose_and_T_extends(self):
        phase, more = FREE.replace(T=4), FREE.replace(T=10, sigma=4.0)
        first, second = run(optimiser(phase), 4), optimiser(more)
        second.load_state_dict(first.state_dict())
        found = run(second, 6).privacy_report(released="all").guarantees["composition"]
        budget = 4 * (2 / 24) ** 2 / (2 * 2.0**2 * 0.75) + 6 * (2 / 24) ** 2 / (2 * 4.0**2 * 0.75)
        assert found.rho == pytest.approx(budget, rel=1e-9)
        assert found.rho >= budget * (1 - 1e-13)

    def test_a_falling_rate_is_recorded_and_hidden_states_count_the_worst(self):
        setting = FREE.replace(regime="strongly-convex", m=0.5, ridge=0.5, R=3.0, sigma=1.0)
        made = optimiser(setting, declared=DECLARED)
        schedule = torch.optim.lr_scheduler.LinearLR(made, 1.0, 0.5, total_iters=8)
        for batch in made.batches(data()):
            made.step(batch)
            schedule.step()
        etas = [step.eta for step, _ in made.record.stages]
        assert etas == pytest.approx([setting.eta * (1 - 0.5 * t / 8) for t in range(8)])
        found = made.privacy_report().guarantees
        constant = run(optimiser(setting, declared=DECLARED), 8).privacy_report().guarantees
        assert found["composition"].epsilon == pytest.approx(
            constant["composition"].epsilon, rel=1e-9
        )
        assert constant["sharp"].epsilon < found["sharp"].epsilon < inf
        assert "steps of several rates count as the worst of them" in found["sharp"].note

    @pytest.mark.parametrize(
        "field, value",
        [("K", 2), ("xi", 1e-3), ("R", 4.0), ("batch", 8), ("sigma", 1.0), ("clip", 0.5)],
    )
    def test_what_no_proof_covers_leaves_composition(self, field, value):
        setting = FREE.replace(regime="strongly-convex", m=0.5, ridge=0.5, R=3.0)
        second = optimiser(setting.replace(**{field: value}), declared=DECLARED)
        second.load_state_dict(run(optimiser(setting, declared=DECLARED), 3).state_dict())
        found = run(second, 2).privacy_report().guarantees
        assert found["sharp"].epsilon == inf
        assert f"{field} changed during the run" in found["sharp"].reason
        assert found["composition"].epsilon < inf

    def test_a_step_of_no_learning_rate_moves_nothing_and_costs_nothing(self):
        made = optimiser(FREE)
        made.param_groups[0]["lr"] = 0.0
        before = made.w
        run(made, 2)
        made.param_groups[0]["lr"] = FREE.eta / 3
        assert torch.equal(made.w, before)
        run(made, 3)
        assert made.privacy_report(released="all").epsilon == epsilon(
            FREE.replace(T=3), "composition"
        )


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

    def test_a_first_look_in_a_new_process_speaks_against_the_steps_before(self):
        """Nobody knows what the losses were like when those were made."""
        second = optimiser(FREE, loss=centred(1e-3))
        second.load_state_dict(run(optimiser(FREE), 3).state_dict())
        with pytest.raises(ValueError, match=MIXES):
            run(second, 1)
        assert says_nothing(second, "at step 4 the loss of record")

    def test_the_last_clean_look_is_reported(self):
        made = run(optimiser(FREE), 6)
        assert made.record.checked == 4 and "last at step 4 of 6" in repr(made.privacy_report())
        again = optimiser(FREE)
        again.load_state_dict(made.state_dict())
        assert again.record.checked == 4

    @pytest.mark.filterwarnings("ignore:Noise and data order")
    @pytest.mark.parametrize("sampling", ["without-replacement", "poisson"])
    def test_the_coming_batch_belongs_to_the_state(self, sampling):
        setting = FREE.replace(
            batch=6,
            sampling=sampling,
            neighbours="add-remove" if sampling == "poisson" else "replace-one",
        )
        first = run(optimiser(setting, sources=Sources.secure()), 2)
        state, coming = first.state_dict(), first.drawn(2)
        copies = [copy.deepcopy(first), pickle.loads(pickle.dumps(first))]
        for _ in range(3):
            copies.append(optimiser(setting, sources=Sources.secure()))
            copies[-1].load_state_dict(state)
        assert all(torch.equal(other.drawn(2), coming) for other in copies)
        assert len({tuple(other.drawn(3).tolist()) for other in copies}) > 1


class TestAState:
    def test_whose_numbers_were_changed_is_refused(self):
        made = optimiser(SETTING.replace(T=20))
        state = run(made, 2).state_dict()
        state["w"][0][0] += 1e-6
        with pytest.raises(ValueError, match="led to other numbers than these"):
            made.load_state_dict(state)

    def test_of_a_model_is_loaded_after_the_optimiser_is_made_as_usual(self):
        def make(seed):
            torch.manual_seed(seed)
            module = (
                nn.Sequential(nn.Linear(6, 4), nn.BatchNorm1d(4), nn.Linear(4, 3)).double().eval()
            )
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


class TestComposed:
    """Composition of several runs' reports; steps that branches share count in each."""

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
        assert "of this branch" in repr(reports[0]) and "zoexplore.compose" in repr(reports[0])
        assert compose(reports).epsilon == pytest.approx(
            epsilon(FREE.replace(T=5 * 8), "composition")
        )
        assert compose(reports[:1]).epsilon == pytest.approx(reports[0].epsilon)

    def test_branches_by_what_holds_where_all_iterates_are_seen(self):
        """They go on from one hidden iterate, and a bound for a last one alone is of noise that is
        not shared.
        """
        setting = SETTING.replace(T=8, R=inf, clip=1.0)
        first = run(optimiser(setting, sources=Sources.secure(), declared=DECLARED), 4)
        twin = copy.deepcopy(first)
        reports = [run(made, 4).privacy_report() for made in (first, twin)]
        assert reports[0].epsilon < composed(first)
        assert (
            compose(reports).epsilon
            == compose([report.guarantees["composition"] for report in reports]).epsilon
        )

    def test_a_copy_and_the_run_it_was_made_of(self):
        first = run(optimiser(FREE, sources=Sources.secure()), 2)
        twin = run(copy.deepcopy(first), 4)
        first = run(first, 3)
        both = compose([first.privacy_report(), twin.privacy_report()]).epsilon
        assert both == pytest.approx(epsilon(FREE.replace(T=11), "composition"))

    @pytest.mark.parametrize("before, after", [(1, 0), (1, 1), (0, 2)])
    def test_branches_that_may_share_a_secret_batch_are_refused(self, before, after):
        setting = FREE.replace(batch=4, T=3)
        reports = self.branches(setting, 2, before=before, after=after)
        with pytest.raises(ValueError, match="several steps on one secret batch"):
            compose(reports)
        assert compose(reports[:1]).epsilon == pytest.approx(reports[0].epsilon, rel=1e-2)
        assert compose([reports[0]] * 2).epsilon > reports[0].epsilon  # as many runs like it

    def test_runs_of_their_own_on_secret_batches_compose(self):
        setting = FREE.replace(batch=4, T=3)
        reports = [
            run(optimiser(setting, sources=Sources.secure()), 3).privacy_report() for _ in range(2)
        ]
        assert compose(reports).epsilon == pytest.approx(
            epsilon(setting.replace(T=6), "composition"), rel=1e-2
        )

    def test_runs_that_share_nothing_and_models_of_other_sizes(self):
        reports = [
            run(optimiser(FREE, sources=Sources.secure()), steps).privacy_report()
            for steps in (2, 3)
        ]
        assert compose(reports).epsilon == pytest.approx(epsilon(FREE.replace(T=5), "composition"))
        wide = optimiser(
            FREE.replace(d=12), loss=lambda w, b: logistic(w[:6], b), sources=Sources.secure()
        )
        budget = sum(
            count * (2 / 24 / FREE.sigma) ** 2 / (0.5 + 0.5 * 3 / d) / 2
            for d, count in ((6, 5), (12, 4))
        )
        found = compose([*reports, run(wide, 4).privacy_report()]).risk
        assert budget <= found.rho <= budget * (1 + 1e-9)

    @pytest.mark.parametrize("steps", [(3, 2), (5, 4), (1, 1)])
    def test_on_turns_a_record_pays_for_those_that_met_it(self, steps):
        """Four batches in turn: a run's own first step meets the first one, wherever the run before
        it ended.
        """
        setting = FREE.replace(batch=6, sampling="cyclic", T=8)
        reports = [
            run(optimiser(setting, sources=Sources.secure()), count).privacy_report()
            for count in steps
        ]
        found, most = compose(reports).epsilon, sum(-(-count // 4) for count in steps)
        assert found == pytest.approx(epsilon(FREE.replace(n=6, T=most), "composition"), rel=1e-9)
        assert found >= epsilon(FREE.replace(n=6, T=most), "composition")

    def test_where_it_is_not_known_the_reason_is_reported(self):
        secure, other = (run(optimiser(FREE, sources=Sources.secure()), 2) for _ in range(2))
        with pytest.raises(ValueError, match=r"only those of Sources\.secure\(\) are composed"):
            compose([secure.privacy_report(), run(optimiser(FREE), 2).privacy_report()])
        secure.param_groups[0]["params"][0].add_(1)
        found = compose([other.privacy_report(), secure.privacy_report()])
        assert found.epsilon == inf and "changed since the last step" in found.reason


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
    assert own.epsilon == theirs.epsilon < compose([own, theirs]).epsilon < inf


class TestACopyOfAnOptimiserWithAScheduler:
    def test_makes_its_own_steps(self):
        made = over(network())
        torch.optim.lr_scheduler.LinearLR(made, total_iters=3)
        run(made, 1, classes())
        other, before = copy.deepcopy(made), made.w
        assert "step" not in vars(other)  # a wrapper that no pickle holds
        run(other, 1, classes())
        assert (made.steps, other.steps) == (1, 2) and torch.equal(made.w, before)


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


def test_a_step_under_autocast_is_refused_and_leaves_everything_as_it_was():
    made, batch = over(network().float(), xi=1.0), (classes()[0].float(), classes()[1])
    run(made, 1, batch)
    before = made.w
    with (
        torch.autocast("cpu", dtype=torch.bfloat16),
        pytest.raises(RuntimeError, match="under autocast is not allowed"),
    ):
        run(made, 1, batch)
    assert torch.equal(made.w, before) and made.steps == 1
    assert run(made, 1, batch).privacy_report().epsilon == epsilon(
        made.setting.replace(T=2), "composition"
    )


def test_a_lipschitz_constant_of_the_setting_proves_nothing():
    """The report rests on what is declared: a smaller constant that the setting supposes would make
    the loss smaller.
    """
    said, plain = (
        run(optimiser(SETTING.replace(lipschitz=L), declared=DECLARED), SETTING.T).privacy_report(
            sensitivity="least"
        )
        for L in (1e-6, None)
    )
    assert {b: g.epsilon for b, g in said.guarantees.items()} == {
        b: g.epsilon for b, g in plain.guarantees.items()
    }


class TestOneStepAfterTheOther:
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


class TestCopies:
    def test_a_deep_copy_of_an_optimiser_trains_a_copy_of_its_module(self):
        module = network()
        made = run(over(module), 2, classes())
        for copied in (copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))):
            twin = copied(made)
            assert torch.equal(twin.w, made.w) and torch.equal(run(twin, 3, classes()).w, twin.w)
            assert twin.steps == 5 and made.steps == 2 and made.privacy_report().epsilon < inf
            assert not torch.equal(twin.w, made.w)
            outputs = functional_call(
                network(), dict(twin.objective.module.named_parameters()), (classes()[0],)
            )
            assert torch.equal(twin.objective.module(classes()[0]), outputs)
        assert torch.equal(run(made, 3, classes()).w, twin.w)

    def test_a_usual_run_is_not_warned_of_unmet_assumptions(self):
        assert "[not met]" not in repr(run(optimiser(FREE), 2).privacy_report())
