"""Sweeps: the same numbers wherever and in whatever pieces they are computed; progress, ends,
errors.
"""

import random
import threading
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from importlib import import_module
from math import inf, isnan

import pytest

from tests.effort import proof
from tests.training.small import small_task
from zoexplore import Accounting
from zoexplore.bounds import BOUNDS, curve, epsilon
from zoexplore.training import METHODS, frontier, plan_sweep, sweep, train
from zoexplore.training.privacy import privacy
from zoexplore.training.sweeps import gathered

ALL = list(METHODS)


@pytest.fixture(scope="module")
def expected():
    return frontier(task=small_task(), methods=ALL, seeds=3)


@pytest.fixture
def tiny_parts(monkeypatch):
    """Every part is one step, so that parts of different seeds interleave."""
    monkeypatch.setattr(import_module("zoexplore.training.sweeps"), "PART", 0.0)


class Shuffled(Executor):
    """Computes each part when asked for and hands the results out in random order, late."""

    def __init__(self, seed):
        self.rng = random.Random(seed)

    def submit(self, call, /, *args, **options):
        done, later = call(*args, **options), Future()
        threading.Timer(self.rng.random() / 100, lambda: later.set_result(done)).start()
        return later


class Counting(ThreadPoolExecutor):
    """Counts the parts."""

    asked = 0

    def submit(self, call, /, *args, **options):
        self.asked += 1
        return super().submit(call, *args, **options)


def test_a_point_for_each_method_and_noise_scale(expected):
    found = [(p.method, p.sigma) for p in expected.points]
    assert found == [(m, s) for m in ALL for s in ((0.01, 0.1) if METHODS[m].noisy else (0.0,))]
    for p in expected.points:
        assert p.seeds == (0, 1, 2) and p.steps[-1] == 12
        assert len(p.accuracy) == 3 and {len(row) for row in p.accuracy + p.loss} == {len(p.steps)}


def test_epsilon_is_the_accountants(expected):
    for p in expected.points:
        if p.method in ("noisy-zogd", "dpzero"):
            for bound in set(BOUNDS) - {"noisy-gd"}:
                assert p.epsilon[bound] == p.epsilons[bound][-1]
                # of the sharper bound's plans a curve compares fewer than a run alone
                alone = epsilon(p.setting, bound)
                assert p.epsilon[bound] == pytest.approx(alone, rel=5e-3 if bound == "sharp" else 0)
                assert list(p.epsilons[bound]) == list(curve(p.setting, "T", p.steps)[bound])
            assert (
                p.epsilon["noisy-gd"] == inf
                and "does not take gradient steps" in p.reason["noisy-gd"]
            )
        assert all((p.epsilon[b] < inf) == (not p.reason[b]) for b in BOUNDS)


def test_printed_constants_are_marked_at_every_point():
    found = frontier(
        task=small_task(), methods=["noisy-zogd", "noisy-gd"], accounting=Accounting(printed=True)
    )
    for p in found.points:
        for bound, value in p.epsilon.items():
            marked = p.reason[bound].startswith("as printed, not a guarantee")
            assert marked == bool(BOUNDS[bound].printed) or value == inf


def test_error_bars_are_standard_errors_over_seeds(expected):
    p = expected.points[0]
    values = [row[-1] for row in p.loss]
    mean = sum(values) / 3
    assert p.mean("loss") == pytest.approx(mean)
    assert p.error("loss") == pytest.approx((sum((v - mean) ** 2 for v in values) / 2 / 3) ** 0.5)
    assert p.error("loss") > 0
    assert isnan(train(small_task(), sigma=0.1).error("loss"))


def test_the_same_numbers_again(expected):
    assert frontier(task=small_task(), methods=ALL, seeds=3) == expected


@pytest.mark.parametrize("seed", [0, proof(1), proof(2)])
def test_the_same_numbers_in_any_order(expected, tiny_parts, seed):
    assert frontier(task=small_task(), methods=ALL, seeds=3, executor=Shuffled(seed)) == expected


def test_the_same_numbers_in_threads(expected, tiny_parts):
    with ThreadPoolExecutor(2) as executor:
        assert frontier(task=small_task(), methods=ALL, seeds=3, executor=executor) == expected


def test_progress_is_real_and_ends_with_everything(expected, tiny_parts):
    updates = list(sweep(task=small_task(), methods=ALL, seeds=3))
    done = [u.done for u in updates]
    # three seeds, all methods together
    assert done == sorted(done) and done[-1] == updates[-1].total == 3 * 12
    assert updates[-1].finished and not any(u.finished for u in updates[:-1])
    assert updates[-1].frontier == expected and updates[-1].seconds_left == 0
    assert all(u.seconds_left >= 0 for u in updates)


