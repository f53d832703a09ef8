"""The report: what was run is what is accounted, and what was not declared, or not kept, costs the
bounds that need it.
"""

import re
from dataclasses import replace
from functools import partial
from math import erf, inf, sqrt

import numpy as np
import pytest

from tests.convention import DEMONSTRATION, Accounting, epsilon
from tests.mechanism.problems import DECLARED, optimiser, run
from tests.mechanism.problems import SETTING as SMALL
from zoexplore import BOUNDS, compose, mechanism
from zoexplore.__main__ import main
from zoexplore.mechanism import Declared, Sources
from zoexplore.mechanism.guarantees import composition
from zoexplore.mechanism.record import Counts, RunRecord, Step
from zoexplore.run.formatting import round_up

LEAST = Accounting(sensitivity="least")
privacy_report = partial(mechanism.privacy_report, sensitivity="clip")
SETTING = DEMONSTRATION.replace(
    n=2000, d=60, K=25, T=80, sigma=0.03, beta=0.5, R=0.3, clip=1.0, M=0.75, m=0.5, ridge=0.5
)
HIDDEN = ["corollary", "theorem", "sharp"]
NOISE = Sources(1, 2).description


def step_of(setting, clipping="each", **changes):
    fields = {
        name: getattr(setting, name)
        for name in ("K", "sigma", "beta", "eta", "clip", "batch", "xi", "ridge", "R")
    }
    return Step(clipping=clipping, **fields | changes)


def ran(
    setting=SETTING,
    *,
    steps=None,
    shares=None,
    clipping="each",
    declared=DECLARED,
    clipped=0,
    **others,
):
    steps = setting.T if steps is None else steps
    counts = Counts(steps=steps, looked_at=1000, clipped=clipped)
    stages = [(step_of(setting, clipping), steps)]
    if shares is not None:
        stages = [(step_of(setting, clipping, beta=float(beta)), 1) for beta in shares]
    return RunRecord(setting, tuple(stages), counts, declared, NOISE, **others)


def epsilons(*args, **options):
    return {bound: g.epsilon for bound, g in privacy_report(*args, **options).guarantees.items()}


def test_a_declared_run_has_every_bound_of_the_accountant():
    found = epsilons(ran())
    assert list(found) == list(BOUNDS)
    for bound in BOUNDS:
        assert found[bound] == (epsilon(SETTING, bound) if bound != "noisy-gd" else inf)
    assert privacy_report(ran()).epsilon == min(found.values()) < inf


def test_only_the_steps_that_were_made_count():
    assert epsilons(ran(steps=7))["sharp"] == epsilon(SETTING.replace(T=7), "sharp")
    assert epsilons(ran(steps=7))["composition"] == epsilon(SETTING.replace(T=7), "composition")


def test_what_is_declared_counts_and_not_what_the_setting_supposes():
    """The setting supposes strong convexity and eta = K/M; the loss is declared to be neither, at
    the same step size.
    """
    declared = Declared(M=1.5, lipschitz=1.0)
    actual = SETTING.replace(eta=SETTING.eta, M=1.5, m=0.5, regime="non-convex")
    assert (
        epsilons(ran(declared=declared))["sharp"]
        == epsilon(actual, "sharp")
        > epsilon(SETTING, "sharp")
    )


@pytest.mark.parametrize(
    "declared, words",
    [
        (Declared(), "the smoothness M of the loss is not declared"),
        (Declared(lipschitz=1.0), "the smoothness M of the loss is not declared"),
    ],
)
def test_undeclared_means_composition_only(declared, words):
    report = privacy_report(ran(declared=declared))
    for bound in HIDDEN:
        assert report.guarantees[bound].epsilon == inf
        assert words in report.guarantees[bound].reason
    assert report.guarantees["composition"].epsilon == epsilon(SETTING, "composition")
    assert report.guarantees["output-perturbation"].epsilon == epsilon(
        SETTING, "output-perturbation"
    )
    assert not any(check.met is False for check in report.checks)


UNPROVED = {
    None: "the Lipschitz constant of the clipped loss is not declared",
    inf: "the Lipschitz constant of the clipped loss is not declared",
    1.5: "a record's difference quotient may be as large as 1.5, above the clip 1",
}


