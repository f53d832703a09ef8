"""Inverse questions, against closed forms, against trying every integer, and against the bounds
asked again.
"""

from math import inf, log, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import zoexplore
from tests.bounds.strategies import powers, settings_of_runs
from tests.convention import (
    DEMONSTRATION,
    Accounting,
    calibrate,
    curve,
    epsilon,
    guarantee,
)
from tests.effort import examples, proof
from zoexplore import BOUNDS
from zoexplore.questions import SOLVABLE_FIELDS, Unreachable
from zoexplore.questions.recommendation import meanings
from zoexplore.run.fields import FIELDS
from zoexplore.run.formatting import format_count
from zoexplore.run.limits import LARGEST_INTEGER
from zoexplore.run.presets import DEMONSTRATION as SHOWN
from zoexplore.run.refusals import Refused
from zoexplore.run.setting import NEIGHBOURS, SAMPLINGS

RUN = DEMONSTRATION
SMALL = DEMONSTRATION.replace(n=300, d=40, K=10, T=50, sigma=0.1, m=0.5, ridge=0.5, M=1.0, R=0.5)
CONTINUOUS = ("sigma", "beta", "clip", "R")
# the way in which a field gets better
BETTER = {"sigma": -1, "T": 1, "n": -1, "K": -1, "beta": 1, "clip": 1, "R": 1}
GAUSSIAN = Accounting()
# by which epsilon may jump, relatively, where a plan's rounds of planning end elsewhere
JUMPS = {"sharp": 1e-4}
CHEAP = [bound for bound in BOUNDS if bound != "sharp"]


def meets_and_is_tight(run, field, target, bound, accounting=GAUSSIAN):
    found = calibrate(run, field, epsilon=target, bound=bound, accounting=accounting)
    reached, value = epsilon(found, bound, accounting), getattr(found, field)
    assert reached <= target
    assert found.replace(**{field: getattr(run, field)}) == run  # nothing else has changed
    if (
        field in CONTINUOUS
        and reached < target * (1 - JUMPS.get(bound, 1e-6))
        and value not in (1e60, inf, 1.0)
    ):
        # a jump: no better value next to it will do
        beyond = min(value * (1 + BETTER[field] * 1e-9), 1.0 if field == "beta" else inf)
        assert epsilon(run.replace(**{field: beyond}), bound, accounting) > target
    return found


@pytest.mark.parametrize("field", SOLVABLE_FIELDS)
@pytest.mark.parametrize(
    "run, target",
    [
        (RUN, 0.9),
        proof(RUN.replace(K=20, T=2000, beta=0.8), 7.0),
        (RUN.replace(regime="convex", xi=1e-7, R=0.05), 5.0),
        proof(RUN.replace(m=0.5, ridge=0.0), 0.7),
        (RUN.replace(K=520), 0.4),
    ],
)
def test_the_sharper_bound_is_met_and_used_up(run, target, field):
    try:
        found = meets_and_is_tight(run, field, target, "sharp")
    except Unreachable as error:
        assert error.epsilon > target and field in ("K", "beta")
        return
    reached = epsilon(found, "sharp")
    if field == "sigma" or (field == "clip" and run.ridge == run.m):
        assert reached == pytest.approx(target, rel=JUMPS["sharp"])


@given(
    settings_of_runs(),
    st.sampled_from(CHEAP),
    st.sampled_from(SOLVABLE_FIELDS),
    powers(-2, 2),
    st.data(),
)
@examples(80)
def test_whatever_is_returned_meets_the_target(run, bound, field, target, data):
    accounting = Accounting(data.draw(st.sampled_from(("mironov", "cks", "gaussian"))))
    try:
        meets_and_is_tight(run, field, target, bound, accounting)
    except Unreachable as error:
        assert error.epsilon > target
        assert str(error).startswith("out of reach: ")
        assert FIELDS[field].symbol in str(error) and BOUNDS[bound].in_text in str(error)
        if error.value is not None:
            assert epsilon(run.replace(**{field: error.value}), bound, accounting) == error.epsilon


@given(settings_of_runs(batch=st.none()), powers(-2, 1.5))
def test_sigma_by_composition_has_a_closed_form(run, target):
    tail = log(1 / run.delta)
    rho = (target / (sqrt(tail + target) + sqrt(tail))) ** 2
    share = run.beta + (1 - run.beta) * run.K / run.d
    want = sqrt(run.T * (2 * run.clip / run.n) ** 2 / (2 * share * rho))
    found = calibrate(
        run, "sigma", epsilon=target, bound="composition", accounting=Accounting("mironov")
    )
    assert found.sigma == pytest.approx(want, rel=1e-6)


