"""The optimiser makes the paper's update, from modules and functions alike, stops whole, and goes
on as if never stopped.
"""

import io
from itertools import combinations, pairwise

import pytest
import torch
from torch import nn

from tests.last_iterates import last_iterates
from tests.mechanism.problems import (
    DECLARED,
    SETTING,
    classes,
    cross_entropy,
    data,
    logistic,
    network,
    noise_of,
    optimiser,
    run,
)
from zoexplore.mechanism import NoisyZOGD, Sources, stiefel
from zoexplore.training.step import project

INF = float("inf")
DEVICES = [
    "cpu",
    pytest.param(
        "cuda",
        marks=pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU here"),
    ),
]


def gradients(w):
    X, y = data()
    return torch.autograd.functional.jacobian(lambda w: logistic(w, (X, y)), w)


ESTIMATES = {
    "directional": (0.0, {}),
    "two-point": (1e-5, {}),
}


@pytest.mark.parametrize("xi, options", ESTIMATES.values(), ids=ESTIMATES)
def test_a_run_is_the_papers_update_step_by_step(xi, options):
    """By hand, from the same generators: ridge outside the clip, projection included (its radius is
    small enough to hit).
    """
    setting = SETTING.replace(xi=xi, R=0.5)
    made, twin = run(optimiser(setting, **options), 8), Sources(1, 2)
    w, hits = torch.zeros(6, dtype=torch.float64), 0
    for _ in range(8):
        U = stiefel(6, 3, twin.directions)
        along = (gradients(w) @ U).clamp(-1, 1).mean(0) + 0.5 * (w @ U)
        free = w - setting.eta / 3 * (U @ along) + noise_of(U, 0.4, 0.5, setting.eta, twin)
        w = project(free, 0.5)
        hits += not torch.equal(w, free)
    assert torch.allclose(made.w, w, rtol=1e-8, atol=1e-8)
    assert hits > 0


def test_all_directions_and_no_directional_noise_are_noisy_gradient_descent():
    """In one step exactly eta/d times the gradient, and in law a covariance of eta^2 sigma^2/d in
    every direction.
    """
    setting = SETTING.replace(K=6, beta=0.0, T=1, R=INF, ridge=0, m=0)
    made, twin = run(optimiser(setting), 1), Sources(1, 2)
    noise = noise_of(stiefel(6, 6, twin.directions), 0.4, 0.0, setting.eta, twin)
    start = torch.zeros(6, dtype=torch.float64)
    descent = -setting.eta / 6 * gradients(start).mean(0)
    assert torch.allclose(made.w - noise, descent, rtol=1e-12, atol=1e-13)

    X, y = data()
    ends = last_iterates(lambda w, U: (-y / 2 * X.T).T @ U, start, setting, 40_000, Sources(3, 4))
    variance = setting.eta**2 * 0.4**2 / 6
    assert (ends.mean(0) - descent).abs().max() < 5 * (variance / 40_000) ** 0.5
    assert (
        ends.T.cov() - variance * torch.eye(6)
    ).abs().max() < 5 * variance / 40_000**0.5 * 2**0.5


@pytest.mark.parametrize("clipping", ["each", "joint"])
def test_many_trainings_at_once_are_the_optimisers(clipping):
    """A run of `last_iterates` makes the optimiser's steps, draw by draw, where all noise is along
    the directions.
    """
    setting = SETTING.replace(clip=0.2, clipping=clipping, beta=1.0)
    X, y = data()

    def slopes(w, U):
        pull = -y * torch.sigmoid(-y * (w @ X.T))
        return pull.unsqueeze(-1) * (X @ U)

    ends = last_iterates(slopes, torch.zeros(6, dtype=torch.float64), setting, 1, Sources(1, 2))
    made = run(optimiser(setting), 8)
    assert made.counts.clipped > 0
    assert torch.allclose(ends[0], made.w, rtol=1e-10, atol=1e-12)


