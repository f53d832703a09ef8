"""Compares ours with other people's accountants and solvers: their value over ours, and their time
over ours.

A value above 1 is a looser bound than ours. Opacus takes Poisson batches and adds or removes a
record, so its value for mini-batches answers a slightly different question, and is marked. All
other values answer the same question as ours.
"""

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from math import sqrt
from typing import Any

import numpy as np
from dp_accounting import (
    GaussianDpEvent,
    NeighboringRelation,
    PoissonSampledDpEvent,
    SampledWithoutReplacementDpEvent,
    SelfComposedDpEvent,
    calibrate_dp_mechanism,
)
from dp_accounting.mechanism_calibration import ExplicitBracketInterval
from dp_accounting.pld import PLDAccountant
from dp_accounting.rdp import RdpAccountant

from benchmarks import growth, plain, program
from benchmarks.timing import milliseconds
from tests.convention import DEMONSTRATION, Accounting, calibrate, curve, epsilon, guarantee
from zoexplore.bounds.loss_distribution import Losses

RUN = DEMONSTRATION.replace(
    n=1000, d=1000, K=200, sigma=0.1, m=0.9, ridge=0, M=1, R=1, delta=1e-5, beta=0.5
)
BATCH = 1000
BATCHES = DEMONSTRATION.replace(
    n=100_000,
    d=1000,
    K=200,
    sigma=0.1,
    m=0.9,
    ridge=0,
    M=1,
    R=1,
    delta=1e-6,
    beta=0.5,
    T=1000,
    batch=BATCH,
)
STEPS = np.unique(np.geomspace(1, 1e6, 300).round())
CKS = Accounting(conversion="cks")


def run() -> Any:
    """Print how times grow, and return the rows of ratios."""
    growth.run()
    with quiet():
        return [*curves(), *solvers(), *compositions(), *batches(), *losses(), *calibrations()]


def row(what: str, peer: Any, ours: Any, theirs: Any, repeats: int = 3) -> Any:
    """Return a row of ratios. Both functions return a number, or an array of a whole curve, for
    which the least and the largest ratio are shown.
    """
    value, other = ours(), theirs()
    ratio = other / value
    shown = f"{ratio.min():.5f} to {ratio.max():.5f}" if np.ndim(ratio) else f"{ratio:.5f}"
    time = milliseconds(theirs, repeats, 0) / milliseconds(ours, 7)
    return what, peer, shown, time


def curves() -> Iterator[Any]:
    """Compare whole curves over the steps with scipy point by point."""
    for bound in ("composition", "theorem", "noisy-gd"):

        def ours(bound: str = bound) -> Any:
            return curve(RUN, "T", STEPS, [bound])[bound]

        def theirs(bound: str = bound) -> Any:
            return np.array([plain.epsilon(RUN.replace(T=T), bound) for T in STEPS])

        yield row(f"{bound}, {STEPS.size} steps", "scipy", ours, theirs, 1)


def solvers() -> Iterator[Any]:
    """Compare the theorem with its convex program, which has our split of delta and some numbers of
    counted steps around ours.
    """
    for schedule in ("constant", "optimal"):
        accounting, setting = Accounting(schedule=schedule), RUN.replace(T=1000)
        found = guarantee(setting, "theorem", accounting)

        def ours(accounting: Any = accounting, setting: Any = setting) -> Any:
            return epsilon(setting, "theorem", accounting)

        def theirs(
            free: Any = schedule == "optimal",
            setting: Any = setting,
            share: float = found.delta_f / setting.delta,
            near: Any = found.N,
        ) -> Any:
            return program.epsilon(setting, share, near, free)

        yield row(f"theorem, T = {setting.T}, {schedule} share", "cvxpy", ours, theirs, 1)


def noise_multiplier(s: Any) -> Any:
    """Return the noise along a direction of the span in one step, over the shift that replacing a
    record makes.
    """
    return (s.batch or s.n) * s.sigma * sqrt(s.beta + (1 - s.beta) * s.K / s.d) / (2 * s.clip)


def opacus(kind: str, multiplier: float, q: float, steps: int, delta: float) -> Any:
    """Return the epsilon of Opacus; that of its privacy-loss accountant is within a thousandth."""
    from opacus.accountants import PRVAccountant, RDPAccountant

    accountant = (PRVAccountant if kind == "PRV" else RDPAccountant)()
    accountant.history = [(multiplier, q, steps)]
    return accountant.get_epsilon(delta, **({"eps_error": 0.001} if kind == "PRV" else {}))


def composed(accountant: Any, event: Any, delta: float) -> Any:
    return accountant.compose(event).get_epsilon(delta)


