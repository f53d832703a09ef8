"""A run that goes on with another setting, loss or model has the batches, the checks and the noise
that its report counts.
"""

import copy
import io
import pickle

import pytest
import torch
from torch import nn

from tests.mechanism.problems import (
    FREE,
    SETTING,
    classes,
    cross_entropy,
    data,
    logistic,
    network,
    optimiser,
    run,
)
from zoexplore.mechanism import NoisyZOGD, Sources, batches


def resumed(first, **options):
    second = optimiser(**options)
    second.load_state_dict(first.state_dict())
    return second


class TestDraws:
    """Records are drawn as the step that takes them is counted."""

    @pytest.mark.parametrize("before, after", [(23, 1), (1, 23), (23, None)])
    def test_batches_that_were_drawn_ahead_are_not_taken_for_others(self, before, after):
        """23 of 24 records, drawn for the next steps, would pass for a batch of 1, in which a
        record hardly ever is.
        """
        first = run(optimiser(FREE.replace(batch=before)), 1)
        first.drawn(6)
        second = resumed(first, setting=FREE.replace(batch=after))
        for batch in second.batches(data()):
            assert len(batch.records) == (after or 24)
            second.step(batch)
        assert [(step.batch, count) for step, count in second.record.stages] == [
            (before, 1),
            (after, 7),
        ]

    def test_nor_those_drawn_in_another_way(self):
        poisson = {"sampling": "poisson", "neighbours": "add-remove"}
        first = run(optimiser(FREE.replace(batch=4, neighbours="add-remove")), 1)
        first.drawn(7)
        sizes = {
            len(resumed(first, setting=FREE.replace(batch=4, **poisson), seeds=(s, 99)).drawn(t))
            for s in (1,)
            for t in range(1, 8)
        }
        assert len(sizes) > 1  # as Poisson's are

    def test_a_late_step_is_drawn_as_fast_as_the_first(self, monkeypatch):
        """Every step's records are drawn once, however often they are asked for; a run that goes on
        draws none of the past.
        """
        seen = []
        monkeypatch.setattr(
            batches,
            "by_chance",
            lambda *args, draw=batches.by_chance: seen.append(1) or draw(*args),
        )
        made = optimiser(FREE.replace(batch=2, T=40), loss=lambda w, X: X @ w)
        for t, batch in enumerate(made.batches(data()[0])):
            assert torch.equal(made.drawn(t), batch.records) and len(seen) == t + 1
            made.step(batch)
        late = resumed(made, setting=FREE.replace(batch=2, T=41))
        late.drawn(40)
        assert len(seen) == 41

    @pytest.mark.parametrize("t", [0, 8])
    def test_steps_that_are_made_or_none_have_no_records(self, t):
        with pytest.raises(ValueError, match=f"t = {t} is not allowed: give a step from 1 to 7"):
            run(optimiser(FREE.replace(batch=2)), 1).drawn(t)