def test_many_trainings_at_once_draw_a_batch_each():
    """All but no noise: every outcome is one of the ten subsets' steps, and each subset's comes as
    often.
    """
    setting = SETTING.replace(n=5, batch=2, d=1, K=1, T=1, sigma=1e-9, R=INF, ridge=0, m=0, eta=1.0)
    records = torch.tensor([[0.01], [0.02], [0.04], [0.08], [0.16]], dtype=torch.float64)
    ends = last_iterates(
        lambda w, U: records @ U, torch.zeros(1, dtype=torch.float64), setting, 5000, Sources(1, 2)
    )
    subsets = torch.stack([-records[list(pair)].mean() for pair in combinations(range(5), 2)])
    distances, nearest = (ends - subsets).abs().min(1)
    assert distances.max() < 1e-7
    # chi-square, 9 degrees, 1e-4
    assert ((nearest.bincount(minlength=10) - 500) ** 2 / 500).sum() < 33.7


def test_the_clip_is_counted_as_it_acts():
    made = run(optimiser(SETTING.replace(clip=0.1, T=1)), 1)
    U = stiefel(6, 3, Sources(1, 2).directions)
    slopes = gradients(torch.zeros(6, dtype=torch.float64)) @ U
    assert made.counts.looked_at == slopes.numel()
    assert made.counts.clipped == int((slopes.abs() > 0.1).sum()) > 0
    joint = run(optimiser(SETTING.replace(clip=0.1, T=1, clipping="joint")), 1)
    assert (joint.counts.looked_at, joint.counts.clipped) == (
        24,
        int((slopes.norm(dim=1) > 0.1).sum()),
    )


@pytest.mark.parametrize("xi", [0.0, 1e-4])
def test_a_module_and_the_same_function_of_a_vector_train_alike(xi):
    module, setting = network(), SETTING.replace(d=51, K=9, clip=0.3, xi=xi, R=INF, ridge=0.1)
    start = torch.cat([p.detach().reshape(-1) for p in module.parameters()])

    def of_vector(w, batch):
        """The network once more, by hand."""
        first, bias, scale, shift, last, offset = w.split([24, 4, 4, 4, 12, 3])
        hidden = torch.tanh(batch[0] @ first.view(4, 6).T + bias)
        centred = hidden - hidden.mean(-1, keepdim=True)
        normed = centred / (centred.square().mean(-1, keepdim=True) + 1e-5).sqrt() * scale + shift
        return cross_entropy(normed @ last.view(3, 4).T + offset, batch[1])

    of_module = NoisyZOGD(module, cross_entropy, setting, sources=Sources(1, 2))
    flat = optimiser(setting, start=start, loss=of_vector)
    for made in (of_module, flat):
        run(made, 8, classes())
    assert torch.allclose(of_module.w, flat.w, rtol=1e-6, atol=1e-8)
    assert torch.equal(
        torch.cat([p.detach().reshape(-1) for p in module.parameters()]), of_module.w
    )
    assert not torch.equal(of_module.w, start)
    assert 0 < flat.counts.clipped == of_module.counts.clipped
    assert all(p.grad is None for p in module.parameters())


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(
    "xi, batch, directions", [(0.0, None, "dense"), (1e-4, 9, "dense"), (1e-4, None, "streamed")]
)
def test_a_run_stays_on_its_device_and_resumes_there(device, xi, batch, directions):
    setting = SETTING.replace(d=51, xi=xi, batch=batch, R=INF)

    def made(*seeds):
        sources = Sources(*seeds)
        return NoisyZOGD(
            network().to(device), cross_entropy, setting, sources=sources, directions=directions
        )

    straight, first, second = (
        run(made(1, 2), 8, classes()),
        run(made(1, 2), 3, classes()),
        made(7, 8),
    )
    second.load_state_dict(first.state_dict())
    run(second, 5, classes())
    assert (
        {p.device.type for p in second.objective.module.parameters()}
        == {second.w.device.type}
        == {device}
    )
    assert torch.equal(
        torch.cat([p.detach().reshape(-1) for p in second.objective.module.parameters()]), second.w
    )
    assert torch.equal(second.w, straight.w)