class TestActingClip:
    """A clip that is not proved idle may act: what is declared of the curvature counts, and the
    ridge alone contracts.
    """

    @pytest.mark.parametrize("lipschitz", UNPROVED)
    @pytest.mark.parametrize("clipped", [0, 3])
    def test_the_bound_that_knows_of_it_counts_whether_it_acted_or_not(self, lipschitz, clipped):
        report = privacy_report(
            ran(declared=replace(DECLARED, lipschitz=lipschitz), clipped=clipped)
        )
        said = {bound: g.epsilon for bound, g in report.guarantees.items()}
        assert said["sharp"] == epsilon(SETTING.replace(lipschitz=lipschitz or inf), "sharp")
        assert epsilon(SETTING, "sharp") < said["sharp"] < said["composition"]
        for bound in ("corollary", "theorem", "noisy-gd"):
            assert said[bound] == inf and UNPROVED[lipschitz] in report.guarantees[bound].reason
        assert UNPROVED[lipschitz][2:] in repr(report.checks)

    def test_so_is_a_joint_one(self):
        """By the ridge alone; of one direction it is a clip on each quotient."""
        declared = replace(DECLARED, lipschitz=inf)
        one = SETTING.replace(K=1, eta=SETTING.eta / 25)
        alike = epsilons(ran(one, declared=declared))
        assert (
            epsilons(ran(one, declared=declared, clipping="joint"))["sharp"]
            == alike["sharp"]
            < alike["composition"]
        )
        report = privacy_report(ran(declared=declared, clipping="joint"))
        described = SETTING.replace(
            clipping="joint", lipschitz=inf, regime=declared.regime, M=declared.M, m=declared.m
        )
        assert (
            report.guarantees["sharp"].epsilon
            == epsilon(described, "sharp")
            < report.guarantees["composition"].epsilon
        )
        resolved = replace(
            ran(SETTING.replace(xi=1e-3), declared=declared, clipping="joint"), xi_factor=1.5
        )
        assert "streamed directions" in privacy_report(resolved).guarantees["sharp"].reason

    def test_a_loss_that_is_not_finite_is_not_smooth(self):
        record = ran(declared=replace(DECLARED, lipschitz=inf))
        broken = replace(record, counts=replace(record.counts, not_finite=1))
        assert epsilons(broken)["sharp"] == inf

    def test_steps_that_differ_count_as_the_worst_of_them(self):
        stages = tuple(
            (step_of(SETTING, eta=SETTING.eta * rate), 20) for rate in (1.0, 0.9, 0.8, 0.7)
        )
        records = (ran(declared=replace(DECLARED, lipschitz=L)) for L in (inf, DECLARED.lipschitz))
        varied = [epsilons(replace(record, stages=stages))["sharp"] for record in records]
        assert varied[0] > varied[1] and varied[0] > epsilon(
            SETTING.replace(lipschitz=inf), "sharp"
        )


class TestOneLinearForm:
    """It is declared or it is not known: the setting only supposes it."""

    DECLARED = replace(DECLARED, lipschitz=inf, linear=True)
    RUN = SETTING.replace(xi=1e-3)

    def test_what_is_declared_counts(self):
        found = privacy_report(ran(self.RUN, declared=self.DECLARED))
        assert found.guarantees["sharp"].epsilon == epsilon(
            self.RUN.replace(lipschitz=inf, linear=True), "sharp"
        )
        assert found.guarantees["sharp"].epsilon < epsilon(self.RUN.replace(lipschitz=inf), "sharp")
        assert "of one linear form" in repr(found)

    def test_what_the_setting_supposes_does_not(self):
        found = ran(self.RUN.replace(linear=True), declared=replace(self.DECLARED, linear=False))
        assert epsilons(found)["sharp"] == epsilon(self.RUN.replace(lipschitz=inf), "sharp")

    def test_two_points_along_other_vectors_than_the_directions_tell_of_several_forms(self):
        stretched = epsilons(ran(self.RUN, declared=self.DECLARED, xi_factor=1.25))["sharp"]
        assert stretched == epsilon(self.RUN.replace(lipschitz=inf, xi=1.25e-3), "sharp")

    def test_it_is_true_or_false(self):
        with pytest.raises(ValueError, match="linear = 1 is not allowed"):
            Declared(M=1.0, linear=1)


def test_a_clip_that_acted_disproves_what_was_declared():
    report = privacy_report(ran(clipped=3))
    for bound in HIDDEN:
        assert report.guarantees[bound].epsilon == inf
        assert (
            "the clip was active: it changed 3 of 1000 quotients" in report.guarantees[bound].reason
        )
    assert report.epsilon == epsilon(SETTING, "composition")


def test_a_clip_that_was_never_seen_to_act_proves_nothing():
    made = run(optimiser(SETTING.replace(n=24, d=6, K=3, T=8, sigma=1e-9)), 8)
    assert made.counts.clipped == 0
    assert made.privacy_report().guarantees["sharp"].epsilon == inf