class TestChecks:
    """What was looked at in one phase says nothing of another one's losses."""

    def test_losses_that_mix_records_are_found_in_a_second_phase_too(self):
        def mixing(w, batch):
            return logistic(w, batch) - logistic(w, batch).mean()

        second = resumed(run(optimiser(FREE), 2), setting=FREE, loss=mixing)
        with pytest.raises(ValueError, match="a loss must depend on its own record alone"):
            run(second, 1)
        assert second.steps == 2

    @pytest.mark.parametrize("options", [{}, {"keep_copy": False}], ids=str)
    @pytest.mark.parametrize("xi", [0.0, 0.1])
    def test_looking_again_changes_no_bit(self, xi, options):
        def made():
            module, setting = network().float(), FREE.replace(d=51, xi=xi, batch=6)
            return NoisyZOGD(
                module,
                cross_entropy,
                setting,
                sources=Sources(1, 2),
                directions="streamed",
                **options,
            )

        batch = classes()[0].float(), classes()[1]
        straight, first, second = run(made(), 8, batch), run(made(), 3, batch), made()
        second.load_state_dict(first.state_dict())
        assert torch.equal(run(second, 5, batch).w, straight.w)

    def test_another_models_parameters_are_refused_and_nothing_is_changed(self):
        """As many numbers, in other shapes or kinds: 36 of them."""

        def made(module):
            return NoisyZOGD(module, cross_entropy, FREE.replace(d=36), sources=Sources(1, 2))

        one, other = (
            made(nn.Sequential(nn.Linear(6, 4, bias=False), nn.Linear(4, 3, bias=False)).double()),
            made(nn.Linear(6, 6, bias=False).double()),
        )
        before, directions = other.w, repr(other.sources.state_dict())
        with pytest.raises(
            ValueError, match=r"the saved run had parameter '0.weight' = 'torch.float64 \(4, 6\)'"
        ):
            other.load_state_dict(one.state_dict())
        assert torch.equal(other.w, before) and repr(other.sources.state_dict()) == directions

    def test_a_model_in_half_precision_does_not_become_one_that_never_was(self):
        def made(first, second):
            module = nn.ParameterList([torch.zeros(4, dtype=first), torch.zeros(4, dtype=second)])
            return NoisyZOGD(
                module,
                lambda m, X: X @ (m[0].double() + m[1].double()),
                FREE.replace(d=8),
                sources=Sources(1, 2),
                loss_of="model",
            )

        one, other = made(torch.float32, torch.bfloat16), made(torch.float32, torch.float64)
        with pytest.raises(ValueError, match=r"the saved run had parameter '1' = 'torch\.bfloat16"):
            other.load_state_dict(one.state_dict())


class TestCopies:
    """A copy of an optimiser goes on with its own model, or says that it cannot."""

    @pytest.mark.parametrize(
        "copied",
        [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))],
        ids=["deepcopy", "pickle"],
    )
    def test_of_a_module(self, copied):
        module = network()
        made = run(
            NoisyZOGD(module, cross_entropy, FREE.replace(d=51), sources=Sources(1, 2)),
            1,
            classes(),
        )
        assert torch.equal(run(copied(made), 3, classes()).w, run(made, 3, classes()).w)

    def test_that_would_share_the_model_is_refused(self):
        with pytest.raises(TypeError, match="a shallow copy would move the same model"):
            copy.copy(optimiser(FREE))

    def test_a_state_with_another_record_is_refused(self):
        state = run(optimiser(FREE), 3).state_dict()
        state["ledger"]["stages"] = [[state["ledger"]["stages"][0][0], 1]]
        with pytest.raises(ValueError, match="3 steps and a record of others"):
            optimiser(FREE).load_state_dict(state)

    def test_param_groups_of_others_change_nothing(self):
        made, other = optimiser(FREE), torch.zeros(6, dtype=torch.float64, requires_grad=True)
        made.param_groups[0]["params"] = [other]
        run(made, 1)
        assert torch.equal(other, torch.zeros(6, dtype=torch.float64)) and made.w.norm() > 0


def test_a_state_holds_no_part_of_the_optimiser_that_went_on():
    made = run(optimiser(FREE.replace(batch=5)), 2)
    made.drawn(7)
    state = made.state_dict()
    file = io.BytesIO()
    torch.save(copy.deepcopy(state), file)
    run(made, 5)
    file.seek(0)
    assert repr(torch.load(file, weights_only=True)) == repr(state)


def test_a_state_without_the_weights_goes_on_from_those_that_it_was_saved_beside():
    straight, first, second = (
        run(optimiser(SETTING), 8),
        run(optimiser(SETTING), 3),
        optimiser(SETTING, seeds=(7, 8)),
    )
    state = first.state_dict(weights=False)
    with pytest.raises(ValueError, match="led to other numbers than these: load the model"):
        second.load_state_dict(state)
    at = optimiser(SETTING, start=first.w, seeds=(7, 8))
    at.load_state_dict(state)
    assert torch.equal(run(at, 5).w, straight.w)
