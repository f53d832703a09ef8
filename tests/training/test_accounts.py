"""What the comparison's points are charged, against accountants that share no code with ours."""

from math import exp, inf, sqrt

import dp_accounting
import pytest
from dp_accounting import pld
from scipy.optimize import brentq
from scipy.stats import norm

from tests.effort import proof
from tests.training.small import small_task
from zoexplore.run.setting import Accounting
from zoexplore.training import METHODS, TASKS
from zoexplore.training.comparison import load
from zoexplore.training.engine import Configuration
from zoexplore.training.privacy import accounts, aimed, privacy

WIDTH = 2e-5  # of the other accountant's intervals of loss, as a share of epsilon


def multiplier(point):
    """Noise over what one record adds, both of a step's movement along one direction: sensitivity
    is (eta/K) clip over the records, noise eta sigma of which beta lies in K directions and the
    rest in all d.
    """
    run = point.setting
    noise = point.sigma * sqrt(run.beta / run.K + (1 - run.beta) / run.d)
    return noise * run.K * (run.batch or run.n) / run.clip


def gaussian(mu, delta):
    """Epsilon of a Gaussian mechanism, exactly (Balle, Wang 2018)."""

    def beyond(e):
        return norm.cdf(mu / 2 - e / mu) - exp(e + norm.logcdf(-mu / 2 - e / mu)) - delta

    return brentq(beyond, 0, 1e5)


def poisson(z, rate, T, delta, target):
    other = pld.PLDAccountant(value_discretization_interval=WIDTH * target)
    other.compose(dp_accounting.PoissonSampledDpEvent(rate, dp_accounting.GaussianDpEvent(z)), T)
    return other.get_epsilon(delta)


def of_kind(*counted):
    """Private points of the comparison that are counted by composition of what begins so."""
    return [
        pytest.param(p, found.frontier.delta, id=f"{task} {p.method} {p.target:g}")
        for task, found in load().items()
        for p in found.frontier.points
        if METHODS[p.method].noisy and p.by == "composition" and p.counted[p.by].startswith(counted)
    ]


def some(points):
    """The first, the last and the middle one of every task: of several methods and targets. The
    others are for `make proof`.
    """
    tasks = {}
    for p in points:
        tasks.setdefault(p.id.partition(" ")[0], []).append(p)
    kept = {
        id(p)
        for of_task in tasks.values()
        for p in (of_task[0], of_task[len(of_task) // 2], of_task[-1])
    }
    return [p if id(p) in kept else proof(*p.values, id=p.id) for p in points]


CLIPPED = of_kind("each record's clipped")


@pytest.mark.parametrize("point, delta", [p for p in CLIPPED if not p.values[0].setting.batch])
def test_all_records_as_a_gaussian_mechanism(point, delta):
    mu = sqrt(point.setting.T) / multiplier(point)
    assert gaussian(mu, delta) == pytest.approx(point.target, rel=1e-4)


@pytest.mark.parametrize("point, delta", some([p for p in CLIPPED if p.values[0].setting.batch]))
def test_poisson_batches_as_google_counts_them(point, delta):
    rate = point.setting.batch / point.setting.n
    assert poisson(multiplier(point), rate, point.setting.T, delta, point.target) == pytest.approx(
        point.target, rel=5e-3, abs=2e-4
    )


def test_a_clip_that_may_act_along_the_axes_is_not_the_sharper_bounds():
    """Its proof for such a clip is of directions that are drawn at random."""
    task = TASKS["mixture"]
    setting = task.setting(1e-3, K=task.d, clip=0.5, lipschitz=1.0, eta=1.0)
    for own, known in ((True, False), (False, True)):
        (account,) = accounts(task, Configuration("noisy-gd", setting, own_basis=own), Accounting())
        assert ("sharp" in account.bounds) == known
        found = privacy(
            task, Configuration("noisy-gd", setting, own_basis=own), (1, 10), Accounting()
        )
        assert (found["sharp"].along[-1] < inf) == known
        assert known or "drawn at random" in found["sharp"].reason


def test_a_run_that_keeps_its_share_is_aimed_at_that_share():
    """Else it had the noise of another run, whose share is the best."""
    task = small_task()
    kept, free = (
        aimed(task, "noisy-zogd", 2.0, Accounting(schedule=schedule)).setting
        for schedule in ("constant", "optimal")
    )
    assert kept.sigma == free.sigma
