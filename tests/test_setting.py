"""A setting is a frozen, hashable value; whatever cannot be a run is refused by name, value and
allowed range.
"""

import pickle
import re
from dataclasses import FrozenInstanceError
from decimal import Decimal
from fractions import Fraction
from math import copysign, inf, nan, nextafter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import zoexplore
from tests.bounds.strategies import settings_of_runs
from tests.convention import DEMONSTRATION, Accounting, Setting, curve, epsilon, guarantee
from zoexplore import BOUNDS
from zoexplore.run import setting
from zoexplore.run.fields import FIELDS, OPTIONS
from zoexplore.run.refusals import Refused

TOO_LARGE = 2**53 + 1

# field, an impossible value, and what the message must say is allowed
IMPOSSIBLE = [
    *(
        (name, value, "1 to ")
        for name in ("n", "d", "T", "K")
        for value in (0, -1, -5.0, 0.5, 1.5, inf, -inf, nan, 10**400)
    ),
    *((name, TOO_LARGE, "1 to 9007199254740992") for name in ("n", "d", "T")),
    ("K", 521, "1 to d = 520"),
    ("K", TOO_LARGE, "1 to d = 520"),
    *(("batch", value, "1 to n = 20000") for value in (0, -1, 20_001, 2.5, inf, nan)),
    *(
        (name, value, "above 0")
        for name in ("sigma", "clip", "eta")
        for value in (0, -1.0, inf, -inf, nan, 10**400)
    ),
    *((name, value, "above 0") for name in ("R", "M") for value in (0, 0.0, -1, -inf, nan)),
    *(
        ("beta", value, "at least 0 and at most 1")
        for value in (-1e-300, nextafter(1, 2), -0.5, 2, inf, nan)
    ),
    *(
        ("delta", value, "at least 1e-300 and below 1")
        for value in (0, 5e-324, 1e-308, 1, -1e-5, 1.5, inf, nan)
    ),
    *(("xi", value, "at least 0") for value in (-1e-300, -1, inf, nan)),
    *(("m", value, "at most M = 0.75") for value in (-1e-9, 0.7500001, inf, nan)),
    *(("ridge", value, "at most m = 0.5") for value in (-1e-9, 0.5000001, inf, nan)),
    *(
        ("regime", value, "'strongly-convex', 'convex', 'non-convex'")
        for value in ("", "Convex", "strongly convex")
    ),
]

WRONG_TYPES = [
    "",
    "1",
    True,
    False,
    1j,
    1 + 0j,
    b"1",
    [1],
    (1,),
    {},
    np.array([1.0]),
    np.bool_(True),
    Decimal(1),
    object,
]
NUMBERS = [
    "n",
    "d",
    "K",
    "T",
    "sigma",
    "beta",
    "R",
    "clip",
    "M",
    "m",
    "ridge",
    "eta",
    "xi",
    "delta",
    "batch",
    "lipschitz",
    "releases",
    "records_per_person",
]


def refuses(name, value, allowed):
    """The construction and the replacement both fail, and the message says all that one needs to
    mend it.
    """
    given = DEMONSTRATION.as_dict() | {name: value}
    for attempt in (lambda: Setting(**given), lambda: DEMONSTRATION.replace(**{name: value})):
        with pytest.raises(ValueError, match=re.escape(allowed)) as error:
            attempt()
        assert error.value.field == name
        assert str(error.value).startswith(f"{name} = {value!r} "), error.value


@pytest.mark.parametrize(("name", "value", "allowed"), IMPOSSIBLE, ids=lambda x: repr(x)[:24])
def test_impossible_values_are_refused_with_field_value_and_range(name, value, allowed):
    refuses(name, value, allowed)


@pytest.mark.parametrize("name", NUMBERS)
def test_what_is_not_a_real_number_is_refused(name):
    for value in WRONG_TYPES:
        refuses(name, value, "number")


@pytest.mark.parametrize(
    "name", [name for name in NUMBERS if name not in ("eta", "batch", "lipschitz")]
)
def test_only_the_step_size_the_batch_and_the_lipschitz_constant_may_be_left_out(name):
    refuses(name, None, "number")


@pytest.mark.parametrize("value", [None, 1, True, ("convex",), ["convex"]])
def test_a_regime_is_one_of_three_words(value):
    refuses("regime", value, "'strongly-convex', 'convex', 'non-convex'")


@pytest.mark.parametrize("value", [None, 1, 0, "1", "true", np.bool_(True), [True]])
def test_whether_a_model_is_linear_is_true_or_false(value):
    refuses("linear", value, "True or False")