def test_released_iterates_leave_composition_alone():
    report = privacy_report(ran(), released="all")
    assert (
        report.guarantees["composition"].epsilon
        == epsilon(SETTING, "composition")
        == report.epsilon
    )
    for bound in set(BOUNDS) - {"composition"}:
        assert "every iterate is released" in report.guarantees[bound].reason
    assert "released: every iterate" in repr(report)


class TestJointClip:
    """A record's K-vector of length C, in place of K quotients of at most Delta each."""

    JOINT = SETTING.replace(clip=3.0)

    def test_composition_has_its_own_sensitivity(self):
        """A step moves by at most 2 eta C/(nK), against a variance of s1 + s2 in the span."""
        moved = 2 * self.JOINT.eta * 3.0 / (2000 * 25)
        variance = self.JOINT.eta**2 * 0.03**2 * (0.5 / 25 + 0.5 / 60)
        found = privacy_report(ran(self.JOINT, clipping="joint", declared=Declared())).guarantees[
            "composition"
        ]
        assert found.rho == pytest.approx(80 * moved**2 / (2 * variance), rel=1e-12)
        assert (found.setting.clip, found.setting.clipping) == (3.0, "joint")

    def test_an_active_one_leaves_the_bounds_that_do_not_look_into_it(self):
        found = epsilons(ran(self.JOINT, clipping="joint", clipped=1))
        assert {bound for bound in found if found[bound] < inf} == {
            "composition",
            "output-perturbation",
        }

    def test_an_idle_one_is_any_clip_that_is_idle(self):
        """It still bounds what a record moves, so that the smaller sensitivity holds as well."""
        found = epsilons(ran(self.JOINT, clipping="joint"))
        for bound in HIDDEN:
            # a record's part in a cube within the joint clip's ball
            each = epsilon(self.JOINT.replace(clip=0.6), bound)
            assert found[bound] == each if bound != "sharp" else each <= found[bound] <= 1.02 * each
        assert found["sharp"] < epsilon(self.JOINT, "sharp")

    def test_a_loss_that_is_strongly_convex_inside_the_clip_is_held_against_it(self):
        """(m - ridge)(R + xi) = 0.9 is within C = 1 and not within C/sqrt(K), which is no clip of
        the run's.
        """
        setting = SETTING.replace(R=3.0, m=0.5, ridge=0.2)
        joint = epsilon(setting.replace(clipping="joint"), "sharp")
        assert (
            epsilons(ran(setting, clipping="joint"))["sharp"] == joint < epsilon(setting, "sharp")
        )

    @pytest.mark.parametrize("xi, idle", [(0.0, True), (0.4, True), (0.41, False)])
    def test_two_points_lengthen_a_records_vector(self, xi, idle):
        """By sqrt(K)(M - ridge) xi/2: at xi = 0.4 from 2.75 to 3, the clip."""
        setting, declared = (
            self.JOINT.replace(xi=xi),
            Declared("strongly-convex", M=1.0, m=0.5, lipschitz=2.5),
        )
        setting = setting.replace(M=1.0)
        guarantees = privacy_report(ran(setting, clipping="joint", declared=declared)).guarantees
        assert ("may be as large as" in guarantees["theorem"].reason) == (not idle)
        assert ("the clip may act" in guarantees["sharp"].note) == (not idle)

    def test_steps_of_different_sizes_are_the_worst_of_both(self):
        """Where the clip may act: never less than either size throughout, and not without a bound."""
        declared, T = replace(DECLARED, lipschitz=inf), 40
        large, small = (
            step_of(SETTING, "joint"),
            replace(step_of(SETTING, "joint"), eta=SETTING.eta / 2),
        )
        stages = {
            "both": ((large, T), (small, T)),
            "large": ((large, 2 * T),),
            "small": ((small, 2 * T),),
        }
        found = {}
        for name, made in stages.items():
            run = ran(SETTING.replace(T=2 * T), clipping="joint", declared=declared)
            found[name] = epsilons(replace(run, stages=made))["sharp"]
        assert max(found["large"], found["small"]) <= found["both"] * (1 + 1e-3) < inf


