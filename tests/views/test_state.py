"""The state is always valid: it refuses, and says what else had to move."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zoexplore import Accounting, Setting
from zoexplore.run import fields
from zoexplore.run.presets import DEMONSTRATION
from zoexplore.run.setting import SETTING_FIELDS
from zoexplore.views import State
from zoexplore.views.state import OPTIONS


def test_it_starts_with_the_defaults_of_setting_and_accounting():
    state = State()
    assert state.setting == DEMONSTRATION
    assert state.accounting == Accounting()


def test_it_takes_a_setting_and_an_accounting():
    setting, accounting = (
        DEMONSTRATION.replace(n=1000, eta=3.0, R=float("inf")),
        Accounting(conversion="cks", printed=True),
    )
    state = State(setting, accounting)
    assert (state.setting, state.accounting) == (setting, accounting)
    assert (state.n, state.eta, state.R, state.conversion) == (1000, 3.0, float("inf"), "cks")


def test_a_change_makes_a_new_setting_once():
    state, seen = State(), []
    state.param.watch(lambda event: seen.append(event.new), "setting")
    state.ask(sigma=0.01, T=7)
    assert seen == [DEMONSTRATION.replace(sigma=0.01, T=7)]


def test_a_step_size_left_open_follows_k_over_m():
    state = State()
    state.ask(K=30)
    assert state.eta is None
    assert state.setting.eta == 30 / state.M


def test_k_is_held_at_d_aloud_and_comes_back():
    state = State()
    state.ask(d=100)
    assert (state.K, state.setting.K) == (100, 100)
    assert "100" in state.note and "260" in state.note
    state.ask(d=520)
    assert (state.K, state.setting.K, state.note) == (260, 260, "")


def test_a_k_that_is_asked_for_while_it_is_held_is_what_is_kept():
    state = State()
    state.ask(d=100)
    state.ask(K=50)
    assert state.note == ""
    state.ask(d=520)
    assert state.K == 50


@pytest.mark.parametrize(
    "values",
    [
        {"K": 521},
        {"m": 0.8},
        {"ridge": 0.6},
        {"K": 30, "d": 20},
        {"n": 2.5},
        {"delta": 1.0},
        {"regime": "flat"},
    ],
)
def test_what_cannot_be_is_refused_with_a_reason_and_changes_nothing(values):
    state = State()
    assert not state.ask(**values)
    field = next(iter(values))
    assert state.refusal.startswith(
        fields.FIELDS[field].symbol if field in fields.FIELDS else field
    )
    assert "not allowed" in state.refusal
    assert state.setting == DEMONSTRATION
    assert all(
        getattr(state, name) == getattr(State(), name) for name in (*SETTING_FIELDS, *OPTIONS)
    )


def test_a_field_is_changed_by_asking_alone():
    state = State()
    with pytest.raises(AttributeError):
        state.K = 250
    assert state.K == 260


def test_what_changes_nothing_is_no_change():
    state, seen = State(), []
    state.param.watch(lambda event: seen.append(event.name), ["setting", "accounting"])
    assert state.ask(T=200.0, printed=False) and not seen
    assert state.ask(printed=True) and seen == ["accounting"]


def test_a_refusal_ends_with_the_next_change_that_is_taken():
    state = State()
    state.ask(m=0.8)
    assert state.ask(M=1.0, m=0.8)
    assert state.refusal == ""
    assert (state.setting.M, state.setting.m) == (1.0, 0.8)


def test_whole_numbers_may_come_as_floats():
    state = State()
    assert state.ask(n=2e4, T=30.0)
    assert (state.n, state.T) == (20_000, 30)


def test_a_slider_that_is_held_is_known_to_be():
    state, committed = State(), []
    state.param.watch(
        lambda _: state.moving or committed.append(state.setting.T), ["setting", "moving"]
    )
    state.slide(T=5)
    state.slide(T=6)
    assert (state.T, committed) == (6, [])
    state.moving = False
    assert committed == [6]
    state.ask(T=7)
    assert committed == [6, 7]


def test_a_whole_setting_is_taken_over():
    state = State(DEMONSTRATION.replace(d=100, K=100))
    setting, accounting = (
        DEMONSTRATION.replace(n=9, batch=4, R=float("inf")),
        Accounting(sensitivity="least", printed=True),
    )
    state.replace(setting, accounting)
    assert (state.setting, state.accounting, state.note) == (setting, accounting, "")


def test_states_share_nothing():
    one, other = State(), State()
    one.ask(T=9)
    assert other.T == other.setting.T == 200


changes = st.one_of(
    st.fixed_dictionaries({"d": st.integers(-1, 2000)}),
    st.fixed_dictionaries({"K": st.integers(-1, 2000)}),
    st.fixed_dictionaries({"m": st.floats(-1, 2)}),
    st.fixed_dictionaries({"M": st.floats(-1, 2)}),
    st.fixed_dictionaries({"ridge": st.floats(-1, 2)}),
)


@given(st.lists(changes, max_size=12))
def test_whatever_is_asked_the_params_and_the_setting_agree(asked):
    state = State()
    for values in asked:
        state.ask(**values)
        assert Setting(**{name: getattr(state, name) for name in SETTING_FIELDS}) == state.setting
        assert bool(state.note) == (state.K == state.d and state._asked_K > state.d)
