"""Several runs together cost what an independent accountant says, and a search no less than its
best run gives away.
"""

from dataclasses import replace
from math import exp, inf, log

import dp_accounting
import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution as pld
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import brentq
from scipy.stats import norm

from tests.effort import examples
from tests.mechanism.test_report import SETTING, ran
from tests.test_project import ROOT
from zoexplore import Accounting, Setting, compose, epsilon, guarantee
from zoexplore.bounds.conversion import epsilon_of
from zoexplore.bounds.guarantee import RISK_DELTAS
from zoexplore.bounds.known_pairs import Pairs
from zoexplore.bounds.loss_distribution import Losses
from zoexplore.mechanism import privacy_report
from zoexplore.questions.several import LAWS, Composed, Part, Steps, gaussian, search, subsampled
from zoexplore.run.formatting import round_up
from zoexplore.run.presets import DEMONSTRATION
from zoexplore.run.published import RUNS

PUBLIC = Setting(n=20_000, d=520, K=1, T=100, sigma=0.002, beta=1.0)


def pairs_of(epsilons, deltas=RISK_DELTAS, count=1.0):
    return Pairs(tuple(np.asarray(epsilons, float)), tuple(np.asarray(deltas, float)), count)


def together(delta, *losses):
    """epsilon of these losses together."""
    return Composed((Part(None, 0.0, losses),), delta, "").epsilon


def divergence(known, gamma):
    """E_gamma of the pair of discrete laws, at any gamma >= 0."""
    _, mass, lost, _ = known.atoms
    return np.maximum(mass - gamma * mass[::-1], 0).sum() + lost


@given(
    st.lists(
        st.tuples(st.just(0.0) | st.floats(1e-4, 30), st.floats(1e-12, 1)), min_size=1, max_size=8
    )
)
@examples(100)
def test_pairs_become_laws_that_have_them_all(pairs):
    known = pairs_of(*zip(*pairs, strict=True))
    _, mass, lost, _ = known.atoms
    assert lost + mass.sum() == pytest.approx(1, abs=1e-6) and (mass >= 0).all()
    for e, delta in pairs:
        assert divergence(known, exp(e)) <= delta * (1 + 1e-9) + 1e-12


@pytest.mark.parametrize("count", [1, 3])
def test_pairs_of_sampled_steps_give_away_no_less_than_the_steps(count):
    """The laws' divergence lies above the steps' own between the pairs too, and so do compositions."""
    step, few = Losses(20.0, 0.0, 0.05, 0.8), np.geomspace(1e-9, 0.5, 25)
    known = pairs_of(step.epsilon(few), few, float(count))
    for e in np.linspace(0, 3, 40):
        assert float(step.epsilon(divergence(known, exp(e)))) <= e * (1 + 1e-3) + 1e-6
    steps, loose = (together(1e-6, s) for s in (Steps(20.0 * count, 0.05, 0.8), known))
    assert steps * (1 - 1e-9) <= loose <= 1.1 * steps


@pytest.mark.parametrize("mu", [0.05, 0.3, 1.0])
@pytest.mark.parametrize("count", [1, 2, 20])
def test_pairs_of_a_gaussian_shift_compose_as_it_does(mu, count):
    known = pairs_of(epsilon_of(mu**2 / 2, RISK_DELTAS), count=float(count))
    truth = float(epsilon_of(count * mu**2 / 2, 1e-6))
    assert truth * (1 - 1e-9) <= together(1e-6, known) <= truth * 1.02 + 1e-3
    truth = float(epsilon_of((count * mu**2 + 0.25) / 2, 1e-6))
    assert truth * (1 - 1e-9) <= together(1e-6, known, Steps(1.0, 1.0, 0.5)) <= truth * 1.02


def test_two_mechanisms_of_which_pairs_are_known_compose_as_their_laws_do():
    """Every pair of losses, summed up without a grid."""
    known = pairs_of([0.1, 0.5, 1.0, 2.0], [0.2, 0.05, 0.01, 1e-4], 2.0)
    losses, masses, lost, _ = known.atoms
    both, weights = np.add.outer(losses, losses), np.multiply.outer(masses, masses)
    for delta in (1e-3, 1e-2):
        found = together(delta, known)
        for scale, enough in ((1.0, True), (0.995, False)):
            truth = (
                (weights * -np.expm1(np.minimum(scale * found - both, 0))).sum()
                + 1
                - (1 - lost) ** 2
            )
            assert (truth <= delta * (1 + 1e-9)) == enough


def test_public_runs_on_all_records_add_up_their_budgets():
    both = compose([PUBLIC, PUBLIC.replace(T=300, sigma=0.003)])
    alone = [
        guarantee(run, "composition").rho for run in (PUBLIC, PUBLIC.replace(T=300, sigma=0.003))
    ]
    assert both.epsilon == pytest.approx(float(epsilon_of(sum(alone), 1e-5)), rel=1e-9)
    assert both.risk.rho == pytest.approx(sum(alone), rel=1e-9) and both.neighbours == "replace-one"
    assert compose([PUBLIC] * 4).epsilon == pytest.approx(
        epsilon(PUBLIC.replace(T=400), "composition"), rel=1e-9
    )
    assert compose([compose([PUBLIC] * 3), PUBLIC]).epsilon == compose([PUBLIC] * 4).epsilon


