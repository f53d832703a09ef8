"""One answer to one question: alone or on a curve, in whatever order, of whatever number type, from
whatever thread.
"""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from fractions import Fraction
from math import inf

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.bounds.strategies import powers, settings_of_runs, whole_powers
from tests.convention import DEMONSTRATION, curve, epsilon
from tests.effort import examples
from tests.properties.runs import IDS, accountings, lively, slack
from zoexplore.run.setting import INTEGER_FIELDS, NUMERIC_FIELDS

VALUES = {
    "n": whole_powers(2, 7),
    "d": whole_powers(2, 6),
    "K": st.integers(1, 100),
    "T": whole_powers(0, 6),
    "sigma": powers(-4, 1),
    "beta": st.one_of(st.sampled_from([0.0, 1.0]), st.floats(1e-6, 1)),
    "R": st.one_of(st.just(inf), powers(-3, 2)),
    "clip": powers(-1, 2),
    "M": powers(0, 2),
    "m": st.floats(0.5, 1),
    "ridge": st.floats(0, 0.5),
    "eta": powers(-2, 3),
    "xi": st.one_of(st.just(0.0), powers(-9, -3)),
    "delta": powers(-10, -0.5),
    "batch": st.integers(1, 100),
    "lipschitz": st.one_of(st.just(inf), powers(-2, 3)),
    "releases": whole_powers(0, 3),
    "records_per_person": whole_powers(0, 2),
    "cooldown": whole_powers(0, 3),
    "cooldown_beta": st.floats(0, 1),
}
FEWER = 2  # values along batches, where a point takes fifty times as long
APART = 0.01  # between a point of the sharper bound and the same asked alone
# Every value in VALUES is allowed together with these.
COMMON = {
    "n": whole_powers(2, 5),
    "d": st.just(100),
    "K": st.integers(1, 100),
    "M": st.just(1.0),
    "m": st.just(0.5),
}


def random_values(data, field, least, most):
    return data.draw(st.lists(VALUES[field], min_size=least, max_size=most, unique=True))


def test_every_numeric_field_is_tried():
    assert set(VALUES) == set(NUMERIC_FIELDS)


@pytest.mark.parametrize("field", VALUES)
@given(st.data(), accountings, st.booleans())
@examples(5)
def test_a_point_of_a_curve_is_the_answer_alone(field, data, accounting, printed):
    accounting = replace(accounting, printed=printed)
    run, values = (
        data.draw(lively(**COMMON)),
        random_values(data, field, 1, FEWER if field == "batch" else 8),
    )
    for bound, line in curve(run, field, values, accounting=accounting).items():
        for value, point in zip(values, line, strict=True):
            alone_run = run.replace(**{field: value})
            alone = epsilon(alone_run, bound, accounting)
            assert (point < inf) == (alone < inf)
            assert point == alone or point == pytest.approx(
                alone,
                rel=APART if bound == "sharp" else slack(bound, alone_run),
                abs=1e-3 if bound == "sharp" else 1e-9,
            ), (bound, value)


@given(st.data(), st.sampled_from(sorted(VALUES)), accountings, st.randoms())
@examples(20)
def test_the_order_of_the_values_does_not_matter(data, field, accounting, random):
    run, values = data.draw(lively(**COMMON)), random_values(data, field, 2, 40)
    places = list(range(len(values)))
    random.shuffle(places)
    straight = curve(run, field, values, accounting=accounting)
    shuffled = curve(run, field, [values[i] for i in places], accounting=accounting)
    for bound in IDS:
        np.testing.assert_array_equal(straight[bound][places], shuffled[bound], err_msg=bound)


@given(st.data(), st.sampled_from(sorted(VALUES)), accountings)
@examples(20)
def test_a_value_given_twice_has_one_answer(data, field, accounting):
    run, values = data.draw(lively(**COMMON)), random_values(data, field, 1, 6)
    once, twice = (
        curve(run, field, values, accounting=accounting),
        curve(run, field, values * 2, accounting=accounting),
    )
    for bound in IDS:
        np.testing.assert_array_equal(np.tile(once[bound], 2), twice[bound], err_msg=bound)


@given(settings_of_runs(), accountings)
@examples(30)
def test_whole_numbers_floats_and_fractions_are_the_same_numbers(run, accounting):
    given_as = run.as_dict()
    numbers = {
        k: v for k, v in given_as.items() if isinstance(v, int | float) and not isinstance(v, bool)
    }
    as_floats = given_as | {k: float(v) for k, v in numbers.items()}
    as_numpy = given_as | {
        k: np.int64(v) if k in INTEGER_FIELDS else np.float64(v) for k, v in numbers.items()
    }
    as_fractions = given_as | {k: Fraction(v) for k, v in numbers.items() if v < inf}
    answers = [epsilon(run, bound, accounting) for bound in IDS]
    for same in map(
        lambda fields: DEMONSTRATION.replace(**fields), (as_floats, as_numpy, as_fractions)
    ):
        assert same == run and hash(same) == hash(run)
        assert [epsilon(same, bound, accounting) for bound in IDS] == answers


@given(lively(), accountings, st.lists(whole_powers(0, 5), min_size=1, max_size=3))
@examples(10)
def test_values_of_a_curve_may_be_any_real_numbers(run, accounting, steps):
    kinds = [
        steps,
        [float(T) for T in steps],
        np.array(steps, np.int32),
        np.array(steps, np.float64),
    ]
    lines = [curve(run, "T", values, accounting=accounting) for values in kinds]
    for bound in IDS:
        for line in lines[1:]:
            np.testing.assert_array_equal(line[bound], lines[0][bound])


@given(st.lists(st.tuples(lively(), accountings), min_size=2, max_size=4))
@examples(4)
def test_threads_do_not_disturb_each_other(questions):
    """Every thread asks every question, all at once, in its own order: kernels and their caches are
    shared.
    """

    def ask(question):
        run, accounting = question
        over_steps = curve(run, "T", [1, 7, 300, 10**4], accounting=accounting)
        over_noise = curve(run, "sigma", run.sigma * np.geomspace(0.5, 2, 5), accounting=accounting)
        return [line[bound] for line in (over_steps, over_noise) for bound in IDS]

    alone = [ask(question) for question in questions]
    orders = [range(i, i + len(questions)) for i in range(4)]
    with ThreadPoolExecutor(len(orders)) as threads:
        asked = list(
            threads.map(lambda order: [ask(questions[i % len(questions)]) for i in order], orders)
        )
    for order, answers in zip(orders, asked, strict=True):
        for i, answer in zip(order, answers, strict=True):
            np.testing.assert_array_equal(
                np.concatenate(answer), np.concatenate(alone[i % len(questions)])
            )


@given(settings_of_runs(delta=powers(-12, -0.3)), accountings)
@examples(20)
def test_asking_again_changes_nothing(run, accounting):
    assume(run.d >= 2)
    for bound in IDS:
        first = epsilon(run, bound, accounting)
        epsilon(run.replace(T=run.T + 1, sigma=2 * run.sigma), bound, accounting)
        assert epsilon(run, bound, accounting) == first