@pytest.mark.parametrize(
    "bound, target", [("composition", 2.2), ("theorem", 2.5), ("sharp", 1.6), proof("sharp", 2.0)]
)
def test_integers_are_the_best_there_are(bound, target):
    for field, values in (
        ("T", np.arange(1, 150)),
        ("n", np.arange(250, 400)),
        ("K", np.arange(1, SMALL.d + 1)),
    ):
        every = curve(SMALL, field, values, [bound])[bound]
        meeting = values[every <= target]
        if meeting.size == 0:
            with pytest.raises(Unreachable):
                calibrate(SMALL, field, epsilon=target, bound=bound)
            continue
        found = getattr(calibrate(SMALL, field, epsilon=target, bound=bound), field)
        if meeting.size == values.size:
            assert found >= values[-1] if field == "T" else found <= values[0]
        else:
            assert found == (meeting.max() if field == "T" else meeting.min())


def test_a_wide_range_of_K_is_searched_too():
    run = RUN.replace(d=10**6, T=10**5, n=10**6)
    target = epsilon(run.replace(K=123_456), "theorem")
    found = calibrate(run, "K", epsilon=target * (1 + 1e-12), bound="theorem")
    assert found.K == 123_456


def test_the_smallest_epsilon_between_two_rungs_is_found():
    """The closed form is least at beta = 1/2, a narrow place."""
    run = RUN.replace(K=200, T=10**6)
    least = min(curve(run, "beta", np.linspace(0.49, 0.51, 2001), ["corollary"])["corollary"])
    found = calibrate(run, "beta", epsilon=least * (1 + 1e-7), bound="corollary")
    assert found.beta == pytest.approx(0.5, abs=1e-3)
    with pytest.raises(Unreachable) as error:
        calibrate(run, "beta", epsilon=least * (1 - 1e-6), bound="corollary")
    assert error.value.epsilon == pytest.approx(least, rel=1e-6)


def test_a_flat_curve_affords_any_number_of_steps():
    assert calibrate(RUN, "T", epsilon=2.0).T == LARGEST_INTEGER
    assert calibrate(RUN, "R", epsilon=2.0).R == inf
    assert calibrate(RUN, "T", epsilon=2.0, bound="composition").T < 100


def test_of_the_shares_that_meet_the_target_the_largest_is_taken():
    shares = np.linspace(0, 1, 401)
    meeting = shares[curve(RUN, "beta", shares, ["sharp"])["sharp"] <= 0.95]
    found = calibrate(RUN, "beta", epsilon=0.95)
    assert meeting.max() <= found.beta <= meeting.max() + 1 / 400
    assert epsilon(found, "sharp") == pytest.approx(0.95, rel=1e-6)


def test_the_clip_norm_ends_where_the_clip_would_not_be_idle():
    """Small clip norms are refused when strong convexity is inside the clip; the search must not
    stop there.
    """
    run = RUN.replace(ridge=0.0, R=1.0, n=10**6, clip=0.1)
    assert epsilon(run, "theorem") == inf
    assert meets_and_is_tight(run, "clip", 0.5, "theorem").clip > 0.5
    inside = meets_and_is_tight(run.replace(clip=1.0), "R", 0.5, "theorem")
    assert inside.R == pytest.approx(2.0, rel=1e-9)  # where m (R + xi) reaches Delta


def test_a_full_batch_stays_full():
    assert calibrate(RUN.replace(batch=RUN.n), "n", epsilon=0.5) == calibrate(RUN, "n", epsilon=0.5)
    partial = RUN.replace(batch=1000, sigma=1.0)
    # which then is the full batch
    assert calibrate(partial, "n", epsilon=1.0, bound="composition").n == 1000


def test_a_step_size_of_ones_own_is_kept():
    assert calibrate(RUN.replace(eta=300.0), "K", epsilon=2.0).eta == 300.0
    found = calibrate(RUN, "K", epsilon=2.0)
    assert found.eta == found.K / found.M


def test_what_cannot_be_reached_says_how_near_it_comes():
    with pytest.raises(
        Unreachable, match=r"even K = 519 gives ε = 0.4.* by the sharper bound"
    ) as error:
        calibrate(RUN, "K", epsilon=0.1)
    assert error.value.epsilon == epsilon(RUN.replace(K=519), "sharp") and error.value.value == 519
    with pytest.raises(Unreachable, match="does not contract") as error:
        calibrate(RUN.replace(regime="convex"), "sigma", epsilon=1.0, bound="corollary")
    assert error.value.epsilon == inf


