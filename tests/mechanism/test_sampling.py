"""Poisson and cyclic batches: drawn as the accountant assumes, and reported as it counts them."""

from dataclasses import replace
from math import inf, isnan, sqrt

import numpy as np
import pytest
import torch
from torch.utils.data import TensorDataset

from tests.convention import epsilon
from tests.effort import proof
from tests.mechanism.problems import DECLARED, SETTING, data, logistic, noise_of, optimiser, run
from tests.mechanism.test_report import SETTING as LARGE
from tests.mechanism.test_report import epsilons, ran, step_of
from zoexplore.mechanism import PrivateSampler, batches, privacy_report, stiefel
from zoexplore.mechanism.rng import Sources

POISSON = SETTING.replace(batch=4, sampling="poisson", neighbours="add-remove")
CYCLIC = SETTING.replace(batch=5, sampling="cyclic")  # five batches, the last of four records
WAYS = {"poisson": POISSON, "cyclic": CYCLIC}


def test_poisson_takes_every_record_by_itself():
    generator = np.random.default_rng(1)
    drawn = torch.stack(
        [
            torch.isin(torch.arange(4), batches.by_chance(4, 1, "poisson", generator))
            for _ in range(4000)
        ]
    )
    seen = (drawn * 2 ** torch.arange(4)).sum(1).bincount(minlength=16)
    expected = 4000 * torch.tensor(
        [0.25 ** bin(i).count("1") * 0.75 ** (4 - bin(i).count("1")) for i in range(16)]
    )
    assert ((seen - expected) ** 2 / expected).sum() < 44.3  # chi-square, 15 degrees, 1e-4


def test_turns_go_round_through_all_records():
    made, drawn = optimiser(CYCLIC), []
    for batch in made.batches(data()):
        drawn.append(batch.records)
        made.step(batch)
    assert torch.equal(torch.cat(drawn[:5]), torch.arange(24))
    assert [len(i) for i in drawn] == [5, 5, 5, 5, 4, 5, 5, 5]
    assert torch.equal(drawn[7], drawn[2])


class AtOnce(TensorDataset):
    """Reads a batch in one call too, where it could mix the records."""

    def __getitems__(self, records):
        raise AssertionError("records were read together")


@pytest.mark.parametrize("setting", WAYS.values(), ids=WAYS)
def test_loaders_and_resumed_runs_have_the_same_batches(setting):
    setting = setting.replace(batch=2)
    straight = run(optimiser(setting), 8)
    for kind in (TensorDataset, AtOnce):
        loaded = optimiser(setting)
        for batch in PrivateSampler(loaded, kind(*data())).loader():
            loaded.step(batch)
        assert torch.equal(loaded.w, straight.w)
    first, second = run(optimiser(setting), 3), optimiser(setting, seeds=(8, 9))
    second.load_state_dict(first.state_dict())
    assert torch.equal(run(second, 5).w, straight.w)
    as_list = optimiser(setting)
    assert torch.equal(run(as_list, 8, list(zip(*data(), strict=True))).w, straight.w)


@pytest.mark.parametrize("options", [{}, {"directions": "streamed", "microbatch": 1}], ids=str)
def test_a_batch_of_nobody_leaves_the_noise_and_the_ridge(options):
    made = optimiser(
        POISSON.replace(batch=1, T=60), start=torch.ones(6, dtype=torch.float64), **options
    )
    empty = next(t for t in range(60) if len(made.drawn(t)) == 0)
    run(made, empty)
    before, twin = made.w, Sources(1, 2).gone_on(made.sources.state_dict())
    assert isnan(made.step(made.batch(data())))
    if "directions" not in options:
        U = stiefel(6, 3, twin.directions)
        pull = before - made.setting.eta / 3 * 0.5 * U @ (U.T @ before)
        assert torch.allclose(made.w, pull + noise_of(U, 0.4, 0.5, made.setting.eta, twin))
    assert made.steps == empty + 1


CLIPPED = [
    ("each", {}),
    ("joint", {}),
    ("each", {"microbatch": 1}),
    ("joint", {"directions": "streamed"}),
]
TOO = [("joint", {"microbatch": 1}), ("each", {"directions": "streamed"})]


@pytest.mark.parametrize(
    ("clipping", "options"), [*CLIPPED, *(proof(*too) for too in TOO)], ids=str
)
@pytest.mark.parametrize("way", WAYS)
def test_worst_neighbours_are_as_far_apart_as_stated(way, clipping, options):
    """A record that the clip cuts down, against none (add-remove) or against its opposite: where it
    is met, and nowhere else.
    """
    setting = WAYS[way].replace(sigma=1e-9, R=inf, m=0, ridge=0, regime="convex", T=30, clip=0.8)
    times = {"poisson": 1, "cyclic": 2}[way]
    stated = times * setting.eta * 0.8 / setting.batch / {"each": sqrt(3), "joint": 3}[clipping]
    generator, runs = torch.Generator().manual_seed(1), []
    others, steep = (
        torch.randn(24, 6, generator=generator, dtype=torch.float64),
        1e4 * torch.ones(6, dtype=torch.float64),
    )
    for record in (steep, steep * (1 - times)):
        run = setting.replace(clipping=clipping)
        made = optimiser(run, loss=lambda w, X: X @ w, **options)
        dataset, ends, met = torch.cat([others[:7], record[None], others[8:]]), [made.w], []
        for batch in made.batches(dataset):
            met.append(7 in batch.records)
            made.step(batch)
            ends.append(made.w)
        runs.append(torch.stack(ends).diff(dim=0))
    apart = (runs[0] - runs[1]).norm(dim=1) / stated
    assert 2 <= sum(met) <= 12
    for step, seen in zip(apart, met, strict=True):
        assert float(step) == pytest.approx(1.0 if seen else 0.0, abs=1e-6)


