"""Whatever is given to the accountant is a run or a `ValueError` in words; never another error, a
hang or a nan.
"""

import re
from math import isnan

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.effort import examples
from tests.fuzz.patience import within_a_second
from tests.fuzz.strings import NAMES, objects, values
from zoexplore import BOUNDS, Accounting, Setting, calibrate, curve, epsilon, guarantee
from zoexplore.run.presets import DEMONSTRATION
from zoexplore.run.refusals import LONGEST_SHOWN
from zoexplore.run.setting import FIELD_NAMES, NUMERIC_FIELDS, SETTING_FIELDS
from zoexplore.views.state import OPTIONS

CODE = re.compile(
    r'Traceback|File "|/[a-z_]+/[a-z_]+/|\.py\b|0x[0-9a-f]{6,}|zoexplore\.|numpy\.|<function'
)


def in_words(error):
    """A message that names what was given and what is allowed, and shows nothing of the program."""
    text = str(error)
    assert text and len(text) < 3 * LONGEST_SHOWN
    return text


def attempt(make):
    """What was made, or None where it was refused in words."""
    try:
        return within_a_second(make)
    except ValueError as error:
        in_words(error)
        return None


@given(st.dictionaries(st.sampled_from(FIELD_NAMES), objects, max_size=5))
@examples(250)
def test_any_fields_are_a_setting_or_refused(given_fields):
    made = attempt(lambda: DEMONSTRATION.replace(**given_fields))
    if made is not None:
        assert made == Setting(**made.as_dict()) and made == made.replace()
        assert 1 <= made.K <= made.d and 0 <= made.ridge <= made.m <= made.M and 0 < made.delta < 1


@given(st.dictionaries(st.sampled_from(OPTIONS), objects, max_size=4))
@example({"printed": "9" * 5000})
@examples(200)
def test_any_options_are_an_accounting_or_refused(given_options):
    attempt(lambda: Accounting(**given_options))


@given(st.dictionaries(st.one_of(st.sampled_from(NAMES), st.text(max_size=9)), values, max_size=3))
@examples(200)
def test_any_replacement_is_a_setting_or_refused(changes):
    attempt(lambda: DEMONSTRATION.replace(**changes))


@given(
    st.sampled_from([*SETTING_FIELDS, "", "momentum"]),
    st.one_of(st.lists(values, max_size=4), objects),
    st.sampled_from([*BOUNDS, "rdp"]),
)
@examples(300)
def test_any_curve_is_numbers_or_refused(field, along, bound):
    try:
        list(along)
    except TypeError:
        return  # no collection: Python says so itself
    lines = attempt(lambda: curve(DEMONSTRATION, field, along, [bound]))
    if lines is not None:
        assert not np.isnan(lines[bound]).any() and (lines[bound] >= 0).all()


@given(
    st.dictionaries(
        st.sampled_from(NUMERIC_FIELDS), st.one_of(values, st.integers(1, 10**6)), max_size=4
    ),
    st.sampled_from(list(BOUNDS)),
)
@examples(200)
def test_whatever_is_a_setting_has_an_answer(given_fields, bound):
    setting = attempt(lambda: DEMONSTRATION.replace(**given_fields))
    if setting is not None:
        answer = within_a_second(lambda: guarantee(setting, bound))
        assert not isnan(answer.epsilon) and answer.epsilon >= 0 and (answer.valid or answer.reason)
        assert "nan" not in answer.reason and "nan" not in answer.note
        assert not CODE.search(answer.reason)


@given(
    objects,
    st.one_of(st.sampled_from([*SETTING_FIELDS, "momentum"]), objects),
    st.sampled_from(["composition", "theorem", "rdp"]),
)
@examples(150)
def test_any_target_is_met_or_refused(target, field, bound):
    try:
        hash(field)
    except TypeError:
        return
    found = attempt(lambda: calibrate(DEMONSTRATION, field, epsilon=target, bound=bound))
    if found is not None:
        assert epsilon(found, bound) <= target


@pytest.mark.parametrize("name", ["clip", "R", "n"])
def test_a_message_never_grows_with_what_was_given(name):
    for value in ("x" * 10**6, [0] * 10**6, 10**6000, {"a": "b" * 10**6}):
        with pytest.raises(ValueError, match=name) as refused:
            DEMONSTRATION.replace(**{name: value})
        assert len(in_words(refused.value)) < 2 * LONGEST_SHOWN