@pytest.mark.parametrize("target", [0, -1.0, inf, float("nan"), "1", True])
def test_targets_that_are_none(target):
    with pytest.raises(ValueError, match="epsilon = "):
        calibrate(RUN, "sigma", epsilon=target)


def test_unknown_names():
    with pytest.raises(ValueError, match="field = 'M' is not allowed: give one of sigma, T"):
        calibrate(RUN, "M", epsilon=1.0)
    with pytest.raises(ValueError, match="bound = 'rdp'"):
        calibrate(RUN, "sigma", epsilon=1.0, bound="rdp")


BRIEF = zoexplore.Setting(n=20_000, d=10**6, K=16, T=2000, batch=64, sigma=0.05, beta=1.0)


def test_a_plan_needs_nothing_of_the_loss():
    """It asked for M, which composition does without; with one it took a single direction, and 23
    000 times as much noise.
    """
    plan = zoexplore.recommend(BRIEF, epsilon=2.0, bound="composition")
    assert (plan.bound, plan.setting.beta, plan.setting.clipping) == ("composition", 1.0, "joint")
    assert plan.signal > 3 and (plan.setting.K, plan.setting.T) == (10, 3200)
    assert 0.95 * 204.8 < plan.passes <= 204.8, "what the run would have taken, batches and all"
    assert (
        1.999 < plan.epsilon <= 2
        and epsilon(plan.setting, "composition", Accounting()) == plan.epsilon
    )
    assert any("2KTb/n" in reason for reason in plan.reasons)


@pytest.mark.parametrize(
    "passes, K, T, batch",
    [(5, 1, 1000, 50), (8, 1, 1250, 64), (19, 1, 2968, 64), (64, 3, 3333, 64)],
)
def test_a_plan_takes_small_batches_and_one_direction_until_there_are_many_steps(
    passes, K, T, batch
):
    plan = zoexplore.recommend(n=20_000, d=10**6, epsilon=2.0, passes=passes)
    assert (plan.setting.K, plan.setting.T, plan.setting.batch) == (K, T, batch)
    said = " ".join(plan.reasons)
    assert (
        f"40 of the steps find clip and rate, {format_count(T - 40)} train; all cost the same."
        in said
    )
    assert (
        "Nothing to tune." in said
        and "With one record replaced ε ≤ 2, with one added or removed" in said
    )


def test_a_plan_for_known_gradients_promises_no_probes():
    """A probe costs what the clip allows, whatever is known of gradients."""
    plan = zoexplore.recommend(
        n=20_000, d=520, lipschitz=1.0, epsilon=0.5, delta=0.1, passes=100, bound="composition"
    )
    said = " ".join(plan.reasons)
    assert (
        "find clip and rate" not in said
        and "added or removed" not in said
        and "they cost what the clip allows" in said
    )
    few = zoexplore.recommend(n=20_000, d=10**6, epsilon=2.0, passes=5, batch=150)
    assert few.setting.T == 333 and any(
        "take smaller batches and more steps" in reason for reason in few.reasons
    )


@pytest.mark.parametrize("neighbours", NEIGHBOURS)
@pytest.mark.parametrize(
    "batch, sampling",
    [(1000, "cyclic"), (50, "cyclic"), (50, "poisson"), (50, "without-replacement")],
)
def test_epsilon_is_said_in_both_meanings(batch, sampling, neighbours):
    """Against the same run counted the other way, where a bound covers that."""
    drawn = {"batch": batch, "sampling": sampling, "neighbours": neighbours}
    run = zoexplore.Setting(n=1000, d=100, K=2, T=300, sigma=0.1, beta=1.0, **drawn)
    own = zoexplore.epsilon(run, "composition")
    said = meanings(run)
    if own == inf:
        assert said == ""
        return
    replaced, removed = (float(word.split()[0].strip(",.")) for word in said.split("ε ≤ ")[1:])
    assert (replaced if neighbours == "replace-one" else removed) == pytest.approx(own, rel=1e-2)
    other = next(x for x in NEIGHBOURS if x != neighbours)
    known = zoexplore.epsilon(run.replace(neighbours=other), "composition")
    found = replaced if other == "replace-one" else removed
    assert removed < replaced and (known == inf or found == pytest.approx(known, rel=1e-2))


