"""Every way to a step is the same mechanism: the worst neighbours are as far apart as stated, and
the numbers agree.
"""

import pytest
import torch

from tests.mechanism.problems import SETTING, classes, cross_entropy, data, network, run
from zoexplore import Setting
from zoexplore.mechanism import NoisyZOGD, Sources, noise
from zoexplore.mechanism.directions import Streamed
from zoexplore.mechanism.losses import Losses
from zoexplore.mechanism.parameters import Parameters
from zoexplore.mechanism.perturbation import InPlace
from zoexplore.mechanism.slopes import measure

D, N, K = 40, 4, 3
STEEP = 1e3
PATHS = {
    "dense": {"directions": "dense"},
    "streamed": {"directions": "streamed"},
    "streamed, with a copy": {"directions": "streamed", "keep_copy": True},
    "streamed, without a copy": {"directions": "streamed", "keep_copy": False},
    "micro-batches": {"microbatch": 3},
    "streamed micro-batches": {"directions": "streamed", "microbatch": 1},
}


class Slope(torch.nn.Module):
    """Records are slopes, losses linear: the most that a record can say is cut down by the clip."""

    def __init__(self, kind):
        super().__init__()
        self.w = torch.nn.Parameter(torch.zeros(D, dtype=kind))
        self.v = torch.nn.Parameter(torch.zeros(D, dtype=kind))

    def forward(self, X):
        return (
            X @ torch.cat([self.w, self.v]).float().double()
            if self.w.dtype != torch.float64
            else X @ torch.cat([self.w, self.v])
        )


def itself(outputs, targets):
    return outputs


def apart(kind, clipping, xi, options, trials=3):
    """The distance between steps on worst neighbours over the stated one, of little noise, in
    float64.
    """
    setting = Setting(
        n=N,
        d=2 * D,
        K=K,
        T=1,
        sigma=1e-9,
        beta=0.5,
        R=float("inf"),
        clip=0.8,
        ridge=0,
        m=0,
        M=1.0,
        regime="convex",
        xi=xi,
        eta=2.0,
    )
    stated = {"each": 2 * 2.0 * 0.8 / (N * K**0.5), "joint": 2 * 2.0 * 0.8 / (N * K)}[clipping]
    found = []
    for trial in range(trials):
        generator, ends = torch.Generator().manual_seed(trial), []
        X = torch.randn(N, 2 * D, generator=generator, dtype=torch.float64)
        slope = torch.randn(2 * D, generator=generator, dtype=torch.float64) * STEEP
        for record in (slope, -slope):
            made = NoisyZOGD(
                Slope(kind),
                itself,
                setting.replace(clipping=clipping),
                sources=Sources(trial, 1000),
                **options,
            )
            made.step(made.batch((torch.cat([X[1:], record[None]]), torch.zeros(N))))
            ends.append(made.w.double())
        found.append(float((ends[0] - ends[1]).norm()) / stated)
    return found


@pytest.mark.parametrize("clipping", ["each", "joint"])
@pytest.mark.parametrize("xi", [0.0, 0.1])
@pytest.mark.parametrize("options", PATHS.values(), ids=PATHS)
def test_worst_neighbours_are_as_far_apart_as_stated(options, xi, clipping):
    assert max(apart(torch.float64, clipping, xi, options)) == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize(
    "kind, near", [(torch.float32, 1e-4), (torch.bfloat16, 0.02), (torch.float16, 0.005)]
)
@pytest.mark.parametrize("directions", ["dense", "streamed"])
def test_in_single_and_half_precision_as_far_as_their_digits_go(kind, near, directions):
    assert max(apart(kind, "each", 0.1, {"directions": directions})) == pytest.approx(1, abs=near)