@pytest.mark.parametrize(
    "value",
    [10**5000, Fraction(10**400), Fraction(1, 3)],
    ids=["int", "large-fraction", "fraction"],
)
@pytest.mark.parametrize("name", ["n", "T", "K", "batch"])
def test_numbers_beyond_any_float_are_refused_like_others(name, value):
    with pytest.raises(
        ValueError, match=rf"^{name} = .* not allowed: give a whole number from 1 to"
    ):
        DEMONSTRATION.replace(**{name: value})


@pytest.mark.parametrize("name", ["sigma", "clip", "M", "R", "eta"])
def test_real_fields_refuse_integers_beyond_any_float_by_name(name):
    with pytest.raises(ValueError, match=rf"^{name} = .* not allowed"):
        DEMONSTRATION.replace(**{name: 10**5000})


def test_a_message_reads_as_a_sentence():
    with pytest.raises(ValueError) as error:
        DEMONSTRATION.replace(K=600)
    assert str(error.value) == "K = 600 is not allowed: give a whole number from 1 to d = 520"


def test_limits_that_are_possible_are_accepted():
    run = DEMONSTRATION.replace(
        n=1,
        d=1,
        K=1,
        T=2**53,
        beta=1,
        R=inf,
        m=0.75,
        M=0.75,
        ridge=0.75,
        xi=0,
        delta=nextafter(1, 0),
        batch=1,
    )
    assert (run.n, run.K, run.T, run.R, run.batch) == (1, 1, 2**53, inf, 1)
    assert DEMONSTRATION.replace(delta=1e-300, sigma=5e-324, ridge=0, m=0, beta=0).delta == 1e-300
    assert DEMONSTRATION.replace(M=inf).eta is None
    assert DEMONSTRATION.replace(K=520, d=520).K == 520  # K > d/2 is legal


@pytest.mark.parametrize("number", [float, np.float32, np.float64, np.int64, np.int32, Fraction])
def test_whole_numbers_may_come_as_any_kind_of_number(number):
    run = DEMONSTRATION.replace(
        n=number(4000), d=number(64), K=number(8), T=number(100), batch=number(40)
    )
    assert run == DEMONSTRATION.replace(n=4000, d=64, K=8, T=100, batch=40)
    assert all(type(getattr(run, name)) is int for name in ("n", "d", "K", "T", "batch"))


def test_real_fields_are_floats_whatever_they_came_as():
    run = DEMONSTRATION.replace(
        sigma=1, beta=1, R=1, clip=np.float32(2), M=1, m=1, ridge=0, eta=Fraction(1, 2), xi=0
    )
    names = ("sigma", "beta", "R", "clip", "M", "m", "ridge", "eta", "xi", "delta")
    assert all(type(getattr(run, name)) is float for name in names)
    assert run == DEMONSTRATION.replace(
        sigma=1.0, beta=1.0, R=1.0, clip=2.0, M=1.0, m=1.0, ridge=0.0, eta=0.5, xi=0.0
    )


def test_settings_are_frozen_hashable_values():
    run, same = DEMONSTRATION.replace(T=100), DEMONSTRATION.replace(T=100.0)
    assert (
        run == same
        and hash(run) == hash(same)
        and {run: 1}[same] == 1
        and run != DEMONSTRATION.replace(T=101)
    )
    with pytest.raises(FrozenInstanceError):
        run.T = 5
    with pytest.raises(FrozenInstanceError):
        Accounting().conversion = "cks"
    assert len({Accounting(), Accounting("gaussian"), Accounting(printed=True)}) == 2


def test_a_step_size_left_to_be_K_over_M_follows_K_and_M():
    run = DEMONSTRATION.replace(K=30, M=0.75)
    assert run.eta == 40.0
    assert run.replace(K=60).eta == 80.0
    assert run.replace(M=1.5).replace(K=3).eta == 2.0
    assert run.replace(T=7).replace(K=60).eta == 80.0


def test_an_explicit_step_size_is_kept_until_it_is_given_up():
    run = DEMONSTRATION.replace(K=30, M=0.75, eta=3)
    assert run.replace(K=60, M=1.0).eta == 3.0
    assert run.replace(eta=None).replace(K=60).eta == 80.0
    assert DEMONSTRATION.replace(K=30, M=0.75).replace(eta=40.0).replace(K=60).eta == 40.0


def test_a_step_size_that_overflows_is_refused_by_name():
    with pytest.raises(ValueError, match=r"^eta = inf"):
        DEMONSTRATION.replace(M=1e-320, m=0, ridge=0)


def test_a_full_batch_is_none_or_all_records():
    assert (
        DEMONSTRATION.full_batch
        and DEMONSTRATION.replace(n=50, batch=50).full_batch
        and not DEMONSTRATION.replace(batch=40).full_batch
    )


