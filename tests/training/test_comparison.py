"""The comparison that the page opens with, and the tuning that it comes of."""

import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from subprocess import run

import numpy as np
import pytest

from tests.effort import proof
from tests.training.small import small_task
from zoexplore import Accounting, guarantee
from zoexplore.training import METHODS, TASKS, frontier
from zoexplore.training import comparison as made_by
from zoexplore.training.accounts import accounts
from zoexplore.training.aims import Choice, aimed
from zoexplore.training.comparison import Budget, compare
from zoexplore.training.costs import kept, passes
from zoexplore.training.engine import Configuration
from zoexplore.training.finished import load, save
from zoexplore.training.hiding import differing, excess
from zoexplore.training.methods import COMPARED
from zoexplore.training.tuning import FAINT_RIDGES, RATES, Ranges, trials, tuned

LIPSCHITZ = Accounting(sensitivity="least")


@pytest.fixture(scope="module")
def comparison():
    return load()


def test_every_private_point_is_at_its_target_by_an_account_that_says_so(comparison):
    for task, found in comparison.frontiers.items():
        targets = set(comparison.budgets[task]["epsilons"])
        assert {p.target for p in found.points if METHODS[p.method].noisy} == targets
        for p in found.points:
            if METHODS[p.method].noisy:
                assert p.epsilon[p.by] == pytest.approx(p.target, rel=1e-6) and p.epsilon[p.by] <= p.target and p.counted[p.by]
            if p.setting is not None and p.target == min(targets) and p.method in ("noisy-zogd", "noisy-gd"):
                own = METHODS[p.method].every_direction
                made = Configuration(p.method, p.setting, True, own, target=1.0)
                again = [
                    guarantee(a.setting, p.by, a.accounting) for a in accounts(TASKS[task], made, LIPSCHITZ) if p.by in a.bounds
                ]
                assert min(g.epsilon for g in again) == pytest.approx(p.epsilon[p.by], rel=1e-6)


@pytest.mark.parametrize("measure, field", [("objective", "excess"), ("decisions", "differing")])
def test_hiding_comes_nearer_to_the_minimum_and_is_no_better_on_the_labels(comparison, measure, field):
    """Against the best run of the same kind whose iterates are public: along all directions at every epsilon, along few of them
    where a run is long.
    """
    found = [near for near in comparison.hiding if near.measure == measure]
    of = {(near.hidden, near.K, near.epsilon): getattr(near, field) for near in found}
    d = max(near.K for near in found)
    for K, epsilon in {key[1:] for key in of if key[1] == d or key[2] in (1.0, 3.0)}:
        hidden, public = of[True, K, epsilon], of[False, K, epsilon]
        error = np.hypot(np.std(hidden, ddof=1), np.std(public, ddof=1)) / np.sqrt(len(hidden))
        assert np.mean(public) - np.mean(hidden) > 2 * error
    assert np.ptp([np.mean(near.accuracy) for near in found]) < 0.0005


def test_what_differs_from_the_minimum_is_zero_there_and_half_for_what_is_unlike_it():
    task = small_task("logistic", n=400)
    best = np.zeros(task.d)
    for _ in range(2000):
        p = 1 / (1 + np.exp(-task.data.X @ best))
        best -= task.data.X.T @ (p - task.data.y) / len(p) + task.ridge * best
    right = task.data.X @ best > 0
    found = differing(task, np.array([best, 3 * best, -best, best + 1]), task.data.X)
    assert found.tolist() == [0, 0, 1, np.mean((task.data.X @ (best + 1) > 0) != right)]
    assert excess(task, np.array([best]))[0] == pytest.approx(0, abs=1e-12) and excess(task, np.array([2 * best]))[0] > 1e-6


@pytest.mark.parametrize(
    "task, strengths",
    [("digits-cosines", (100, 1000)), proof("flights", (1,)), ("mnist", (100,))],
)
def test_without_privacy_it_is_as_good_as_scikit_learn(comparison, task, strengths):
    from sklearn.linear_model import LogisticRegression

    data = TASKS[task].data
    other = max(LogisticRegression(C=C, max_iter=300).fit(data.X, data.y).score(data.X_test, data.y_test) for C in strengths)
    best = next(p for p in comparison.frontiers[task].points if p.method == "non-private")
    assert abs(best.mean("accuracy") - other) <= 0.01