@pytest.mark.parametrize("clipping", ["each", "joint"])
@pytest.mark.parametrize("xi", [0.0, 0.1])
@pytest.mark.parametrize("kind", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("directions", ["dense", "streamed"])
def test_before_rounding_updates_are_as_far_apart_as_stated(
    directions, kind, xi, clipping, monkeypatch
):
    """Of two neighbours' first steps: what is to be added to the parameters, its noise included."""
    updates = []
    monkeypatch.setattr(
        noise, "add", lambda block, change, rounding: updates.append(change.double().clone())
    )
    apart(kind, clipping, xi, {"directions": directions}, trials=1)
    first, second = torch.cat(updates).view(2, 2 * D)
    stated = {"each": 2 * 2.0 * 0.8 / (N * K**0.5), "joint": 2 * 2.0 * 0.8 / (N * K)}[clipping]
    assert float((first - second).norm()) == pytest.approx(stated, rel=1e-5)


@pytest.mark.parametrize("xi", [0.0, 1e-3])
@pytest.mark.parametrize("microbatch", [1, 5, 100])
@pytest.mark.parametrize("directions", ["dense", "streamed"])
def test_micro_batches_of_any_size_give_the_same_numbers(xi, microbatch, directions):
    setting = SETTING.replace(d=51, K=5, xi=xi, R=float("inf"), clip=0.3)

    def made(**options):
        return run(
            NoisyZOGD(
                network(),
                cross_entropy,
                setting,
                sources=Sources(1, 2),
                directions=directions,
                **options,
            ),
            2,
            classes(),
        )

    one, other = made(), made(microbatch=microbatch)
    assert torch.allclose(one.w, other.w, rtol=1e-9, atol=1e-9)
    assert one.counts == other.counts


@pytest.mark.parametrize("xi", [0.0, 1e-3, 0.1])
@pytest.mark.parametrize("ridge", [0.0, 0.3])
def test_with_and_without_a_copy_the_steps_are_the_same(xi, ridge):
    setting = SETTING.replace(d=51, K=9, xi=xi, R=4.0, m=ridge, ridge=ridge)

    def made(**options):
        return run(
            NoisyZOGD(
                network(),
                cross_entropy,
                setting,
                sources=Sources(1, 2),
                directions="streamed",
                **options,
            ),
            4,
            classes(),
        )

    with_copy, without = made(keep_copy=True), made(keep_copy=False)
    assert torch.allclose(with_copy.w, without.w, rtol=1e-9, atol=1e-9)
    assert with_copy.counts == without.counts


@pytest.mark.parametrize("xi", [1e-6, 1e-2])
def test_streamed_quotients_are_those_of_the_frame_itself_as_xi_falls(xi):
    """What is measured along other unit vectors and resolved differs by the loss's curvature times
    xi, as two points do.
    """
    module, batch = network(), classes()
    made = NoisyZOGD(
        module, cross_entropy, SETTING.replace(d=51, R=float("inf")), sources=Sources(1, 2)
    )
    parameters = Parameters(made.objective.tensors)
    frame = Streamed(parameters, 9, Sources(3, 4).directions)
    w = parameters.vector()
    U = torch.stack(
        [torch.cat([x.clone() for x in frame.combined(torch.eye(9)[k])]) for k in range(9)], 1
    )
    with torch.no_grad():
        losses = Losses(made.objective, 24, made._run.watch.fingerprint)
        found = measure(losses, InPlace(parameters, frame), batch, xi).values
    exact = (
        torch.autograd.functional.jacobian(
            lambda v: made.objective.losses_at(parameters.parts(v), batch), w
        )
        @ U
    )
    assert (found - exact).abs().max() < 1e-8 + 300 * xi**2
    assert 1 < frame.xi_factor < 2.5


@pytest.mark.parametrize("kind", [torch.float32, torch.float64])
def test_float32_quotients_agree_with_float64_where_xi_is_not_too_small(kind):
    """At xi of 1e-2 and more to about 1e-3; where rounding swamps them they are refused."""
    setting = SETTING.replace(d=51, K=1, xi=1e-2, R=float("inf"))
    run(
        NoisyZOGD(network().to(kind), cross_entropy, setting, sources=Sources(1, 2)),
        1,
        (classes()[0].to(kind), classes()[1]),
    )
    tiny = NoisyZOGD(
        network().to(kind), cross_entropy, setting.replace(xi=2e-8), sources=Sources(1, 2)
    )
    if kind == torch.float64:
        assert run(tiny, 1, classes()).steps == 1
    else:
        with pytest.raises(
            ValueError,
            match=r"xi = 2e-08 is not allowed in torch\.float32: at the first step quotients over this distance",
        ):
            run(tiny, 1, (classes()[0].float(), classes()[1]))
        assert tiny.steps == 0


@pytest.mark.parametrize("xi", [1e-2, 0.1, 1.0])
def test_float32_steps_are_those_of_float64_to_a_thousandth(xi):
    """Hardly any noise, and a clip that does not act: what moves the parameters is the quotients'
    mean.
    """
    moves = []
    for kind in (torch.float32, torch.float64):
        setting = SETTING.replace(
            d=51, K=4, xi=xi, R=float("inf"), clip=10.0, sigma=1e-9, ridge=0, m=0
        )
        module = network().to(kind)
        made = NoisyZOGD(module, cross_entropy, setting, sources=Sources(1, 2), directions="dense")
        before = made.w.double()
        run(made, 1, (classes()[0].to(kind), classes()[1]))
        moves.append(made.w.double() - before)
    assert (moves[0] - moves[1]).norm() < 1e-3 * moves[1].norm()


def test_the_data_are_looked_at_only_after_the_frame_is_drawn_and_before_the_noise():
    """An error in between gives back the frame, and no noise was drawn."""
    made = NoisyZOGD(
        torch.zeros(6, dtype=torch.float64), lambda w, b: 1 / 0, SETTING, sources=Sources(1, 2)
    )
    before = made.sources.state_dict()
    with pytest.raises(ZeroDivisionError):
        made.step(made.batch(data()))
    assert repr(made.sources.state_dict()) == repr(before)