@pytest.mark.parametrize("make", [DEMONSTRATION.replace, Accounting().replace])
def test_unknown_names_are_refused_with_those_that_exist(make):
    with pytest.raises(ValueError, match=r"momentum is not an? .*(sigma|conversion)"):
        make(momentum=0.9)
    with pytest.raises(ValueError):
        make(eta_follows=True)


def test_setting_takes_no_unknown_field():
    with pytest.raises(TypeError):
        Setting(**DEMONSTRATION.as_dict(), momentum=0.9)


OWN = {"n": 1000, "d": 100, "K": 1, "T": 10, "sigma": 1.0, "beta": 0.5}


@pytest.mark.parametrize("name", OWN)
def test_a_runs_own_numbers_have_no_default(name):
    with pytest.raises(TypeError, match=name):
        Setting(**{k: v for k, v in OWN.items() if k != name})
    with pytest.raises(TypeError):
        Setting(1000, 100, 1, 10, 1.0, 0.5)


def test_nothing_is_assumed_of_a_loss_that_nobody_described():
    """Composition needs the clip alone; every bound that follows hidden iterates says what it would
    need to know.
    """
    run = Setting(**OWN)
    assert (run.regime, run.R, run.M, run.m, run.ridge, run.eta) == (
        "non-convex",
        inf,
        inf,
        0,
        0,
        None,
    )
    assert (
        guarantee(run, "composition").epsilon
        == guarantee(run.replace(M=2.0), "composition").epsilon
        < inf
    )
    for bound in ("corollary", "theorem", "sharp", "noisy-gd"):
        g = guarantee(run, bound)
        assert (
            g.epsilon == inf
            and "M = ∞ says nothing about how smooth the loss is" in g.reason
            and "nan" not in g.reason
        )
    assert "η is not set" in guarantee(run, "output-perturbation").reason
    moved = run.replace(R=1.0, eta=0.5)
    assert guarantee(moved, "output-perturbation").epsilon < inf


@pytest.mark.parametrize("field", ["T", "sigma", "K", "M"])
def test_curves_of_an_undescribed_loss_are_its_points(field):
    run, values = Setting(**OWN, R=1.0), [1, 2, 3]
    found = curve(run, field, values)
    for bound in BOUNDS:
        assert found[bound].tolist() == [
            epsilon(run.replace(**{field: value}), bound) for value in values
        ]


def test_the_same_run_is_equal_however_its_step_size_was_given():
    assert Setting(**OWN, M=2.0) == Setting(**OWN, M=2.0, eta=0.5)
    assert hash(Setting(**OWN, M=2.0)) == hash(Setting(**OWN, M=2.0, eta=0.5))


def test_a_refusal_survives_another_process():
    with pytest.raises(Refused) as error:
        DEMONSTRATION.replace(T=0)
    again = pickle.loads(pickle.dumps(error.value))
    assert str(again) == str(error.value) and again.field == "T"


@pytest.mark.parametrize(
    ("option", "value", "allowed"),
    [
        *(
            ("conversion", value, "'gaussian', 'cks', 'mironov'")
            for value in ("rdp", "", None, 1, True)
        ),
        *(("sensitivity", value, "'least', 'clip'") for value in ("Clip", None, 0)),
        *(("schedule", value, "'constant', 'optimal'") for value in ("free", None, [])),
        *(("printed", value, "True or False") for value in (None, 1, 0, "yes", "False")),
    ],
)
def test_unknown_options_are_refused(option, value, allowed):
    for attempt in (
        lambda: Accounting(**{option: value}),
        lambda: Accounting().replace(**{option: value}),
    ):
        with pytest.raises(ValueError, match=re.escape(allowed)) as error:
            attempt()
        assert str(error.value).startswith(f"{option} = {value!r} "), error.value


@given(settings_of_runs())
def test_a_setting_is_what_its_own_fields_make(run):
    assert Setting(**run.as_dict()) == run == run.replace() and hash(run.replace()) == hash(run)
    assert (
        eval(repr(run), {"Setting": Setting, "inf": inf}).replace(eta=run.as_dict()["eta"]) == run
    )
    as_floats = {
        k: v if v is None or isinstance(v, (str, bool)) else float(v)
        for k, v in run.as_dict().items()
    }
    assert Setting(**as_floats) == run


@given(settings_of_runs(), st.integers(1, 2**53), st.floats(1e-6, 1e6))
def test_replacing_and_replacing_back_is_no_change(run, T, sigma):
    assert run.replace(T=T, sigma=sigma).replace(T=run.T, sigma=run.sigma) == run


@pytest.mark.parametrize("field", ["beta", "m", "ridge", "xi"])
def test_nothing_has_no_sign(field):
    """1/-0.0 would be -inf."""
    given = {"m": 0.0, "ridge": 0.0, field: -0.0}
    assert copysign(1.0, getattr(DEMONSTRATION.replace(**given), field)) == 1.0