def test_frozen_parameters_stay_and_do_not_count():
    module = network()
    for p in module[0].parameters():
        p.requires_grad_(False)
    frozen = module[0].weight.clone()
    run(
        NoisyZOGD(module, cross_entropy, SETTING.replace(d=23, R=INF), sources=Sources(1, 2)),
        2,
        classes(),
    )
    assert torch.equal(module[0].weight, frozen)


def test_the_last_steps_have_the_share_of_a_cool_down():
    setting = SETTING.replace(T=4, R=INF, ridge=0, m=0, beta=0.25, cooldown=2, cooldown_beta=1.0)
    made, twin = optimiser(setting, loss=lambda w, batch: 0 * (batch[0] @ w)), Sources(1, 2)
    for beta in (0.25, 0.25, 1.0, 1.0):
        before = made.w
        run(made, 1)
        U = stiefel(6, 3, twin.directions)
        assert torch.allclose(made.w - before, noise_of(U, 0.4, beta, setting.eta, twin))
    assert [(step.beta, count) for step, count in made.record.stages] == [(0.25, 2), (1.0, 2)]


class TestNotFinite:
    """A loss that is not finite says nothing, is counted, and neither stops the run nor spreads."""

    @pytest.mark.parametrize(
        "xi, options",
        [*((xi, {"directions": way}) for xi in (0.0, 1e-3) for way in ("dense", "streamed"))],
    )
    @pytest.mark.parametrize("bad", [float("nan"), INF])
    def test_it_counts_as_a_quotient_of_0(self, xi, options, bad):
        sixth = data()[0][5]

        def poisoned(w, batch):
            return logistic(w, batch) + torch.where((batch[0] == sixth).all(-1), bad, 0.0).double()

        def silent(w, batch):
            return logistic(w, batch) * torch.where((batch[0] == sixth).all(-1), 0.0, 1.0).double()

        made, without = (
            optimiser(SETTING.replace(xi=xi), loss=loss, **options) for loss in (poisoned, silent)
        )
        for o in (made, without):
            run(o, 3)
        assert torch.allclose(made.w, without.w, rtol=1e-9, atol=1e-12)
        assert made.counts.not_finite == 3 * 3
        assert "9 quotients were not finite" in made.record.disproved


class TestStops:
    """A step that fails leaves everything as it was."""

    def test_a_loss_that_raises_in_a_module(self):
        module, setting = network(), SETTING.replace(d=51, R=INF)
        broken = {"on": False}

        def loss(outputs, targets):
            if broken["on"]:
                raise KeyError("the user's own mistake")
            return cross_entropy(outputs, targets)

        made, straight = (
            NoisyZOGD(m, loss, setting, sources=Sources(1, 2)) for m in (module, network())
        )
        run(made, 2, classes())
        before = [p.clone() for p in module.parameters()]
        broken["on"] = True
        with pytest.raises(KeyError):
            run(made, 1, classes())
        broken["on"] = False
        assert all(torch.equal(p, q) for p, q in zip(module.parameters(), before, strict=True))
        assert torch.equal(run(made, 6, classes()).w, run(straight, 8, classes()).w)


class TestResume:
    """Saved and loaded by torch, a run goes on with the very same numbers."""

    @pytest.mark.parametrize("batch", [None, 9])
    @pytest.mark.parametrize("cooldown", [0, 6])
    def test_bit_by_bit(self, batch, cooldown):
        setting = SETTING.replace(batch=batch, clip=0.3, cooldown=cooldown)
        straight = run(optimiser(setting), 8)
        first = run(optimiser(setting), 3)
        first.drawn(5)  # drawn, and not used yet
        file = io.BytesIO()
        torch.save(first.state_dict(), file)
        run(first, 2)  # what was saved must not move
        file.seek(0)
        second = optimiser(setting, seeds=(50, 60))
        second.load_state_dict(torch.load(file, weights_only=True))
        assert second.counts.steps == 3
        assert torch.equal(run(second, 5).w, straight.w)
        assert second.counts == straight.counts

    @pytest.mark.parametrize(
        "other, words",
        [
            ({"setting": SETTING.replace(n=25)}, "the saved run had n = 24, this one has 25"),
            ({"declared": DECLARED}, "the saved run had declared regime = 'non-convex'"),
            (
                {"start": torch.zeros(6)},
                r"the saved run had parameter 'w' = 'torch.float64 \(6,\)'",
            ),
            ({"sources": Sources.secure()}, "the saved run drew from seeds"),
        ],
    )
    def test_another_run_is_refused_and_changes_nothing(self, other, words):
        made = optimiser(**other)
        with pytest.raises(ValueError, match=words):
            made.load_state_dict(run(optimiser(), 3).state_dict())
        assert made.counts.steps == 0
        assert torch.equal(made.w, torch.zeros(6, dtype=torch.float64))

    def test_a_secure_run_resumes_with_new_noise(self):
        first = run(optimiser(sources=Sources.secure()), 3)
        second = optimiser(sources=Sources.secure())
        with pytest.warns(UserWarning, match="go on with new keys"):
            second.load_state_dict(first.state_dict())
        assert torch.equal(second.w, first.w)
        assert not torch.equal(run(second, 1).w, run(first, 1).w)


