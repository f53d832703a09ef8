"""Composition against dp-accounting's Renyi and privacy-loss accountants, for the Gaussian mechanism that it is."""

from math import sqrt

from dp_accounting import GaussianDpEvent, SelfComposedDpEvent
from dp_accounting.pld import PLDAccountant
from dp_accounting.rdp import RdpAccountant

from benchmarks.timing import milliseconds, table
from zoexplore import Accounting, Setting, epsilon

RUN = Setting(n=1000, d=1000, K=200, sigma=0.1, m=0.9, ridge=0, M=1, R=1, delta=1e-5, beta=0.5)


def run():
    multiplier = noise_multiplier(RUN)
    print(f"Composition against dp-accounting: noise multiplier {multiplier:.4g}, delta {RUN.delta:g}; time over ours")
    rows = [row(T, multiplier) for T in (1, 10, 100, 1000, 10_000, 100_000)]
    table(
        ("steps", "ours", "RDP", "PLD", "RDP/ours", "PLD/ours", "RDP/our cks", "ms", "RDP time/ours", "PLD time/ours"),
        rows,
    )


def noise_multiplier(s):
    """The noise a direction of the span sees over the shift that replacing a record makes, in one step."""
    return s.sigma * sqrt(s.beta + (1 - s.beta) * s.K / s.d) * s.n / (2 * s.clip)


def row(T, multiplier):
    setting = RUN.replace(T=T)
    event = SelfComposedDpEvent(GaussianDpEvent(multiplier), T)

    def peer(accountant):
        return accountant().compose(event).get_epsilon(setting.delta)

    ours, cks = epsilon(setting, "composition"), epsilon(setting, "composition", Accounting(conversion="cks"))
    theirs = [peer(accountant) for accountant in (RdpAccountant, PLDAccountant)]
    ms = milliseconds(lambda: epsilon(setting, "composition"))
    times = [milliseconds(lambda a=accountant: peer(a), 3, 0) for accountant in (RdpAccountant, PLDAccountant)]
    return (
        T,
        f"{ours:.5g}",
        *(f"{e:.5g}" for e in theirs),
        *(f"{e / ours:.4f}" for e in theirs),
        f"{theirs[0] / cks:.4f}",
        f"{ms:.3f}",
        *(f"{t / ms:.0f}" for t in times),
    )
