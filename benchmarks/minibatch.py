"""Compares our Renyi curve on mini-batches with dp-accounting's accountant for sampling without
replacement, and shows what batches cost each bound.
"""

from math import sqrt
from typing import Any

import numpy as np
from dp_accounting import (
    GaussianDpEvent,
    NeighboringRelation,
    SampledWithoutReplacementDpEvent,
    SelfComposedDpEvent,
)
from dp_accounting.rdp import RdpAccountant

from benchmarks.timing import milliseconds, table
from tests.convention import DEMONSTRATION, Accounting, curve, epsilon
from zoexplore.bounds.conversion import epsilon_at_order
from zoexplore.bounds.kernels.subsampled_renyi import sampled_divergence

CKS = Accounting(conversion="cks")
RUN = DEMONSTRATION.replace(
    n=1_000_000, d=1000, K=200, sigma=0.1, m=0.9, ridge=0, M=1, R=1, delta=1e-6, beta=0.5, T=1000
)
STEPS = np.unique(np.geomspace(1, 1e6, 300).round())


def run() -> None:
    curves_of_orders()
    print()
    compositions()
    print()
    batches()


def curves_of_orders() -> None:
    """Compare divergences; theirs are read off their accountant by converting a single order."""
    print(
        "One step on a batch: dp-accounting's Renyi divergence over ours (both upper bounds) by sampling rate q and order"
    )
    orders, delta = (1.25, 2, 8, 64, 256, 512), 1e-5
    rows = []
    for multiplier in (1.0, 10.0, 100.0):
        for n in (10, 100, 1000, 10_000, 100_000, 1_000_000):
            row = [f"{multiplier:g}", f"{1 / n:g}"]
            for order in orders:
                ours = sampled_divergence(float(order), 1 / n, 1 / multiplier)
                steps = max(1, round(1 / ours))
                theirs = accountant(n, 1, multiplier, steps, [order]).get_epsilon(delta)
                rest = theirs - epsilon_at_order(0.0, order, delta, "cks")
                row.append(f"{rest / steps / ours:.3f}")
            rows.append(row)
    table(("noise multiplier", "q", *(f"order {order}" for order in orders)), rows)


def compositions() -> None:
    print(f"Composition of {RUN.T} steps at delta {RUN.delta:g}; time over ours (a single run)")
    rows = []
    for batch, sigma in (
        (100, 3.0),
        (1000, 0.3),
        (10_000, 0.03),
        (100_000, 0.003),
        (500_000, 0.001),
    ):
        setting = RUN.replace(batch=batch, sigma=sigma)
        multiplier = (
            batch * sigma * sqrt(RUN.beta + (1 - RUN.beta) * RUN.K / RUN.d) / (2 * RUN.clip)
        )

        def peer(setting: Any = setting, multiplier: float = multiplier) -> Any:
            return accountant(setting.n, setting.batch, multiplier, setting.T).get_epsilon(
                setting.delta
            )

        ours, theirs = epsilon(setting, "composition", CKS), peer()
        ms = milliseconds(lambda s=setting: epsilon(s, "composition", CKS))
        time = milliseconds(peer, 3, 0) / ms
        q = f"{batch / RUN.n:g}"
        figures = (
            f"{multiplier:.3g}",
            f"{ours:.5g}",
            f"{theirs:.5g}",
            f"{theirs / ours:.4f}",
            f"{ms:.2f}",
            f"{time:.0f}",
        )
        rows.append((q, *figures))
    table(
        ("q", "noise multiplier", "ours", "dp-accounting", "theirs/ours", "ms", "time/ours"), rows
    )


def accountant(n: int, batch: Any, multiplier: float, steps: int, orders: Any = None) -> Any:
    event = SampledWithoutReplacementDpEvent(n, batch, GaussianDpEvent(multiplier))
    return RdpAccountant(orders, NeighboringRelation.REPLACE_ONE).compose(
        SelfComposedDpEvent(event, steps)
    )


def batches() -> None:
    setting = DEMONSTRATION.replace(
        n=1000, d=1000, K=200, sigma=0.3, m=0.9, ridge=0, M=1, R=1, delta=1e-5, T=10_000
    )
    print(
        f"epsilon after {setting.T} steps by batch (n = {setting.n}), converted by cks; time of a curve of {STEPS.size} T"
    )
    rows = []
    for batch in (1000, 999, 500, 200, 100, 50, 20, 10):
        s, row = setting.replace(batch=batch), [str(batch)]
        for bound in ("composition", "theorem", "sharp"):
            ms = milliseconds(lambda s=s, b=bound: curve(s, "T", STEPS, [b], CKS), 5)
            row += [f"{epsilon(s, bound, CKS):.4g}", f"{ms:.0f}"]
        rows.append(row)
    table(("batch", "composition", "ms", "theorem", "ms", "sharp", "ms"), rows)