class TestBatches:
    """A step has the records that were drawn for it, or is refused."""

    def test_every_subset_is_as_likely(self):
        made = optimiser(SETTING.replace(n=5, batch=2, T=4000), loss=lambda w, X: X @ w)
        counts: dict[tuple, int] = {}
        for t in range(4000):
            i = made.drawn(t)
            assert torch.equal(made.drawn(t), i)  # the same until the step is made
            counts[tuple(sorted(i.tolist()))] = counts.get(tuple(sorted(i.tolist())), 0) + 1
        assert len(counts) == 10
        # chi-square, 9 degrees, 1e-4
        assert sum((c - 400) ** 2 / 400 for c in counts.values()) < 33.7

    def test_steps_have_batches_of_their_own(self):
        made = optimiser(SETTING.replace(batch=8))
        drawn = []
        for batch in made.batches(data()):
            drawn.append(batch.records)
            made.step(batch)
        assert len(drawn) == 8
        assert all(len(set(i.tolist())) == 8 for i in drawn)
        assert not any(torch.equal(a, b) for a, b in pairwise(drawn))

    def test_records_of_different_lengths_are_collated_as_they_are_drawn(self):
        generator = torch.Generator().manual_seed(7)
        records = [
            torch.randn(int(k), 6, generator=generator, dtype=torch.float64)
            for k in torch.arange(24) % 5 + 1
        ]

        def padded(some):
            rows = torch.nn.utils.rnn.pad_sequence(some, batch_first=True)
            return rows, torch.tensor([len(r) for r in some])

        def loss(w, batch):
            rows, counts = batch
            return ((rows @ w).sum(1) / counts - 1).square()

        made = optimiser(SETTING.replace(batch=8), loss=loss)
        for batch in made.batches(records, collate_fn=padded):
            assert batch.data[1].tolist() == [len(records[i]) for i in batch.records]
            made.step(batch)
        assert made.steps == 8
        with pytest.raises(ValueError, match="collate_fn is not allowed for tensors"):
            optimiser().batch(data(), collate_fn=padded)

    def test_a_closure_is_refused(self):
        with pytest.raises(TypeError, match=r"nor is a closure: take optimiser.batch"):
            optimiser().step(lambda: 0.0)

    @pytest.mark.parametrize("batch", [None, 8])
    def test_what_was_not_drawn_is_refused(self, batch):
        made, other = (
            optimiser(SETTING.replace(batch=batch), seeds=seeds) for seeds in ((1, 2), (3, 4))
        )
        with pytest.raises(
            TypeError,
            match=r"a batch of the type tuple is not allowed, nor is a closure: take optimiser.batch\(dataset\)",
        ):
            made.step(data())
        used = made.batch(data())
        made.step(used)
        if batch:
            for wrong in (used, other.batch(data())):
                with pytest.raises(ValueError, match="not the one that was drawn"):
                    made.step(wrong)
        assert made.counts.steps == 1

    def test_a_batch_that_was_not_used_stops_the_loop(self):
        batches = optimiser(SETTING.replace(batch=8)).batches(data())
        next(batches)
        with pytest.raises(RuntimeError, match="step 0 was not made"):
            next(batches)

    @pytest.mark.parametrize("size", [23, 25])
    @pytest.mark.parametrize("as_dataset", [False, True])
    def test_another_number_of_records_is_refused(self, size, as_dataset):
        X, y = data(25)
        dataset = list(zip(X[:size], y[:size], strict=True)) if as_dataset else (X[:size], y[:size])
        with pytest.raises(ValueError, match="n = 24"):
            optimiser().batch(dataset)


