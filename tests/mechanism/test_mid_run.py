"""What begins, or stops, in the middle of a run: it is noticed, and what was done before it is
reported as it was.
"""

from math import inf

import pytest
import torch
from torch import nn
from torch.nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook

from tests.convention import epsilon
from tests.mechanism.problems import (
    FREE,
    MIXES,
    SETTING,
    classes,
    cross_entropy,
    logistic,
    network,
    optimiser,
    over,
    run,
)
from zoexplore.mechanism import directions as frames


class Switched(nn.Linear):
    """Mixes records once an attribute of its own says so."""

    mixes, way = False, "each"

    def __init__(self):
        super().__init__(6, 3, dtype=torch.float64)
        self.strength, self.last = 0.0, nn.Identity()

    def forward(self, X):
        outputs = super().forward(X)
        return (
            outputs - outputs.mean(0)
            if self.mixes or self.way == "all"
            else outputs - self.strength * outputs.mean(0)
        )


class Tokens(nn.Module):
    """Every record is one token; torch's layers take the batch for the sequence by default."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(3)
        self.layer, self.last = (
            nn.TransformerEncoderLayer(6, 2, 8, dropout=0.0, batch_first=True).double(),
            nn.Linear(6, 3).double(),
        )

    def forward(self, X):
        return self.last(self.layer(X.unsqueeze(1)).squeeze(1))


class Loss(nn.Module):
    """Less the mean of the batch, once it is switched on."""

    def __init__(self):
        super().__init__()
        self.centred = False

    def forward(self, outputs, targets):
        found = cross_entropy(outputs, targets)
        return found - found.mean() if self.centred else found


class TestSwitches:
    """Attributes that are on or off, words and functions are looked at before every step."""

    @pytest.mark.parametrize("xi", [0.0, 1e-3])
    @pytest.mark.parametrize("name, value", [("mixes", True), ("way", "all")])
    def test_of_a_module(self, name, value, xi):
        module = Switched()
        made = run(over(module, xi=xi), 2, classes())
        setattr(module, name, value)
        with pytest.raises(ValueError, match=MIXES):
            run(made, 1, classes())
        setattr(module, name, getattr(Switched, name))
        assert run(made, 1, classes()).steps == 3
        assert made.privacy_report().epsilon < inf  # as no step was made so

    def test_of_an_attention_that_takes_the_batch_for_the_sequence(self):
        module = Tokens()
        made = run(over(module), 2, classes())
        module.layer.self_attn.batch_first = False
        with pytest.raises(ValueError, match=MIXES):
            run(made, 1, classes())

    @pytest.mark.parametrize(
        "change",
        [
            lambda loss: setattr(loss, "centred", True),
            lambda loss: loss.register_forward_hook(mean),
        ],
    )
    def test_of_a_loss(self, change):
        loss = Loss()
        made = run(over(network(), loss), 2, classes())
        change(loss)
        with pytest.raises(ValueError, match=MIXES):
            run(made, 1, classes())

    @pytest.mark.parametrize(
        "register", [register_module_forward_hook, register_module_forward_pre_hook]
    )
    def test_hooks_of_all_modules(self, register):
        made = run(over(network()), 2, classes())
        handle = register(lambda module, inputs, *outputs: centred(module, *(outputs or inputs)))
        try:
            with pytest.raises(ValueError, match=MIXES):
                run(made, 1, classes())
        finally:
            handle.remove()


def mean(module, inputs, outputs):
    return outputs - outputs.mean()


def centred(module, x):
    return x - x.mean(0) if isinstance(module, nn.LayerNorm) else x


class TestMemory:
    """A loss that begins to mix records, and nothing shows it: it is looked at again now and then,
    and the report says so.
    """

    @pytest.mark.parametrize("T, begins, found", [(40, 6, 16), (100, 30, 64), (12, 6, 12)])
    def test_it_is_found_and_no_epsilon_is_reported_for_the_steps_before(self, T, begins, found):
        """At the 16th step, the 64th, or the last."""

        def loss(w, batch):
            own = logistic(w, batch)
            return own - own.mean() if made.steps >= begins else own

        made = optimiser(FREE.replace(T=T), loss=loss)
        run(made, found - 1)
        # as nobody looked yet
        assert made.privacy_report().epsilon == epsilon(FREE.replace(T=found - 1), "composition")
        with pytest.raises(ValueError, match=MIXES):
            run(made, 1)
        report = made.privacy_report()
        assert made.steps == found - 1 and report.epsilon == inf
        assert all(
            f"at step {found} the loss of record" in g.reason for g in report.guarantees.values()
        )
        again = optimiser(FREE.replace(T=T))
        again.load_state_dict(made.state_dict())
        assert run(again, 1).privacy_report(released="all").epsilon == inf

    def test_looking_costs_little_of_a_long_run(self):
        seen = []

        def loss(w, batch):
            seen.append(len(batch[1]))
            return logistic(w, batch)

        run(optimiser(FREE.replace(T=256, K=1, xi=1e-3), loss=loss), 256)
        # vmap calls it once for both points, and a step tells its mean loss
        assert sum(seen) < 1.15 * 256 * 2 * 24 + 24 * 256


def stopped(monkeypatch, kind, call):
    """A move along directions stops halfway, as by Ctrl-C: the first, the second and so on."""
    calls, add = [0], kind.add

    def halfway(self, k, xi):
        calls[0] += 1
        if calls[0] != call:
            return add(self, k, xi)
        add(self, k, xi / 2)
        raise KeyboardInterrupt

    monkeypatch.setattr(kind, "add", halfway)


class TestInterrupted:
    """A step that is stopped while the parameters are away from the iterate."""

    @pytest.mark.parametrize("call", range(1, 4))  # the other point needs none
    @pytest.mark.parametrize("directions", ["dense", "streamed"])
    def test_it_is_as_if_it_had_not_begun(self, directions, call, monkeypatch):
        made, straight = (over(network(), directions=directions) for _ in range(2))
        run(made, 2, classes())
        before = made.w
        with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
            stopped(patch, getattr(frames, directions.title()), call)
            run(made, 1, classes())
        assert torch.equal(made.w, before) and made.steps == 2
        assert torch.equal(run(made, 6, classes()).w, run(straight, 8, classes()).w)

    @pytest.mark.parametrize("keep_copy", [True, False])
    @pytest.mark.parametrize("call", range(1, 7))
    def test_a_loss_that_fails_anywhere_leaves_parameters_and_generators_as_they_were(
        self, keep_copy, call
    ):
        calls, fails = [0], [False]

        def loss(outputs, targets):
            calls[0] += fails[0]
            if fails[0] and calls[0] == call:
                raise MemoryError
            return cross_entropy(outputs, targets)

        made, straight = (over(network(), of, keep_copy=keep_copy) for of in (loss, cross_entropy))
        run(made, 2, classes())
        before, generators, fails[0] = made.w, repr(made.sources.state_dict()), True
        with pytest.raises(MemoryError):
            run(made, 1, classes())
        assert repr(made.sources.state_dict()) == generators and made.steps == 2
        assert torch.equal(made.w, before)
        fails[0] = False
        assert torch.equal(run(made, 6, classes()).w, run(straight, 8, classes()).w)

    @pytest.mark.parametrize("what", ["state_dict", "load_state_dict"])
    def test_a_loss_that_saves_or_loads_in_the_middle_of_a_step(self, what):
        """A state that is loaded would have the step made where more steps had led than it tells
        of.
        """
        module, state, on = network(), None, [False]

        def loss(outputs, targets):
            if on[0]:
                made.load_state_dict(state) if what == "load_state_dict" else made.state_dict()
            return cross_entropy(outputs, targets)

        made = over(module, loss)
        state = made.state_dict()
        run(made, 4, classes())
        before, on[0] = made.w, True
        with pytest.raises(RuntimeError, match="a step is being made"):
            run(made, 1, classes())
        assert made.steps == 4 and torch.equal(made.w, before)


class TestElsewhere:
    @pytest.mark.parametrize("xi", [0.0, 1e-3])
    @pytest.mark.parametrize("directions", ["dense", "streamed"])
    def test_under_inference_mode_steps_are_the_same(self, directions, xi):
        made, straight = (over(network(), xi=xi, directions=directions) for _ in range(2))
        with torch.inference_mode():
            run(made, 3, classes())
        assert torch.equal(run(made, 5, classes()).w, run(straight, 8, classes()).w)

    @pytest.mark.parametrize("xi", [0.0, 1e-3])
    def test_parameters_for_inference_alone_are_refused_before_anything_is_counted(self, xi):
        with torch.inference_mode():
            made = over(network(), xi=xi)
        with pytest.raises(RuntimeError, match=r"(?i)inference tensor"):
            run(made, 1, classes())
        assert made.steps == 0

    def test_a_start_beyond_the_ball_does_not_come_in_by_a_state(self):
        """What is declared of a loss is declared on the ball."""
        far = optimiser(FREE.replace(R=100.0), start=torch.full((6,), 10.0, dtype=torch.float64))
        near = optimiser(FREE.replace(R=3.0))
        near.load_state_dict(far.state_dict())
        with pytest.raises(ValueError, match=r"the start has length 24\.49, beyond R = 3"):
            run(near, 1)
        inside = optimiser(
            SETTING.replace(R=100.0), start=torch.full((6,), 1.0, dtype=torch.float64)
        )
        near.load_state_dict(inside.state_dict())
        assert torch.equal(near.w, torch.ones(6, dtype=torch.float64))