def test_before_a_seed_is_done_points_are_the_shorter_runs(tiny_parts):
    """What a sweep shows on the way are the runs as far as they all are, accounted as runs of so
    many steps.
    """
    *updates, last = sweep(task=small_task(), methods=("noisy-zogd",), seeds=2)
    (whole, _), on_the_way = (
        last.frontier.points,
        [u.frontier.points[0] for u in updates if u.frontier.points],
    )
    short = next(point for point in on_the_way if point.steps[-1] < whole.steps[-1])
    assert short.seeds == (0, 1) and short.setting.T == short.steps[-1]
    for before, after in zip(short.accuracy + short.loss, whole.accuracy + whole.loss, strict=True):
        assert before == after[: len(before)]
    assert (
        short.epsilon["composition"]
        == epsilon(short.setting, "composition")
        < whole.epsilon["composition"]
    )


def test_a_mean_is_over_the_same_seeds_until_the_end(tiny_parts):
    """A mean over finished seeds alone would jump as the first of them is finished."""
    updates = list(sweep(task=small_task(), methods=("noisy-zogd",), seeds=3, executor=Shuffled(0)))
    shown = [u.frontier.points[0] for u in updates if u.frontier.points]
    assert {p.seeds for p in shown} == {(0, 1, 2)} and len({p.steps[-1] for p in shown}) > 5
    last = shown[-1].means("accuracy")
    assert all(p.means("accuracy") == last[: len(p.steps)] for p in shown)


def test_a_step_that_a_thread_is_just_recording_is_not_shown():
    plan = plan_sweep(small_task(), ("noisy-zogd",), sigmas=(0.1,), seeds=1)
    (job,), (c,) = plan.jobs, plan.configurations
    state = job.advance(None, 0.0)
    known = [privacy(plan.task, c, job.records, plan.accounting)]
    before = gathered(plan, [state], known)
    state.loss.append([0.5])  # whose accuracy is to follow
    assert gathered(plan, [state], known) == before and before.points[0].steps == (1,)


def test_closing_the_generator_asks_for_no_more(tiny_parts):
    executor = Counting()
    running = sweep(task=small_task(), seeds=2, executor=executor)
    next(running)
    asked = executor.asked
    running.close()
    assert executor.asked == asked


def test_an_error_in_a_part_is_the_sweeps():
    with pytest.raises(ValueError, match="give a smaller eta"):
        frontier(task=small_task(R=inf), eta=1e300, methods=("noisy-zogd",))


@pytest.mark.parametrize(
    "asked, message",
    [
        ({"task": "nothing"}, "task = 'nothing' is not allowed: give one of 'mixture'"),
        ({"methods": ()}, "methods = .* is not allowed"),
        ({"methods": ("noisy-zogd", "noisy-zogd")}, "none of them twice"),
        ({"methods": ("adam",)}, r"methods = \['adam'\] is not allowed: give some of 'noisy-zogd'"),
        ({"sigmas": ()}, "sigmas = .* is not allowed: give at least one"),
        ({"sigmas": (0.1, 0.1)}, "none of them twice"),
        ({"sigmas": (0.1, 0.0)}, "sigma = 0.0 is not allowed"),
        ({"seeds": 0}, "seeds = .* is not allowed"),
        ({"seeds": (-1,)}, "seed = -1 is not allowed: give a whole number"),
        ({"K": 9}, "K = 9 is not allowed: give a whole number from 1 to d = 8"),
        ({"T": 0}, "T = 0 is not allowed"),
        ({"accounting": Accounting(schedule="optimal")}, "schedule = 'optimal' is not allowed"),
        ({"n": 5}, "n is not part of a plan"),
        ({"M": 5.0}, "M is not part of a plan"),
        (
            {"batch": 9, "sampling": "cyclic"},
            "sampling = 'cyclic' is not allowed: batches are drawn anew",
        ),
        ({"sigmas": (0.1,), "epsilons": (1.0,)}, "both sigmas and epsilons were given"),
        ({"epsilons": (-1.0,)}, "epsilon = -1"),
    ],
)
def test_a_plan_that_cannot_be_says_why(asked, message):
    with pytest.raises(ValueError, match=message):
        plan_sweep(**{"task": small_task()} | asked)