@pytest.mark.parametrize(
    "run",
    [DEMONSTRATION, DEMONSTRATION.replace(T=3, lipschitz=inf), PUBLIC.replace(batch=200, T=50)],
)
def test_one_run_is_itself_and_more_cost_more(run):
    one, two, five = (compose([run] * count) for count in (1, 2, 5))
    alone = guarantee(run, "best")
    assert alone.epsilon * (1 - 3e-3) <= one.epsilon <= alone.epsilon * (1 + 3e-3)
    assert (
        one.epsilon < two.epsilon < five.epsilon < 5 * epsilon(run.replace(delta=2e-6), alone.bound)
    )
    assert two.supposes == alone.supposes and two.parts[0].guarantee.bound == alone.bound
    assert 0 < one.advantage < two.advantage < 1 and two.profile(two.epsilon) <= 1e-5 * (1 + 1e-9)
    assert (two.tradeoff([0.01, 0.5]) <= one.tradeoff([0.01, 0.5])).all()


@pytest.mark.parametrize("key", ["aggzo-mnli-64", "aggzo-squad-16"])
def test_a_published_pipeline_costs_what_another_accountant_says(key):
    """A count, a search of 20 short runs, then training: Poisson batches, one record more or less."""
    published = RUNS[key]
    training = published.setting
    short = training.replace(T=training.T // 20)
    both = compose([gaussian(5.0), search(short, runs=20), training])
    step = pld.from_gaussian_mechanism(
        published.z, sampling_prob=training.batch / training.n, value_discretization_interval=1e-4
    )
    count = pld.from_gaussian_mechanism(5.0, value_discretization_interval=1e-4)
    theirs = step.self_compose(2 * training.T).compose(count).get_epsilon_for_delta(1e-5)
    assert both.neighbours == "add-remove" and both.epsilon == pytest.approx(theirs, rel=2e-3)
    plain = compose(
        [gaussian(5.0), subsampled(published.z, training.batch / training.n, 2 * training.T)],
        delta=1e-5,
    )
    # the published noise has ten digits
    assert plain.epsilon == pytest.approx(both.epsilon, rel=1e-4)


def law(name, mean):
    """f' of the number of runs: the density of the best of them over that of one, where one has the
    share x below it.
    """
    if name == "poisson":
        return lambda x: mean * np.exp(mean * (x - 1))
    if name == "geometric":
        return lambda x: 1 / mean / (1 - (1 - 1 / mean) * x) ** 2
    gamma = brentq(lambda g: (1 / g - 1) / log(1 / g) - mean, 1e-9, 1 - 1e-9)
    return lambda x: (1 - gamma) / log(1 / gamma) / (1 - (1 - gamma) * x)


@pytest.mark.parametrize("name", LAWS)
@pytest.mark.parametrize("mu", [0.1, 0.5])
@pytest.mark.parametrize("mean", [2.0, 20.0])
def test_a_search_by_a_random_number_of_runs_is_sound_and_cheap(name, mu, mean):
    """The truth for one number with Gaussian noise, of which the largest is released."""
    found = search(gaussian(1 / mu), mean=mean, law=name, delta=1e-5)
    x, step = np.linspace(-12, 12 + mu, 400_001, retstep=True)
    of_runs = law(name, mean)
    assert np.trapezoid(of_runs(norm.cdf(x)) * norm.pdf(x), x) == pytest.approx(
        1 - exp(-mean) * (name == "poisson"), rel=1e-6
    )
    one, other = (of_runs(norm.cdf(x - at)) * norm.pdf(x - at) for at in (0.0, mu))
    for e in (found.epsilon, 0.5 * found.epsilon):
        truth = max(
            np.maximum(p - exp(e) * q, 0).sum() * step for p, q in ((one, other), (other, one))
        )
        assert truth <= found.profile(e) * (1 + 1e-6)
    shapes = {"poisson": inf, "geometric": 1.0, "logarithmic": 0.0}
    event = dp_accounting.dp_event.RepeatAndSelectDpEvent(
        dp_accounting.GaussianDpEvent(1 / mu), mean, shapes[name]
    )
    theirs = (
        dp_accounting.rdp.RdpAccountant(orders=np.geomspace(1.01, 1e4, 300))
        .compose(event)
        .get_epsilon(1e-5)
    )
    assert float(epsilon_of(mu**2 / 2, 1e-5)) < found.epsilon < theirs
    assert mean == 2 or found.epsilon < search(gaussian(1 / mu), runs=20, delta=1e-5).epsilon


@pytest.mark.parametrize("name", LAWS)
def test_a_search_among_answers_with_ties_is_sound(name):
    """Randomised response: the answer yes is better, and the truth is in closed form."""
    e, mean = 0.4, 5.0
    known = Pairs((e,), (0.0,))
    found = search(Composed((Part(None, e, (known,)),), 1e-5, ""), mean=mean, law=name)
    yes = np.array([1 / (1 + exp(e)), 1 / (1 + exp(-e))])
    x = np.linspace(0, 1, 100_001)
    no = np.array([np.trapezoid(law(name, mean)(x) * (x <= 1 - p), x) for p in yes])
    best = np.stack([no, np.trapezoid(law(name, mean)(x), x) - no])
    assert abs(np.log(best[:, 0] / best[:, 1])).max() <= found.epsilon


def test_a_search_then_training_is_cheaper_by_a_random_number():
    fixed, drawn = (
        compose([search(DEMONSTRATION, **how), DEMONSTRATION])
        for how in ({"runs": 20}, {"mean": 20.0})
    )
    assert epsilon(DEMONSTRATION, "sharp") < drawn.epsilon < 0.6 * fixed.epsilon
    assert drawn.supposes == fixed.supposes == guarantee(DEMONSTRATION, "sharp").supposes


def test_reports_and_guarantees_compose_as_their_runs_do():
    report = privacy_report(ran(SETTING, steps=20))
    run = SETTING.replace(T=20)
    alone = min(report.guarantees.values(), key=lambda g: g.epsilon)
    both = compose([report, report])
    assert (
        both.epsilon == pytest.approx(compose([alone] * 2).epsilon) and alone.epsilon < both.epsilon
    )
    assert both.epsilon == pytest.approx(
        compose([guarantee(run, alone.bound, alone.accounting)] * 2).epsilon, rel=1e-3
    )


def test_a_run_without_a_guarantee_leaves_none():
    none = compose(
        [PUBLIC, DEMONSTRATION.replace(batch=100, neighbours="replace-one", sampling="poisson")]
    )
    assert (
        not none.valid
        and none.reason.startswith("run 2 has no guarantee: ")
        and none.epsilon == inf
        and none.advantage == 1
    )


OTHER = PUBLIC.replace(neighbours="add-remove")


@pytest.mark.parametrize(
    ("attempt", "said"),
    [
        (
            lambda: compose([PUBLIC, OTHER]),
            "unlike neighbours are not composed: add-remove, replace-one",
        ),
        (lambda: compose([PUBLIC, subsampled(1.0, 0.1, 5)]), "unlike neighbours"),
        (
            lambda: compose([PUBLIC, PUBLIC.replace(records_per_person=2)]),
            "unlike records a person",
        ),
        (
            lambda: compose([PUBLIC, PUBLIC.replace(delta=1e-6)]),
            "δ = 1e-06, 1e-05: give the delta of all together",
        ),
        (lambda: compose([gaussian(1.0)]), "δ = nothing: give the delta"),
        (lambda: compose([], 1e-5), r"runs = \[\]"),
        (lambda: compose([PUBLIC], delta=1.0), "delta = 1.0 is not allowed"),
        (lambda: compose(["run.yaml"], 1e-5), "'run.yaml' cannot be"),
        (
            lambda: compose([guarantee(PUBLIC, "composition", Accounting(printed=True))]),
            "printed constants",
        ),
        (lambda: gaussian(0.0), "noise_multiplier = 0.0 is not allowed"),
        (lambda: gaussian(1.0, 1.5), "times = 1.5 is not allowed"),
        (lambda: subsampled(1.0, 1.0, 5), "rate = 1.0 is not allowed"),
        (lambda: subsampled(1.0, 0.1, 5, "cyclic"), "sampling = 'cyclic'"),
        (lambda: search(PUBLIC), "give either runs"),
        (lambda: search(PUBLIC, runs=2, mean=2.0), "give either runs"),
        (lambda: search(PUBLIC, runs=0), "runs = 0 is not allowed"),
        (lambda: search(PUBLIC, mean=1.0), "mean = 1.0 is not allowed"),
        (lambda: search(PUBLIC, mean=2.0, law="uniform"), "law = 'uniform' is not allowed"),
    ],
)
def test_what_cannot_be_composed_is_refused_in_words(attempt, said):
    with pytest.raises(ValueError, match=said):
        attempt()


def test_the_numbers_of_the_page_are_the_softwares():
    page = (ROOT / "docs" / "batches.md").read_text(encoding="utf-8")
    _, fixed, *drawn = (
        round_up(found.epsilon, 3)
        for found in (compose([gaussian(2.0)], 1e-5), *searched(gaussian(2.0)))
    )
    geometric, logarithmic, poisson = drawn
    for said in (f"geometric {geometric}", f"logarithmic {logarithmic}", f"Poisson {poisson}"):
        assert said in page
    assert 11.4 < fixed <= 11.5


def searched(run):
    yield search(run, runs=20, delta=1e-5)
    yield from (
        search(run, mean=20.0, law=name, delta=1e-5)
        for name in ("geometric", "logarithmic", "poisson")
    )


def test_losses_too_large_for_a_transform_are_still_bounded():
    loud = replace(compose([PUBLIC]), parts=(Part(None, 0.0, (Steps(10.0, 0.5, 30.0),)),))
    assert float(epsilon_of(10 * 15**2 / 2, 1e-5)) < loud.epsilon < inf
    assert loud.epsilon <= float(epsilon_of(10 * 30**2 / 2, 1e-5)) * 1.2
