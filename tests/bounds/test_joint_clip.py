"""A joint clip C lets a record move a step by 2 eta C/(nK), in every bound; where it may act, few
of them say something.
"""

from math import inf, sqrt

import pytest

from tests.convention import DEMONSTRATION, Accounting, Setting, curve, epsilon, guarantee
from tests.effort import proof
from zoexplore import BOUNDS
from zoexplore.bounds.run_arrays import RunArrays
from zoexplore.bounds.sharp import needed_ridge

RUN = DEMONSTRATION.replace(n=2000, d=60, K=25, T=80, sigma=0.03, R=0.3)
JOINT = RUN.replace(clipping="joint")
RUNS = {
    "all records": RUN,
    "free share": RUN.replace(beta=0.0),
    "batches": RUN.replace(batch=100),
    "Poisson": RUN.replace(batch=100, sampling="poisson", neighbours="add-remove"),
    "cyclic": RUN.replace(batch=100, sampling="cyclic"),
    "people": RUN.replace(records_per_person=3),
}


@pytest.mark.parametrize("run", RUNS.values(), ids=RUNS)
def test_an_idle_one_is_a_clip_on_each_quotient_that_is_sqrt_K_times_smaller(run):
    """All that these bounds ask of an idle clip is how far a record, or two points, can move a
    step; the sharper one makes a little of a clip on each quotient, which keeps a record's part in
    a cube within that ball.
    """
    joint, each = run.replace(clipping="joint", clip=1.0), run.replace(clip=1 / sqrt(25))
    for bound in ("composition", "output-perturbation", "corollary", "theorem"):
        assert epsilon(joint, bound) == pytest.approx(epsilon(each, bound), rel=1e-9)
    assert (
        epsilon(each, "sharp") * (1 - 1e-9)
        <= epsilon(joint, "sharp")
        <= epsilon(each, "sharp") * 1.02
    )


@pytest.mark.parametrize("d, K", [(2, 1), (3, 2), (5, 2), (60, 25)])
@pytest.mark.parametrize("ridge", [0.1, 0.5])
def test_an_idle_clip_costs_no_more_than_one_that_may_act_on_all_quotients(d, K, ridge):
    idle = RUN.replace(
        d=d, K=K, eta=None, clip=sqrt(K), clipping="joint", m=ridge, ridge=ridge, lipschitz=None
    )
    assert epsilon(idle, "sharp") <= epsilon(idle.replace(lipschitz=inf), "sharp") * (1 + 5e-3)


def test_composition_is_the_gaussian_shift_of_its_own_sensitivity():
    moved = 2 * JOINT.eta / (2000 * 25)
    variance = JOINT.eta**2 * 0.03**2 * (0.5 / 25 + 0.5 / 60)
    assert guarantee(JOINT, "composition").rho == pytest.approx(
        80 * moved**2 / (2 * variance), rel=1e-12
    )
    assert JOINT.noise_multiplier == pytest.approx(sqrt(variance) / (moved / 2), rel=1e-12)


def test_the_comparator_with_gradients_clips_these_at_the_same_length():
    assert epsilon(JOINT, "noisy-gd") == epsilon(RUN, "noisy-gd")


def test_along_directions_every_value_has_its_own():
    directions = [1, 5, 25, 60]
    along = curve(JOINT, "K", directions, ["composition", "sharp"])
    for bound, values in along.items():
        assert list(values) == pytest.approx(
            [epsilon(JOINT.replace(K=K), bound) for K in directions], rel=1e-3
        )
    assert along["composition"][0] == epsilon(RUN.replace(K=1), "composition")


@pytest.mark.parametrize(
    "changes", [{"lipschitz": inf}, {"lipschitz": 1.01}, {"xi": 1e-4}], ids=str
)
def test_one_that_may_act_costs_hidden_iterates_more(changes):
    """Two points along K directions can say more than a gradient of length C. Of one direction both
    clips are the same.
    """
    acting = JOINT.replace(**changes)
    found = {bound: guarantee(acting, bound) for bound in BOUNDS}
    assert {bound for bound, g in found.items() if not g.valid} == {"corollary", "theorem"}
    for bound in ("corollary", "theorem"):
        assert "the clip may act" in found[bound].reason
    idle = epsilon(JOINT.replace(xi=acting.xi, clip=1.0, lipschitz=0.3), "sharp")
    assert idle < found["sharp"].epsilon < found["composition"].epsilon
    assert (
        epsilon(acting.replace(K=1), "sharp")
        == epsilon(acting.replace(K=1, clipping="each"), "sharp")
        < inf
    )