@pytest.mark.parametrize("batch", [None, 64])
def test_the_noise_multiplier_is_of_the_steps_own_noise_and_sensitivity(batch):
    run = DEMONSTRATION.replace(batch=batch, clip=0.7)
    # of what a replaced record moves: one is added
    half = run.eta * run.clip / ((batch or run.n) * run.K**0.5)
    noise = run.eta * run.sigma * (run.beta / run.K + (1 - run.beta) / run.d) ** 0.5
    assert run.noise_multiplier == pytest.approx(noise / half, rel=1e-12)
    if batch is None:  # composition is T Gaussian steps of replaced records
        assert guarantee(run, "composition").rho == pytest.approx(
            run.T * (2 / run.noise_multiplier) ** 2 / 2, rel=1e-9
        )


@given(settings_of_runs(), st.floats(1e-6, 1e6))
def test_a_noise_multiplier_goes_in_as_it_comes_out_and_never_becomes_more(run, z):
    again = run.replace(noise_multiplier=z)
    assert (
        again == run.replace(sigma=again.sigma) and z * (1 - 1e-12) <= again.noise_multiplier <= z
    )
    others = {name: x for name, x in again.as_dict().items() if name != "sigma"}
    assert zoexplore.Setting.of(**others, noise_multiplier=z) == again


RATES, EPOCHS = st.decimals("0.001", 1, places=3), st.decimals("0.1", 100, places=1)


@given(st.integers(1, 10**6), RATES, EPOCHS, st.sampled_from(setting.SAMPLINGS))
def test_epochs_and_a_sample_rate_are_rounded_to_the_costly_side(n, rate, epochs, sampling):
    own = {"n": n, "d": 9, "K": 1, "beta": 1.0, "sigma": 2.0, "epochs": float(epochs)}
    run = zoexplore.Setting.of(**own, sample_rate=float(rate), sampling=sampling)
    drawn = Fraction(rate) * n
    assert run.batch - 1 < drawn <= run.batch
    assert run.batch * run.sigma == pytest.approx(2 * float(drawn), rel=1e-12), (
        "the noise on the sum of a batch"
    )
    epoch = -(-n // drawn) if sampling in ("cyclic", "shuffled") else n / drawn
    assert run.T - 1 < Fraction(epochs) * epoch <= run.T
    whole = zoexplore.Setting.of(**own)
    assert (whole.T, whole.batch, whole.sigma) == (-(-Fraction(epochs) // 1), None, 2.0)


@pytest.mark.parametrize(
    ("told", "said"),
    [
        (
            {"noise_multiplier": 0},
            "noise_multiplier = 0 is not allowed: give a finite number above 0",
        ),
        ({"noise_multiplier": "1"}, "noise_multiplier = '1' is not allowed"),
        ({"sample_rate": 1.1}, "sample_rate = 1.1 is not allowed"),
        ({"epochs": None}, "epochs = None is not allowed"),
        ({"epochs": 1, "T": 1}, "epochs and T say the same: give one of them"),
        ({"sample_rate": 0.1, "batch": None}, "sample_rate and batch say the same"),
    ],
)
def test_other_numbers_are_refused_by_their_own_names(told, said):
    own = {
        name: value for name, value in OWN.items() if name not in map(setting.IN_PLACE.get, told)
    }
    for attempt in (
        lambda: zoexplore.Setting.of(**own | told),
        lambda: DEMONSTRATION.replace(**told),
    ):
        with pytest.raises(Refused, match=re.escape(said)) as error:
            attempt()
        assert error.value.field in told


def test_every_option_has_a_name():
    named = {field: set(names) for field, names in OPTIONS.items()}
    assert named == {
        "regime": set(setting.REGIMES),
        "clipping": set(setting.CLIPPINGS),
        "neighbours": set(setting.NEIGHBOURS),
        "sampling": set(setting.SAMPLINGS),
        "conversion": set(setting.CONVERSIONS),
        "sensitivity": set(setting.SENSITIVITIES),
        "schedule": set(setting.SCHEDULES),
    }


def test_what_is_left_out_has_words_where_None_is_allowed_alone():
    for field in FIELDS.values():
        try:
            DEMONSTRATION.replace(**{field.name: None})
        except ValueError:
            assert not field.left_out
        else:
            assert field.left_out


def test_a_file_s_name_is_no_setting():
    with pytest.raises(
        ValueError,
        match=r"setting = 'run.yaml' is not allowed: give a Setting; of a run file: .*from_yaml",
    ):
        zoexplore.explore("run.yaml")