def test_a_run_that_was_cut_off_goes_on_where_it_was(tmp_path, monkeypatch):
    """The methods that stand in the file by the same budget are kept, by another they are made anew."""
    few = Budget((1.0,), trials=2, seeds=1, ranges=Ranges((3,), (3,), (5,), (None,)), methods=("aggzo", "non-private"))
    task, done = small_task("logistic", n=100), []
    monkeypatch.setitem(made_by.TASKS, "small", task)
    monkeypatch.setitem(made_by.BUDGETS, "small", few)
    monkeypatch.setattr(
        made_by, "compare", lambda task, budget, *a, **k: done.append(budget.methods) or compare(task, budget, *a, **k)
    )

    def ask(*more):
        done.clear()
        monkeypatch.setattr(sys, "argv", ["comparison", "small", "--workers", "1", "--out", str(tmp_path / "c.json"), *more])
        load.cache_clear()
        made_by.main()
        load.cache_clear()
        return load(tmp_path / "c.json")

    whole = ask()
    assert done == [("aggzo",), ("non-private",)] and [p.method for p in whole.frontiers["small"].points] == list(few.methods)
    cut = replace(whole, frontiers={"small": replace(whole.frontiers["small"], points=whole.frontiers["small"].points[:1])})
    save(cut, tmp_path / "c.json")
    again = ask("--resume")
    assert done == [("non-private",)] and again.frontiers == whole.frontiers
    assert again.seconds["small"] >= whole.seconds["small"]
    again = ask("--methods", "aggzo")
    assert done == [("aggzo",)] and again.frontiers == whole.frontiers
    ask("--resume", "--seeds", "2")
    assert done == [("aggzo",), ("non-private",)]


def test_what_is_kept_is_read_again_and_like_lists_of_tasks_needs_no_torch(comparison, tmp_path):
    save(comparison, tmp_path / "c.json")
    assert load(tmp_path / "c.json") == comparison
    code = (
        "import sys; from zoexplore.training import TASKS, METHODS, Frontier, load, table;"
        "from zoexplore.training.finished import load; load(); print('torch' in sys.modules)"
    )
    assert run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "False"


def test_trials_are_as_many_for_each_method_and_the_same_again():
    task = small_task("softmax", n=200)
    for method in COMPARED:
        made = trials(task, method, 5)
        assert len(set(made)) == 5 and made == trials(task, method, 5)


def test_ranges_that_have_fewer_trials_are_refused():
    task, one = small_task("softmax", n=200), Ranges((3,), (3,), (5,), (None,))
    most = len(RATES) * len(FAINT_RIDGES)
    assert len(trials(task, "non-private", most, ranges=one)) == most
    with pytest.raises(ValueError, match=f"its ranges have {most}: give wider ranges"):
        trials(task, "non-private", most + 1, ranges=one)


def test_tuning_never_sees_the_test_part():
    task = small_task("logistic", n=100)
    data, part = task.data, task.held_back().data
    assert len(part.X) == 80 and len(part.X_test) == 20
    assert {tuple(x) for x in np.vstack([part.X, part.X_test])} == {tuple(x) for x in data.X}


def test_tuned_alike_and_measured_with_other_seeds():
    task = small_task("logistic", n=200)
    with ThreadPoolExecutor(1) as executor:
        budget = Budget((1.0, 4.0), trials=2, seeds=2, methods=("aggzo", "non-private"))
        few = partial(trials, ranges=Ranges((3,), (3,), (5,), (None,)))
        found, validation = compare(task, budget, executor, drawn=few)
    assert [(p.method, p.target) for p in found.points] == [("aggzo", 1.0), ("aggzo", 4.0), ("non-private", None)]
    assert all(p.seeds == (0, 1) for p in found.points) and set(validation) == {"aggzo at 1", "aggzo at 4", "non-private at inf"}


def test_a_trial_that_diverges_is_not_chosen():
    task = small_task("logistic", n=60, R=float("inf"))
    wild, tame = Choice(8, 5, 1e300, 1.0), Choice(8, 5, 1.0, 1.0)
    with ThreadPoolExecutor(1) as executor:
        found = tuned(task, ("non-private",), (), executor, drawn=lambda *_: [wild, tame])
    assert found.choices == {("non-private", float("inf")): tame}


def test_a_target_that_no_noise_reaches_is_said():
    assert aimed(small_task(), "aggzo", Choice(3, 5, 1.0, 0.5), 1.0, LIPSCHITZ) is not None
    with pytest.raises(ValueError, match="epsilon = -1"):
        frontier(task=small_task(), methods=("aggzo",), epsilons=(-1.0,))


def test_delta_and_the_ball_are_those_that_were_asked_for():
    found = frontier(task=small_task(), methods=("aggzo",), epsilons=(1.0,), K=3, T=4, seeds=1, delta=1e-7, R=0.5)
    (point,) = found.points
    assert found.delta == point.setting.delta == 1e-7 and point.setting.R == 0.5
    (usual,) = frontier(task=small_task(), methods=("aggzo",), epsilons=(1.0,), K=3, T=4, seeds=1).points
    assert point.sigma > usual.sigma
    with pytest.raises(ValueError, match=r"xi = 0\.1 is not allowed with epsilons"):
        frontier(task=small_task(), methods=("aggzo",), epsilons=(1.0,), xi=0.1)


def test_without_noise_there_is_no_ball():
    noisy, free = frontier(
        task=small_task(R=0.01), methods=("noisy-gd", "non-private"), epsilons=(1.0,), K=3, T=4, seeds=1
    ).points
    assert noisy.projected == 1 and free.projected == 0


def test_directions_cost_passes_and_save_memory():
    zeroth, first = frontier(task=small_task(), methods=("aggzo", "noisy-gd"), epsilons=(1.0,), K=3, T=4, seeds=1).points
    assert (passes(zeroth), passes(first)) == (2 * 3 * 4 * 60, 3 * 4 * 60)
    assert (kept(zeroth), kept(first)) == (3, 8)
