"""No record, however large its loss, moves a step by more than the accountant counts with: brute
force over neighbours.
"""

from itertools import product

import numpy as np
import pytest
import torch

from tests.mechanism.problems import (
    DECLARED,
    FREE,
    data,
    logistic,
    optimiser,
    run,
)
from zoexplore.mechanism import NoisyZOGD, Sources, clipping
from zoexplore.run.presets import DEMONSTRATION
from zoexplore.training.step import project

CLIP, N, K = 0.8, 5, 3


def means_apart(rule, records):
    """How far replacing one record by another moves the mean of the clipped quotients, for all
    pairs.
    """
    others = (
        torch.linspace(-2, 2, (N - 1) * K, dtype=torch.float64)
        .reshape(N - 1, K)
        .expand(len(records), -1, -1)
    )
    means = rule(torch.cat([others, torch.stack(records)[:, None]], 1), CLIP).values.mean(1)
    return (means[:, None] - means).norm(dim=-1)


def records():
    """Corners far outside, on and inside the clip, and random records of all sizes."""
    corners = [
        scale * torch.tensor(c, dtype=torch.float64)
        for scale in (0.3, CLIP, 50.0)
        for c in product((-1, 0, 1), repeat=K)
    ]
    rng = np.random.default_rng(0)
    return corners + [
        torch.from_numpy(rng.standard_normal(K) * 10 ** rng.uniform(-2, 2)) for _ in range(40)
    ]


@pytest.mark.parametrize(
    "rule, sensitivity",
    [(clipping.each, 2 * CLIP * K**0.5 / N), (clipping.joint, 2 * CLIP / N)],
    ids=["each", "joint"],
)
def test_worst_neighbours_are_as_far_apart_as_the_sensitivity(rule, sensitivity):
    assert float(means_apart(rule, records()).max()) == pytest.approx(sensitivity, rel=1e-12)


def test_each_limits_every_quotient_and_says_which():
    values, active = clipping.each(torch.tensor([[2.0, -0.5], [1.0, -1.5]]), 1.0)
    assert values.tolist() == [[1.0, -0.5], [1.0, -1.0]]
    assert active.tolist() == [[True, False], [False, True]]


def test_joint_shortens_a_record_and_keeps_its_direction():
    quotients = torch.tensor([[3.0, 4.0], [0.3, -0.4], [0.0, 0.0]], dtype=torch.float64)
    values, active = clipping.joint(quotients, 1.0)
    assert torch.allclose(
        values, torch.tensor([[0.6, 0.8], [0.3, -0.4], [0.0, 0.0]], dtype=torch.float64)
    )
    assert active.tolist() == [True, False, False]


@pytest.mark.parametrize("rule", ["each", "joint"])
@pytest.mark.parametrize("xi", [0.0, 1e-3])
def test_neighbours_steps_are_within_the_accounted_distance(rule, xi):
    """A loss of enormous slope: without the clip the steps would be a thousand times further apart."""
    d, n = 7, 4
    setting = DEMONSTRATION.replace(
        n=n, d=d, K=K, T=1, R=float("inf"), clip=CLIP, ridge=0, m=0, xi=xi, eta=2.0
    )
    bound = {"each": 2 * 2.0 * CLIP / (n * K**0.5), "joint": 2 * 2.0 * CLIP / (n * K)}[rule]
    rng, apart = np.random.default_rng(1), []
    for trial in range(6):
        data, ends = torch.from_numpy(rng.standard_normal((n, d))), []
        slope = torch.from_numpy(rng.standard_normal(d)) * 1e3
        for record in (slope, -slope):
            optimiser = NoisyZOGD(
                torch.zeros(d, dtype=torch.float64),
                lambda w, X: X @ w,
                setting.replace(clipping=rule),
                sources=Sources(trial, 1000),
            )
            optimiser.step(optimiser.batch(torch.cat([data[1:], record[None]])))
            ends.append(optimiser.w)
        apart.append(float((ends[0] - ends[1]).norm()))
    assert max(apart) == pytest.approx(bound, rel=1e-9)
    assert min(apart) > 0.5 * bound


def test_projection_moves_to_the_ball_only_what_left_it():
    points = torch.tensor([[3.0, 4.0], [0.3, 0.4], [0.0, 0.0]])
    inside = project(points, 1.0)
    assert torch.allclose(inside[0], torch.tensor([0.6, 0.8]))
    assert torch.equal(inside[1:], points[1:])
    assert torch.equal(project(points, float("inf")), points)
    lengths = project(points, torch.tensor([1.0, 0.1, 1.0])).norm(dim=1)
    assert lengths.tolist() == pytest.approx([1.0, 0.1, 0.0])


@pytest.mark.parametrize("clipping", ["each", "joint"])
@pytest.mark.parametrize("options", [{"directions": "streamed"}, {"directions": "dense"}], ids=str)
def test_a_record_of_enormous_slopes_is_clipped_or_not_counted(clipping, options):
    """Sums of finite slopes may overflow; what is not a number would pass every clip."""
    xi = 0.0 if options["directions"] == "dense" else 0.5

    def loss(w, batch):
        X, y = batch
        huge = (
            1.6e308 * (X @ w - torch.signbit(X @ w).double())
            if xi == 0
            else 8e307 * torch.tanh(1e3 * (X @ w))
        )
        return torch.where(y > 1, huge, logistic(w, batch))

    X, y = data()
    y[0] = 2.0
    for seed in range(8):
        made = optimiser(
            FREE.replace(xi=xi, K=3, clipping=clipping),
            loss=loss,
            seeds=(seed + 10, seed),
            **options,
        )
        assert run(made, 1, (X, y)).w.norm() < 100


def test_one_unnormalised_row_is_clipped():
    """Unclipped its step would be 18.6 times the sensitivity away from a neighbour's."""
    X, y = data()
    ends = []
    for row in (40 * X[0], -40 * X[0]):
        made = optimiser(FREE, declared=DECLARED.__class__(lipschitz=1.0))
        made.step(made.batch((torch.cat([row[None], X[1:]]), y)))
        ends.append(made.w)
        assert made.counts.clipped > 0
    assert (ends[0] - ends[1]).norm() <= 2 * FREE.eta / (24 * 3**0.5) * (1 + 1e-12)