class TestLipschitzSensitivity:
    """It needs what the hidden-state bounds need, in composition too."""

    def test_it_takes_effect_where_it_is_declared(self):
        lipschitz = Accounting(sensitivity="least")
        found = epsilons(ran(), sensitivity="least")
        for bound in ("composition", "sharp"):
            assert found[bound] == epsilon(SETTING, bound, lipschitz) < epsilon(SETTING, bound)

    @pytest.mark.parametrize(
        "options",
        [{"declared": Declared()}, {"clipped": 1}, {"declared": replace(DECLARED, lipschitz=inf)}],
    )
    def test_and_nowhere_else(self, options):
        assert epsilons(ran(**options), sensitivity="least")["composition"] == epsilon(
            SETTING, "composition"
        )

    def test_with_a_joint_clip_the_loss_is_as_steep_as_declared(self):
        joint = SETTING.replace(clip=3.0, clipping="joint")
        found = epsilons(ran(joint, clipping="joint"), sensitivity="least")["composition"]
        declared = joint.replace(lipschitz=DECLARED.lipschitz)
        assert (
            found
            == epsilon(declared, "composition", Accounting(sensitivity="least"))
            < epsilon(joint, "composition")
        )


class TestSchedules:
    SHARES = np.linspace(0.2, 0.7, 80)

    def test_composition_is_exact(self):
        steps = (2 / 2000) ** 2 / (2 * 0.03**2 * (self.SHARES + (1 - self.SHARES) * 25 / 60))
        found = privacy_report(ran(shares=self.SHARES)).guarantees["composition"]
        assert found.rho == pytest.approx(steps.sum(), rel=1e-9)

    def test_a_constant_schedule_is_the_constant(self):
        constant = np.full(80, 0.5)
        for bound, value in epsilons(ran(shares=constant)).items():
            assert value == pytest.approx(epsilons(ran())[bound], rel=1e-6)

    def test_output_perturbation_looks_at_the_last_step_alone(self):
        assert epsilons(ran(shares=self.SHARES))["output-perturbation"] == epsilon(
            SETTING.replace(beta=0.7), "output-perturbation"
        )


def test_noisy_gradient_descent_is_for_runs_that_are():
    everywhere = SETTING.replace(K=60)
    assert epsilons(ran(everywhere))["noisy-gd"] == epsilon(everywhere, "noisy-gd") < inf
    for setting in (SETTING, everywhere.replace(xi=1e-6)):
        assert (
            "the run is not gradient descent"
            in privacy_report(ran(setting)).guarantees["noisy-gd"].reason
        )


def test_the_optimisers_own_report_is_of_its_run():
    setting = SETTING.replace(n=24, d=6, K=3, T=8, sigma=2.0, R=3.0)
    made = run(optimiser(setting, declared=DECLARED), 5)
    assert made.privacy_report(sensitivity="clip").epsilon == privacy_report(made.record).epsilon
    assert made.privacy_report().guarantees["sharp"].epsilon == epsilon(
        setting.replace(T=5), "sharp", LEAST
    )
    assert made.privacy_report(conversion="mironov").epsilon > made.privacy_report().epsilon


def test_the_words_say_what_was_checked_and_what_is_not_covered():
    text = repr(privacy_report(ran(declared=Declared())))
    said = (
        "80 of 80 steps; released: the last iterate alone",
        "Run: K = 25, T = 80, n = 2000, d = 60, σ = 0.03, β = 0.5, δ = 1e-5, noise multiplier",
        "Batches: every step uses all n = 2\u202f000 records.",
        "Clip: each of a record's difference quotients is limited to Δ = 1.",
        "ε = ∞",
        "[holds] Composition holds whether or not",
        "[yours to vouch for]",
    )
    for words in (*said, "A demonstration", "Not covered by ε: hyper-parameters"):
        assert words in text


@pytest.mark.parametrize("sigma", [0.0301, 0.0307, 0.0311, 0.0333])
def test_nothing_is_shown_smaller_than_it_is(sigma):
    setting = SETTING.replace(sigma=sigma, delta=1.2345674e-5)
    report = privacy_report(ran(setting))
    losses = [g.epsilon for g in report.guarantees.values()]
    shown = [
        float(number.replace("∞", "inf")) for number in re.findall(r"ε = ([\d.∞]+)", repr(report))
    ]
    losses = [*report.meanings.values(), *losses]
    assert len(shown) == len(losses) and all(
        x <= y <= 1.001 * x for x, y in zip(losses, shown, strict=True)
    )
    assert "δ = 1.2345674e-5" in repr(report)