def test_losses_that_mix_records_are_found_as_soon_as_two_meet():
    def mixing(w, batch):
        return logistic(w, batch) - logistic(w, batch).mean()

    for seed in range(20):
        made = optimiser(POISSON.replace(batch=1, T=60), loss=mixing, seeds=(seed, 100))
        together = next(t for t in range(60) if len(made.drawn(t)) > 1)
        alone = any(len(made.drawn(t)) == 1 for t in range(together))
        if alone:
            break
    run(made, together)
    with pytest.raises(ValueError, match="a loss must depend on its own record alone"):
        run(made, 1)
    assert alone and made.steps == together


class TestReports:
    POISSON = LARGE.replace(batch=100, sampling="poisson", neighbours="add-remove")
    CYCLIC = LARGE.replace(batch=250, sampling="cyclic", sigma=0.3, T=81)

    def test_constant_runs_are_the_accountants(self):
        for setting, valid in (
            (self.POISSON, {"composition", "sharp"}),
            (self.CYCLIC, {"composition", "sharp", "output-perturbation"}),
            (
                self.CYCLIC.replace(neighbours="add-remove"),
                {"composition", "sharp", "output-perturbation"},
            ),
            (
                LARGE.replace(neighbours="add-remove"),
                {"composition", "sharp", "output-perturbation", "theorem"},
            ),
            (self.POISSON.replace(neighbours="replace-one"), set()),
            (LARGE.replace(batch=100, neighbours="add-remove"), {"output-perturbation"}),
        ):
            report = privacy_report(self.record(setting), sensitivity="clip")
            found = {bound: g.epsilon for bound, g in report.guarantees.items() if g.epsilon < inf}
            assert found == {bound: epsilon(setting, bound) for bound in valid}
            assert f"neighbours: {setting.neighbours}" in repr(report)
        assert (
            "this bound does not cover batches of 100 of 2\u202f000 records"
            in report.guarantees["sharp"].reason
        )

    @staticmethod
    def record(setting, **others):
        record = ran(setting, **others)
        return replace(
            record,
            stages=tuple((replace(s, sampling=setting.sampling), c) for s, c in record.stages),
        )

    def test_poisson_steps_that_differ_lie_between_the_extremes(self):
        shares = np.linspace(0.2, 0.7, 80)
        found = epsilons(self.record(self.POISSON, shares=shares))["composition"]
        ends = [epsilon(self.POISSON.replace(beta=beta), "composition") for beta in (0.2, 0.7)]
        assert ends[1] < found < ends[0]
        nothing = self.record(self.POISSON.replace(neighbours="replace-one"), shares=shares)
        assert epsilons(nothing)["composition"] == inf

    def test_turns_that_differ_cost_what_the_worst_record_meets(self):
        shares = np.linspace(0.2, 0.7, 81)
        mu = 2 / 250 / 0.3 / np.sqrt(shares + (1 - shares) * 25 / 60)
        worst = max((mu[j::8] ** 2).sum() / 2 for j in range(8))
        found = privacy_report(self.record(self.CYCLIC, shares=shares)).guarantees["composition"]
        assert found.rho == pytest.approx(worst, rel=1e-9)
        assert found.rho >= worst * (1 - 1e-13)

    def test_turns_that_moved_nothing_do_not_hide_how_often_the_others_came(self):
        """Every other step has no learning rate: of eight batches four are met, each in every
        round.
        """
        step = step_of(self.CYCLIC, sampling="cyclic")
        record = replace(
            self.record(self.CYCLIC), stages=((step, 1), (replace(step, eta=0.0), 1)) * 40
        )
        found = privacy_report(record).guarantees
        ten = epsilon(LARGE.replace(n=250, sigma=0.3, T=10), "composition")
        assert found["composition"].epsilon == pytest.approx(ten, rel=1e-9)
        assert found["sharp"].epsilon == inf and "batches moved nothing" in found["sharp"].reason

    def test_phases_of_other_batches_add_up(self):
        step = step_of(self.CYCLIC, sampling="cyclic")
        stages = (
            (step, 80),
            (replace(step, batch=None), 5),
            (replace(step, batch=100, sampling="poisson"), 0 + 7),
        )
        record = replace(self.record(self.CYCLIC.replace(neighbours="add-remove")), stages=stages)
        found = epsilons(record)["composition"]
        parts = [
            epsilon(LARGE.replace(sigma=0.3, n=n, T=T, neighbours="add-remove"), "composition")
            for n, T in ((250, 10), (2000, 5))
        ]
        assert (
            max(parts)
            < found
            < sum(parts) + epsilon(self.POISSON.replace(sigma=0.3, T=7), "composition")
        )

    def test_the_optimisers_own_report(self):
        for setting in WAYS.values():
            made = run(optimiser(setting.replace(sigma=4.0), declared=DECLARED), 8)
            assert made.privacy_report(sensitivity="clip").epsilon == min(
                epsilon(setting.replace(sigma=4.0), bound)
                for bound in ("composition", "sharp", "output-perturbation")
            )
