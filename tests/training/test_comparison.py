"""The comparison that the page opens with, and the tuning that it comes of."""

import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from subprocess import run

import numpy as np
import pytest

from tests.training.small import small_task
from zoexplore import Accounting, guarantee
from zoexplore.training import METHODS, TASKS, frontier
from zoexplore.training.accounts import accounts
from zoexplore.training.aims import Choice, aimed
from zoexplore.training.comparison import Budget, compare
from zoexplore.training.costs import kept, passes
from zoexplore.training.engine import Configuration
from zoexplore.training.finished import load, save
from zoexplore.training.methods import COMPARED
from zoexplore.training.tuning import Ranges, trials, tuned

LIPSCHITZ = Accounting(sensitivity="lipschitz")


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
                made = Configuration(p.method, p.setting, True, own, "joint", target=1.0)
                again = [
                    guarantee(a.setting, p.by, a.accounting) for a in accounts(TASKS[task], made, LIPSCHITZ) if p.by in a.bounds
                ]
                assert min(g.epsilon for g in again) == pytest.approx(p.epsilon[p.by], rel=1e-6)


def test_hiding_comes_nearer_to_the_minimum_and_is_no_better_at_classifying(comparison):
    """Against the best run of the same kind whose iterates are public; from the smallest epsilon to the largest."""
    of = {(near.hidden, near.K, near.epsilon): near.excess for near in comparison.hiding}
    epsilons = sorted({near.epsilon for near in comparison.hiding})

    def gain(K, epsilon):
        """Of the hidden ones, in standard errors."""
        hidden, public = of[True, K, epsilon], of[False, K, epsilon]
        error = np.hypot(np.std(hidden, ddof=1), np.std(public, ddof=1)) / np.sqrt(len(hidden))
        return (np.mean(public) - np.mean(hidden)) / error

    for K in {near.K for near in comparison.hiding}:
        assert min(gain(K, epsilon) for epsilon in epsilons[2:]) > 2 and abs(gain(K, epsilons[0])) < 2
    assert np.ptp([np.mean(near.accuracy) for near in comparison.hiding if near.epsilon >= epsilons[1]]) < 0.005


def test_without_privacy_it_is_as_good_as_scikit_learn(comparison):
    from sklearn.linear_model import LogisticRegression

    data = TASKS["digits-cosines"].data
    other = max(LogisticRegression(C=C, max_iter=300).fit(data.X, data.y).score(data.X_test, data.y_test) for C in (100, 1000))
    best = next(p for p in comparison.frontiers["digits-cosines"].points if p.method == "non-private")
    assert abs(best.mean("accuracy") - other) <= 0.01


def test_what_is_kept_is_read_again_and_needs_no_torch(comparison, tmp_path):
    save(comparison, tmp_path / "c.json")
    assert load(tmp_path / "c.json") == comparison
    code = "import sys; from zoexplore.training.finished import load; load(); print('torch' in sys.modules)"
    assert run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "False"


def test_trials_are_as_many_for_each_method_and_the_same_again():
    task = small_task("softmax", n=200)
    for method in COMPARED:
        made = trials(task, method, 5)
        assert len(set(made)) == 5 and made == trials(task, method, 5)


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


def test_directions_cost_passes_and_save_memory():
    zeroth, first = frontier(task=small_task(), methods=("aggzo", "noisy-gd"), epsilons=(1.0,), K=3, T=4, seeds=1).points
    assert (passes(zeroth), passes(first)) == (2 * 3 * 4 * 60, 3 * 4 * 60)
    assert (kept(zeroth), kept(first)) == (3, 8)