@pytest.mark.parametrize(
    "drawn",
    [{}, {"batch": 500, "sampling": "poisson", "neighbours": "add-remove"}],
    ids=["all", "poisson"],
)
def test_epsilon_is_said_in_both_meanings_and_a_card_computes_it_again(drawn, tmp_path, capsys):
    setting = SETTING.replace(sigma=0.3, **drawn)
    record = ran(setting)
    step, count = record.stages[0]
    report = privacy_report(
        replace(record, stages=((replace(step, sampling=setting.sampling), count),)), released="all"
    )
    own = report.guarantees["composition"].epsilon
    replaced, removed = (report.meanings[name] for name in ("replace-one", "add-remove"))
    assert removed < replaced < inf and own == report.meanings[setting.neighbours]
    card = report.card()
    assert (
        f"| one record, replaced by another | {_rounded(replaced)} |" in card
        and repr(report) in card
    )
    command, text = re.search(
        r"```sh\n(zoexplore .*?) - <<'END'\n(.*?)END\n```", card, re.S
    ).groups()
    (tmp_path / "run.yaml").write_text(text)
    assert main([*command.split()[1:], str(tmp_path / "run.yaml")]) == 0
    assert float(capsys.readouterr().out.split()[1]) == pytest.approx(own, rel=1e-3)


def test_a_card_of_steps_that_differ_says_what_is_known_of_them():
    report = privacy_report(ran(SETTING.replace(batch=500), shares=np.linspace(0.2, 0.7, 80)))
    assert report.meanings["replace-one"] < report.meanings["add-remove"] == inf
    assert "| one record, added or removed | ∞ |" in report.card() and "```sh" not in report.card()
    assert "beta from 0.2 to 0.7" in repr(report)


def _rounded(epsilon):
    return f"{round_up(epsilon):.4g}"


def test_what_steps_that_differ_say_of_other_deltas_is_of_these_steps():
    """A single quiet step, then loud ones: both lose nothing at this delta, and the loud ones
    something at others.
    """
    setting = SETTING.replace(batch=20, delta=0.3)
    stages = (step_of(setting, sigma=30.0), 1), (step_of(setting, sigma=0.06), 2)
    found = composition(replace(ran(setting), stages=stages), Accounting())
    # of either record from none, in standard deviations
    shift = 2 / 20 / 0.06 / sqrt(0.5 + 0.5 * 25 / 60) / 2
    answer = 0.01 * erf(shift / sqrt(2))  # by one loud step, where the records are opposite
    assert found.epsilon == 0 and found.advantage > answer > 0.005


@pytest.mark.parametrize(
    "options", [{"released": "some"}, {"conversion": "zcdp"}, {"sensitivity": "none"}]
)
def test_unknown_options_are_refused(options):
    with pytest.raises(ValueError, match="is not allowed: give one of"):
        privacy_report(ran(), **options)


def test_without_a_step_there_is_nothing_to_report():
    with pytest.raises(ValueError, match="no step was made yet"):
        optimiser().privacy_report()


@pytest.mark.parametrize(
    "constants, words",
    [
        ({"regime": "linear"}, "regime = 'linear' is not allowed"),
        ({"M": 0.0}, "M = 0.0 is not allowed: give a number above 0"),
        ({"M": inf}, "M = inf is not allowed"),
        ({"lipschitz": 0.0}, "lipschitz = 0.0 is not allowed"),
        ({"m": 0.5}, "m = 0.5 with M = None is not allowed"),
        ({"M": 0.4, "m": 0.5}, "m = 0.5 is not allowed: .*M = 0.4"),
        ({"regime": "strongly-convex", "M": 1.0}, "needs m"),
    ],
)
def test_declarations_that_cannot_be_are_refused(constants, words):
    with pytest.raises(ValueError, match=words):
        Declared(**constants)


def test_a_ridge_beyond_the_declared_convexity_is_refused_at_once():
    with pytest.raises(ValueError, match=r"ridge = 0\.5 is not allowed"):
        optimiser(declared=Declared("strongly-convex", M=0.75, m=0.3, lipschitz=1.0))


def test_the_report_says_that_rounding_is_not_counted():
    assert "the proofs are about real numbers" in repr(privacy_report(ran()))


@pytest.mark.parametrize("batch", [None, 8])
def test_a_person_with_several_records_is_counted_where_every_step_takes_all(batch):
    """As the accountant counts them; on batches it does not, and says so."""
    free = SMALL.replace(batch=batch, R=inf, m=0, ridge=0, regime="convex")
    one, three = (free.replace(records_per_person=g) for g in (1, 3))
    reports = [
        run(optimiser(setting, sources=Sources.secure()), 8).privacy_report()
        for setting in (one, three)
    ]
    assert reports[1].epsilon == epsilon(three, "composition", Accounting(sensitivity="clip"))
    if batch is None:
        assert 2 * reports[0].epsilon < reports[1].epsilon < inf
    else:
        assert "a person may have 3 records" in reports[1].guarantees["composition"].reason
    with pytest.raises(ValueError, match="unlike records a person"):
        compose(reports)