def compositions() -> Iterator[Any]:
    """Compare composition, which is a Gaussian mechanism."""
    for T in (100, 10_000):
        setting = RUN.replace(T=T, sigma=0.1 * sqrt(T / 100))
        event = SelfComposedDpEvent(GaussianDpEvent(noise_multiplier(setting)), T)
        peers = {
            "dp-accounting, RDP": lambda e=event, s=setting: composed(RdpAccountant(), e, s.delta),
            "dp-accounting, PLD": lambda e=event, s=setting: composed(PLDAccountant(), e, s.delta),
            "Opacus, RDP": lambda s=setting: opacus("RDP", noise_multiplier(s), 1.0, s.T, s.delta),
            "Opacus, PRV": lambda s=setting: opacus("PRV", noise_multiplier(s), 1.0, s.T, s.delta),
        }
        for peer, theirs in peers.items():
            yield row(
                f"composition, T = {T}", peer, lambda s=setting: epsilon(s, "composition"), theirs
            )


def batches() -> Iterator[Any]:
    """Compare steps on batches, q = b/n: by Renyi divergence, since there is no exact trade-off,
    and with Opacus, on Poisson batches with one record more or less.
    """
    q = BATCH / BATCHES.n
    for sigma in (0.1, 0.01):
        setting = BATCHES.replace(sigma=sigma)
        multiplier = noise_multiplier(setting)
        event = SampledWithoutReplacementDpEvent(
            setting.n, setting.batch, GaussianDpEvent(multiplier)
        )

        def without_replacement(event: Any = event, s: Any = setting) -> Any:
            accountant = RdpAccountant(neighboring_relation=NeighboringRelation.REPLACE_ONE)
            return composed(accountant, SelfComposedDpEvent(event, s.T), s.delta)

        peers = {"dp-accounting, RDP": without_replacement} | {
            f"Opacus, {kind} (Poisson, add or remove)": lambda k=kind, s=setting, x=multiplier: (
                opacus(k, 2 * x, q, s.T, s.delta)
            )
            for kind in ("RDP", "PRV")
        }
        for peer, theirs in peers.items():
            what = f"composition, b = {setting.batch}, noise multiplier {multiplier:.3g}"
            yield row(what, peer, lambda s=setting: epsilon(s, "composition", CKS), theirs)


def losses() -> Iterator[Any]:
    """Compare steps on Poisson batches by composed privacy losses: their values at some T, and the
    time of a whole curve, which for the peer is extrapolated from these T.
    """
    for q, multiplier in ((0.01, 1.0), (0.1, 2.0), (0.016, 8.0)):
        few = STEPS[[60, 150, 240]]

        def ours(T: Any = few, q: float = q, multiplier: float = multiplier) -> Any:
            return Losses(T, 0.0, q, 1 / multiplier, "poisson").epsilon(1e-5)

        def theirs(T: Any = few, q: float = q, multiplier: float = multiplier) -> Any:
            event = PoissonSampledDpEvent(q, GaussianDpEvent(multiplier))
            return np.array(
                [composed(PLDAccountant(), SelfComposedDpEvent(event, int(t)), 1e-5) for t in T]
            )

        what, peer, value, _ = row(
            f"Poisson, q = {q:g}, multiplier {multiplier:g}", "dp-accounting, PLD", ours, theirs, 1
        )
        each = milliseconds(theirs, 1, 0) / few.size
        yield what, peer, value, each * STEPS.size / milliseconds(lambda f=ours: f(STEPS), 3)


def calibrations() -> Iterator[Any]:
    """Compare the search for the noise of a target epsilon of 1 with dp-accounting's."""
    per_sigma = noise_multiplier(RUN) / RUN.sigma

    def ours() -> Any:
        return calibrate(RUN, "sigma", epsilon=1.0, bound="composition").sigma

    for name, accountant in (("RDP", RdpAccountant), ("PLD", PLDAccountant)):

        def theirs(accountant: str = accountant) -> Any:
            multiplier = calibrate_dp_mechanism(
                accountant,
                lambda x: SelfComposedDpEvent(GaussianDpEvent(x), RUN.T),
                1.0,
                RUN.delta,
                ExplicitBracketInterval(1.0, 1000.0),
                tol=1e-4,
            )
            return multiplier / per_sigma

        yield row("sigma for epsilon = 1", f"dp-accounting, {name}", ours, theirs, 1)


@contextmanager
def quiet() -> Iterator[Any]:
    """Silence the peers' warnings about orders and tolerances, which do not concern the table."""
    before = logging.root.manager.disable
    logging.disable(logging.WARNING)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
    logging.disable(before)
