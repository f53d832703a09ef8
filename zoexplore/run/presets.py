"""Presets: the paper's figures, published runs and related mechanisms.

For its figures the paper ("Details about numerical results") fixes R = M = Delta = 1, m = 0.9, eta
= K/M, Mironov's conversion, and n = 1000 and 2000 for the non-convex figure. We chose the rest
(other n, d, K, sigma, beta, delta) so that the bounds apply: the curves have the paper's shapes,
but not always its heights.
"""

from dataclasses import dataclass
from math import inf

from zoexplore.run.formatting import format_count
from zoexplore.run.published import RUNS
from zoexplore.run.setting import Accounting, Setting

_DEFAULT = Accounting()
# of the figures: the clip is supposed idle, and a record is counted by it
PAPER_CONVENTION = Accounting(sensitivity="clip")
AS_PRINTED = PAPER_CONVENTION.replace(conversion="mironov", printed=True)
# A run that learns: two classes, logistic loss on rows of length 1, whose gradients have length at
# most 1, with a ridge outside the clip, 520 parameters (docs/training.md).
DEMONSTRATION = Setting(
    n=20_000,
    d=520,
    K=260,
    T=200,
    sigma=5e-5,
    beta=0.5,
    regime="strongly-convex",
    R=0.31,
    clip=1.0,
    lipschitz=1.0,
    M=0.75,
    m=0.5,
    ridge=0.5,
)
_PAPER = Setting(
    n=1000,
    d=10_000,
    K=1000,
    T=1000,
    sigma=0.05,
    beta=0.5,
    regime="strongly-convex",
    R=1.0,
    clip=1.0,
    lipschitz=None,
    M=1.0,
    m=0.9,
)
_NONCONVEX = _PAPER.replace(regime="non-convex", m=0.0, K=4000, T=10_000)
_CHOSEN = "n, d, σ, β and δ are chosen here, since the paper's text does not give them."

_HEAD = Setting(
    n=67_349,
    d=1024,
    K=128,
    T=400,
    sigma=5e-5,
    beta=0.5,
    regime="convex",
    clip=0.1,
    lipschitz=1.0,
    linear=True,
    M=0.35,
    m=0.1,
    ridge=0.1,
)


@dataclass(frozen=True)
class Preset:
    """A setting with a name and a sentence.

    Args:
        name: its name in menus.
        summary: a sentence that also names what we chose where the source is silent.
        setting: the run.
        accounting: how it is counted.
        pins: further runs of the same figure, each named by its difference.
        compare: the bound by which the figure compares them; empty if it compares none.
    """

    name: str
    summary: str
    setting: Setting
    accounting: Accounting = _DEFAULT
    pins: tuple[tuple[str, Setting], ...] = ()
    compare: str = ""


PRESETS = {
    "training": Preset(
        "Training default",
        "Two classes, logistic loss and 520 parameters: a run that learns in the trainer. Rows have length 1, so that no "
        "record's gradient is longer, and every bound counts that.",
        DEMONSTRATION,
    ),
    "nothing-known": Preset(
        "Nothing known of gradients",
        "The training default as if nothing were known of its gradients. The clip may act, every bound counts all that it "
        "allows, and about the same ε takes twenty times the noise.",
        DEMONSTRATION.replace(lipschitz=inf, sigma=1e-3),
    ),
    "figure-1a": Preset(
        "Figure 1a: several K",
        f"Strongly convex losses, several numbers of directions, with the printed constants. These K, {_CHOSEN}",
        _PAPER,
        AS_PRINTED,
        tuple((f"K = {format_count(K)}", _PAPER.replace(K=K)) for K in (500, 1000, 2000, 4000)),
        "corollary",
    ),
    "figure-1b": Preset(
        "Figure 1b: several Δ",
        f"Strongly convex losses, several clip norms, with the printed constants. These Δ, {_CHOSEN}",
        _PAPER,
        AS_PRINTED,
        tuple((f"Δ = {clip:g}", _PAPER.replace(clip=clip)) for clip in (1.0, 2.0, 4.0)),
        "corollary",
    ),
    "non-convex": Preset(
        "Non-convex figure: several n",
        f"Smooth losses that need not be convex, two sizes of dataset, with the printed constants. K, {_CHOSEN[3:]}",
        _NONCONVEX,
        AS_PRINTED,
        tuple((f"n = {format_count(n)}", _NONCONVEX.replace(n=n)) for n in (1000, 2000)),
        "theorem",
    ),
    "dpzero": Preset(
        "DPZero: K = 1, β = 1",
        "One direction a step and all noise along it: every step releases a single number.",
        DEMONSTRATION.replace(K=1, beta=1.0, sigma=0.005),
    ),
    "isotropic": Preset(
        "Isotropic noise: β = 0",
        "The training default with its noise spread over all dimensions, as noisy gradient descent does.",
        DEMONSTRATION.replace(beta=0.0),
    ),
    "noisy-gd": Preset(
        "Noisy gradient descent: K = d, β = 0",
        "Every direction at once and isotropic noise: the first-order method that zeroth order replaces.",
        DEMONSTRATION.replace(K=520, beta=0.0),
    ),
    "linear-head": Preset(
        "Linear head: a clip that acts, and a ridge",
        "Logistic loss of a linear head on frozen features of length 1; n and d are of the size of SST-2 and RoBERTa-large's "
        "features, all else is chosen here. Δ is about 3/√d, far below the slope L = 1, so that the clip may act. The ridge "
        "outside it makes steps contract all the same, and hiding the iterates pays.",
        _HEAD,
    ),
    "head-on-batches": Preset(
        "Linear head on batches",
        "The linear head as such heads are trained: thousands of steps on batches of 2 000 that nobody sees, and no ball. "
        "Composition pays for every step; hidden iterates cost the same however long it trains.",
        _HEAD.replace(batch=2000, sigma=2e-4, T=4000),
    ),
} | {
    key: Preset(
        f"{run.name.replace(', ', ' · ')} · K = {format_count(run.K)}", run.summary, run.setting
    )
    for key, run in RUNS.items()
}