def test_noise_that_drowns_a_step_is_said_first():
    drowned = zoexplore.recommend(n=1000, d=1000, epsilon=0.1, passes=1e6, batch=1000)
    assert drowned.signal < 1 and drowned.reasons[0].startswith("The noise drowns the step")
    heard = zoexplore.recommend(
        n=1000, d=1000, epsilon=0.1, passes=drowned.passes * drowned.signal**2, batch=1000
    )
    assert heard.signal == pytest.approx(1, rel=0.1), "so many passes are heard"
    clear = zoexplore.recommend(n=10**5, d=1000, epsilon=0.1, passes=1e4, batch=10**5)
    assert clear.signal >= 3 and "drowns" not in " ".join(clear.reasons)


@pytest.mark.parametrize("K", [1, 16, 160])
def test_whether_a_step_is_heard_depends_on_the_passes_not_on_their_split(K):
    known = {"n": 20_000, "d": 10**6, "epsilon": 2.0, "batch": 20_000}
    plans = [zoexplore.recommend(**known, passes=p, K=K) for p in (3200, 12_800)]
    signals = [plan.signal for plan in plans]
    assert all(plan.setting.K == K for plan in plans) and signals[0] == pytest.approx(
        2 * signals[1], rel=0.05
    )
    assert signals[0] == pytest.approx(zoexplore.recommend(**known, passes=3200).signal, rel=0.1)


def test_a_plan_hides_iterates_where_that_needs_less_noise():
    plan = zoexplore.recommend(SHOWN, epsilon=1.0)
    assert plan.bound == "sharp" and 0 < plan.setting.beta < 1
    assert "they cost what the clip allows" in plan.reasons[-1] and not any(
        "find clip" in reason for reason in plan.reasons
    )
    public = zoexplore.recommend(SHOWN, epsilon=1.0, bound="composition")
    assert public.setting.beta == 1 and plan.setting.sigma < public.setting.sigma / 3
    assert any("length at most" in words for words in plan.supposed)
    for beta in (0.1, 0.3, 0.5, 0.7, 0.9):
        run = plan.setting.replace(sigma=plan.setting.sigma / 1.02, beta=beta)
        assert zoexplore.epsilon(run, "sharp") > 1.0


def test_only_what_needs_less_noise_than_public_steps_is_said_to_hide():
    """An old cool-down is not planned for unless it is asked for."""
    late = SHOWN.replace(K=1, T=50, beta=1.0, clipping="joint", cooldown=1)
    plan = zoexplore.recommend(late, epsilon=1.0, passes=100)
    assert plan == zoexplore.recommend(late.replace(cooldown=0), epsilon=1.0, passes=100)
    public = zoexplore.recommend(late, epsilon=1.0, passes=100, cooldown=1)
    assert (public.setting.cooldown, public.bound) == (1, "composition")
    assert not any("hidden" in reason for reason in public.reasons)
    hidden = zoexplore.recommend(late, epsilon=1.0, passes=10_000, K=10, cooldown=1)
    assert hidden.bound == "sharp" and any("the iterates are hidden" in r for r in hidden.reasons)


def test_what_is_given_is_kept():
    plan = zoexplore.recommend(
        n=1000, d=500, epsilon=1.0, K=7, T=30, beta=0.5, clipping="each", delta=1e-6, clip=0.3
    )
    s = plan.setting
    assert (s.K, s.T, s.beta, s.clipping, s.delta, s.clip) == (7, 30, 0.5, "each", 1e-6, 0.3)
    assert zoexplore.recommend(n=1000, d=500, epsilon=1.0, T=30, passes=600).setting.K == 10
    assert zoexplore.recommend(n=1000, d=4, epsilon=1.0, T=30, passes=600).setting.K == 4


@pytest.mark.parametrize(
    "known, words",
    [
        ({"d": 10}, "n is missing"),
        ({"n": 10}, "d is missing"),
        ({"n": 10, "d": 10, "passes": 0.1}, "give at least that"),
        ({"n": 10, "d": 10, "passes": -1.0}, "above 0"),
        ({"n": 10, "d": 10, "K": 11}, "K = 11"),
        ({"n": 10, "d": 10, "T": 100, "passes": 20.0}, "give at least that"),
        ({"n": 10, "d": 10, "colour": 3}, "colour"),
    ],
    ids=str,
)
def test_a_plan_refuses_in_words(known, words):
    with pytest.raises((ValueError, TypeError), match=words):
        zoexplore.recommend(epsilon=1.0, **known)