@pytest.mark.parametrize("xi, idle", [(0.4, True), (0.41, False)])
def test_two_points_lengthen_a_record_s_vector_by_the_range_of_curvatures(xi, idle):
    run = JOINT.replace(
        regime="convex", ridge=0.0, m=0.0, M=2.0, clip=2.0, lipschitz=1.0, R=0.2, xi=xi
    )
    assert (epsilon(run, "theorem") < inf) == idle


def test_the_loss_s_own_sensitivity_does_not_depend_on_the_clip():
    lipschitz = Accounting(sensitivity="least")
    at = {kind: RUN.replace(clipping=kind, clip=2.0, lipschitz=0.1) for kind in ("each", "joint")}
    for bound in ("composition", "sharp"):
        assert epsilon(at["joint"], bound, lipschitz) == pytest.approx(
            epsilon(at["each"], bound, lipschitz), rel=1e-9
        )


def test_an_unknown_kind_is_refused():
    with pytest.raises(
        ValueError, match="clipping = 'both' is not allowed: give one of 'each', 'joint'"
    ):
        Setting(n=10, d=2, K=1, T=1, sigma=1.0, beta=1.0, clipping="both")


def test_the_comparator_covers_a_clip_of_gradients_that_acts():
    """It is the run itself at all directions and beta = 0, so it has that run's number by the
    sharper bound.
    """
    run = JOINT.replace(K=60, eta=60 / 0.75, beta=0.0, lipschitz=inf)
    for changes in (
        {},
        {"ridge": 0.1, "m": 0.1},
        {"regime": "non-convex"},
        {"linear": True, "regime": "convex"},
    ):
        same = run.replace(**changes)
        assert epsilon(same, "noisy-gd") == pytest.approx(epsilon(same, "sharp"), rel=1e-9)
        assert epsilon(same.replace(clipping="each"), "noisy-gd") == inf
    assert epsilon(run, "noisy-gd") > epsilon(run.replace(lipschitz=None), "noisy-gd")


ACTING = JOINT.replace(lipschitz=inf, sigma=0.01)


def test_it_carries_over_to_releases_neighbours_people_and_batches():
    """Their arguments use a step's inequality and the length of the record's kick alone."""
    alone = epsilon(ACTING, "sharp")
    assert alone < epsilon(ACTING.replace(releases=5), "sharp") < epsilon(ACTING, "composition")
    assert epsilon(ACTING.replace(neighbours="add-remove"), "sharp") < 0.6 * alone
    assert epsilon(ACTING.replace(records_per_person=2), "sharp") == pytest.approx(
        epsilon(ACTING.replace(clip=2.0), "sharp"), rel=1e-6
    )
    for batches in ({"batch": 200, "sampling": "cyclic"}, {"batch": 200, "T": 2000, "R": 0.01}):
        run = ACTING.replace(**batches)
        assert epsilon(run, "sharp") < epsilon(run, "composition")
        idle = epsilon(run.replace(lipschitz=0.2), "sharp")
        assert idle <= epsilon(run, "sharp") * (1 + 1e-3)
    assert epsilon(ACTING.replace(releases=80), "sharp") == pytest.approx(
        epsilon(ACTING, "composition"), rel=1e-9
    )


def test_the_loss_s_length_bounds_the_record_s_own_part_though_the_clip_acts():
    """Just above the clip: the record's kick is at most what it is with a clip twice as long that
    is idle in all but name.
    """
    lipschitz, steep = Accounting(sensitivity="least"), JOINT.replace(lipschitz=1.01, xi=1e-6)
    assert epsilon(steep, "sharp", lipschitz) < epsilon(steep, "sharp")
    assert epsilon(steep, "composition", lipschitz) < epsilon(steep, "composition")


# a whole number would have its kernels compiled anew
@pytest.mark.parametrize("order", [1.0, proof(100.0)])
def test_small_steps_contract_from_an_eighth_of_the_smoothness_on(order):
    """M'/8 for convex losses, where a clip on each quotient needs 0.058 M'; linear models at usual
    steps by almost any ridge.
    """
    run = ACTING.replace(d=520, K=260, regime="convex", M=1.0, m=0.2, ridge=0.2, eta=260 * 0.02)
    needed = {
        kind: needed_ridge(RunArrays.of(run.replace(clipping=kind)), order) / 0.8
        for kind in ("joint", "each")
    }
    assert needed["joint"] == pytest.approx(0.126, abs=2e-3) and 0.05 < needed["each"] < 0.09
    linear = run.replace(linear=True)
    assert needed_ridge(RunArrays.of(linear), order) <= needed_ridge(RunArrays.of(run), order)
    assert needed_ridge(RunArrays.of(linear.replace(eta=260.0)), 100.0) < 0.02
