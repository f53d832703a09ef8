"""The tails of a sharper bound's plan against the recursion step by step (docs/sharp.md)."""

from dataclasses import replace
from math import inf, sqrt

import numpy as np

from tests.bounds import hidden_cost as slow
from tests.convention import Accounting, guarantee
from tests.truth.joint import JointStep
from tests.truth.statement import Step, backward
from zoexplore.bounds import hidden_cost
from zoexplore.bounds.conversion import NUMBERS
from zoexplore.bounds.run_arrays import RunArrays
from zoexplore.bounds.sharp import SPLIT


def opened(run, accounting):
    """A guarantee, and its tails and typical distances where it is a plan's own (and not
    composition or K = d).
    """
    g = guarantee(run, "sharp", accounting)
    if not g.valid or g._solved.kind != SPLIT:
        return g, None, None
    runs = (
        RunArrays.of(run)
        .counted_by(accounting)
        .counted_by_linear_norm(bool(g._solved.by_linear_norm == 1))
    )
    return (
        g,
        hidden_cost.tails(runs, accounting, g._solved),
        hidden_cost.path(runs, accounting, g._solved)[3],
    )


def norm_by_hand(g, order, share, accounting):
    """twice rho at a luck of that share, by the theorem step by step."""
    run, inside = g.setting, g.trajectory
    if run.clipping == "joint":
        step = JointStep.of_run(run, g.beta, order, share)
    else:
        by_form = bool(g._solved.by_linear_norm == 1)
        # where nothing is known of gradients
        sensitivity = "clip" if run.lipschitz == inf else accounting.sensitivity
        step = Step.of(
            run,
            g.beta,
            order,
            share,
            sensitivity,
            by_form or (run.lipschitz or 0) > run.clip,
            by_form,
        )
    return 2 * backward(step, g.start, inside.alpha, inside.pi, inside.drift)[0]


def entry_by_entry(g, order, accounting):
    """The step where every entry of the record's part is known, its norm of linear models the
    hull's.
    """
    run = g.setting.replace(beta=float(g.beta))
    step, by_form = slow.Step.of(run), bool(g._solved.by_linear_norm == 1)
    if run.linear and step.low <= 0:
        remainder = 0.0 if step.low == 0 and (by_form or step.acting) else step.e / sqrt(run.K)
        step = replace(step, acting=step.acting or by_form, e=remainder)
    hulled = Step.of(
        run, g.beta, order, 0.5, accounting.sensitivity, by_form or step.acting, by_form
    )
    if hulled.ratio is not None:  # of linear models, or of an order that is large against d
        object.__setattr__(step, "J", lambda A, C, _: hulled.norm(A, C * hulled.c2)[0])
    return step


def check_tails(run, accounting=None, within=1e-5):
    """Whether the bound was a plan's own, once its tails are no less than step by step, and epsilon
    no less than they say.
    """
    accounting = accounting or Accounting()
    g, tails, typical = opened(run, accounting)
    if tails is None:
        return False
    inside, unit = g.trajectory, run.eta * run.sigma
    share = run.delta ** hidden_cost.effort(NUMBERS[accounting.conversion]).luck
    X, Y, power = tails.X[0], tails.Y[0], tails.power[0]
    assert 0 <= inside.alpha.min() <= inside.alpha.max() == inside.alpha[-1] == inside.pi[-1] == 1
    assert (
        g.N == inside.pi.size <= run.T
        and g.start in (0.0, 2 * run.R)
        and (g.start > 0 or g.N == run.T)
    )
    plan = slow.Plan(inside.alpha, inside.pi, typical, None, g.start / unit, inside.drift / unit)
    levels = np.geomspace(1.0, 1e-4 * run.delta, 40)
    # the others leave no trace in the number
    deciding = {int(tails.exceeded(np.array([level]))[0].argmin()) for level in levels}
    for k in deciding:
        if g._solved.cube == 0 and X[k] < 1e100:
            twice = norm_by_hand(g, int(power[k]), share, accounting)
            ours = share ** (-1 / power[k]) * X[k] + Y[k]
            assert twice * (1 - within) <= ours <= twice * 1.05, (power[k], twice, ours)
        elif X[k] < 1e100:
            by_hand = slow.by_norm(
                entry_by_entry(g, int(power[k]), accounting), plan, int(power[k])
            )
            assert by_hand[0] <= X[k] * (1 + 1e-5) and by_hand[1] <= Y[k] * (1 + 1e-9)
            # in fewer dimensions blocks of steps are looser
            assert X[k] <= by_hand[0] * 1.12 or run.d < 30
    forms = [slow.power(*x) for x in zip(X, Y, power, strict=True)]
    if accounting.conversion == "gaussian":
        assert slow.delta(g.epsilon, forms, least=1e-6 * run.delta) <= run.delta * (1 + 1e-6)
    assert min(form(g.delta_f) for form in forms) <= 2 * g.rho * (1 + 1e-9)
    return True