def test_no_plan_where_the_bound_never_applies():
    with pytest.raises(Unreachable, match="applies at no σ"):
        zoexplore.recommend(SHOWN.replace(regime="non-convex"), epsilon=1.0, bound="corollary")


def check_plans_meet_their_targets(seed, count, known_losses):
    """Whatever is known of data, model and batches; of the loss something in so many cases of all;
    and by whichever bound.
    """
    rng = np.random.default_rng(seed)
    for _ in range(count):
        n, d = (int(10 ** rng.uniform(1, high)) for high in (6, 9))
        known = {
            "n": n,
            "d": d,
            "delta": 10 ** rng.uniform(-9, -3),
            "clipping": str(rng.choice(["joint", "each"])),
        }
        if rng.random() < 0.5:
            known |= {"batch": int(rng.integers(1, n + 1)), "sampling": str(rng.choice(SAMPLINGS))}
            known |= {"neighbours": "add-remove"} if known["sampling"] == "poisson" else {}
        if rng.random() < known_losses:
            known |= {
                "M": 1.0,
                "m": 0.3,
                "ridge": 0.3,
                "regime": "convex",
                "lipschitz": float(rng.choice([0.5, inf])),
            }
        target, budget = 10 ** rng.uniform(-1, 1), 10 ** rng.uniform(0.7, 4)
        try:
            plan = zoexplore.recommend(epsilon=target, passes=budget, **known)
        except Refused as refused:
            assert refused.field == "passes"
            continue
        reached = guarantee(plan.setting, "best", zoexplore.Accounting())
        assert (
            reached.epsilon <= target
            and reached.epsilon == plan.epsilon
            and reached.bound == plan.bound
        ), known
        assert plan.passes <= budget and plan.reasons and plan.supposed


@pytest.mark.parametrize("count", [40, proof(500)])
def test_a_guarantee_of_each_of_many_plans_meets_its_target(count):
    check_plans_meet_their_targets(seed=0, count=count, known_losses=0.02)


@pytest.mark.proof
def test_so_it_does_where_more_is_known_of_losses_and_a_plan_takes_seconds():
    check_plans_meet_their_targets(seed=1, count=500, known_losses=0.3)


# ---------------------------------------------------------------- an attacker's advantage, or true positives, for a target


ATTACKERS = [{"advantage": 0.1}, {"advantage": 0.5}, {"tpr": (0.01, 0.05)}, {"tpr": (0.1, 0.9)}]
SHARP = [
    proof("sharp", target) if i % 2 else ("sharp", target) for i, target in enumerate(ATTACKERS)
]


@pytest.mark.parametrize(
    "bound, target", [*(("composition", target) for target in ATTACKERS), *SHARP]
)
def test_noise_for_what_an_attacker_may_do(bound, target):
    run = DEMONSTRATION.replace(T=20)
    found = guarantee(calibrate(run, "sigma", bound=bound, **target), bound)
    what, most = (found.advantage, target["advantage"]) if "advantage" in target else (None, None)
    if what is None:
        fpr, most = target["tpr"]
        what = float(found.true_positive_rate(fpr))
    assert most * (1 - 1e-4) <= what <= most


def test_steps_for_an_advantage():
    run = DEMONSTRATION.replace(sigma=0.01)
    found = calibrate(run, "T", advantage=0.2, bound="composition")
    assert guarantee(found, "composition").advantage <= 0.2
    assert guarantee(found.replace(T=found.T + 1), "composition").advantage > 0.2


@pytest.mark.parametrize(
    ("target", "says"),
    [
        ({}, "no target"),
        ({"epsilon": 1.0, "advantage": 0.1}, "epsilon and advantage"),
        ({"advantage": 1.0}, "advantage = 1.0"),
        ({"advantage": 0.0}, "below 1"),
        ({"tpr": 0.1}, "tpr = 0.1"),
        ({"tpr": (0.1, 0.05)}, "0 < the first"),
    ],
)
def test_a_target_that_is_none_is_refused(target, says):
    with pytest.raises(ValueError, match=says):
        calibrate(DEMONSTRATION, "sigma", **target)


def test_an_advantage_out_of_reach_says_how_near_it_comes():
    with pytest.raises(Unreachable, match="advantage"):
        calibrate(DEMONSTRATION.replace(sigma=1e-9), "T", advantage=1e-3, bound="composition")