class TestRefusals:
    """What cannot be accounted for is refused in words."""

    @pytest.mark.parametrize(
        "options, words",
        [
            ({"directions": "sparse"}, "directions = 'sparse' is not allowed"),
            (
                {"directions": "streamed", "setting": SETTING.replace(K=4)},
                "directions = 'streamed' is not allowed for K = 4",
            ),
            ({"microbatch": 0}, "microbatch = 0 is not allowed"),
            ({"loss_of": "inputs"}, "loss_of = 'inputs' is not allowed"),
            ({"start": torch.zeros(5).double()}, "d = 6 is not allowed: there are 5 parameters"),
            ({"start": torch.full((6,), 2.0).double()}, "the start has length 4.899, beyond R = 3"),
            ({"start": torch.full((6,), float("nan")).double()}, "not finite"),
            (
                {"start": torch.zeros(6, dtype=torch.int32)},
                "parameters of cpu, torch.int32, sparse or sharded ones are not allowed",
            ),
            (
                {"start": torch.zeros(2, 3).double()},
                r"parameters of shape \(2, 3\) are not allowed",
            ),
        ],
    )
    def test_at_once(self, options, words):
        with pytest.raises(ValueError, match=words):
            optimiser(**options)

    def test_float32_is_fine_with_directional_derivatives(self):
        X, y = (x.float() for x in data())
        made = run(optimiser(start=torch.zeros(6)), 8, (X, y))
        assert made.w.dtype == torch.float32
        assert torch.allclose(made.w.double(), run(optimiser(), 8).w, atol=1e-5)

    @pytest.mark.parametrize(
        "loss, words",
        [
            (
                lambda w, batch: logistic(w, batch).mean(),
                r"losses of shape \(\) are not allowed: give one",
            ),
            (
                lambda w, batch: logistic(w, batch) - logistic(w, batch).mean(),
                "a loss must depend on its own record alone",
            ),
            (lambda w, batch: logistic(w, batch) + torch.rand(()), "and not on chance"),
        ],
    )
    def test_losses_that_are_not_each_records_own(self, loss, words):
        with pytest.raises(ValueError, match=words):
            run(optimiser(loss=loss), 1)

    def test_dropout_in_training(self):
        module = nn.Sequential(nn.Linear(6, 30), nn.Dropout(0.5), nn.Linear(30, 3)).double()
        made = NoisyZOGD(
            module, cross_entropy, SETTING.replace(d=303, R=INF), sources=Sources(1, 2)
        )
        with pytest.raises(ValueError, match=r"dropout: call eval\(\)"):
            run(made, 1, classes())
        module.eval()
        run(made, 1, classes())

    def test_modules_that_mix_records(self):
        module = nn.Sequential(nn.Linear(6, 4), nn.BatchNorm1d(4)).double()
        made = NoisyZOGD(module, cross_entropy, SETTING.replace(d=36, R=INF), sources=Sources(1, 2))
        with pytest.raises(
            ValueError,
            match=r"a loss must depend on its own record alone \(batch normalisation: call eval\(\)",
        ):
            run(made, 1, classes())

    def test_steps_beyond_T(self):
        with pytest.raises(RuntimeError, match="all T = 8 steps are done"):
            run(optimiser(), 9)

    def test_a_module_with_nothing_to_train(self):
        with pytest.raises(ValueError, match="no parameter with requires_grad"):
            NoisyZOGD(
                nn.Linear(2, 1).requires_grad_(False), cross_entropy, SETTING, sources=Sources(1, 2)
            )
