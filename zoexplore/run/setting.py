"""`Setting`, one run of Noisy-ZOGD, and `Accounting`, how its privacy loss is counted.

Both are frozen and hashable. An invalid value raises a `ValueError` that names the field, the value
and the allowed values. A page can show the message as it is.
"""

from dataclasses import MISSING, dataclass, field, fields, replace
from fractions import Fraction
from math import ceil, inf, nextafter
from typing import Any

from zoexplore.run.fields import FIELDS, OPTIONS
from zoexplore.run.limits import LIMITS
from zoexplore.run.refusals import Refused, check_names, check_options, decimal, number, whole

REGIMES, CLIPPINGS, NEIGHBOURS, SAMPLINGS, CONVERSIONS, SENSITIVITIES, SCHEDULES = map(
    tuple, OPTIONS.values()
)

# numbers that `Setting.of` takes, and the fields that they replace
IN_PLACE = {"noise_multiplier": "sigma", "epochs": "T", "sample_rate": "batch"}


@dataclass(frozen=True, kw_only=True)
class Setting:
    """One run of Noisy-ZOGD: its parameters, what it releases, and which data sets are neighbours.

    A run's own numbers (n, d, K, T, sigma, beta) have no default. The others assume as little as
    possible of the loss. `zoexplore.run.presets.DEMONSTRATION` is a run to begin with.

    Args:
        n: the number of records.
        d: the number of trainable parameters.
        K: the number of orthonormal directions per step, 1 <= K <= d.
        T: the number of steps.
        sigma: noise scale. One step's noise energy is (eta sigma)^2, whatever beta and K.
        beta: the share of the noise power along the directions, in [0, 1].
        regime: each record's loss without the ridge is "strongly-convex", "convex" or "non-convex".
        R: radius of the ball that iterates are projected onto; `inf` for no ball.
        clip: the clip norm Delta, of each difference quotient or of a record's K quotients
            together.
        M: smoothness of the loss; `inf` if unknown, and then the bounds that need it do not apply.
        m: strong convexity of the loss, `ridge` included, in the regime "strongly-convex".
        ridge: strong convexity from a term outside the clip, the same for every data set.
        eta: step size; `None` means K/M, also after `replace`, and stays `None` while M is `inf`.
        xi: perturbation scale of the two-point estimator; 0 means the directional derivative.
        delta: target delta, from 1e-300 to below 1.
        clipping: "each" limits every difference quotient of a record to `clip`; "joint" scales a
            record's K quotients together to a length of at most `clip`.
        batch: the number of records per step, drawn as `sampling` says; `None` means all n.
        lipschitz: the greatest length of a gradient of a record's loss without the ridge. `inf`
            means that nothing is known, and the clip may act. If the length is at most `clip`, the
            clip never acts, except a joint clip at xi > 0. `None` means `clip`, whatever its value.
        linear: whether every record's loss without the ridge is a function of one linear form of
            the parameters, as in logistic or least-squares regression, but not in a softmax. The
            bound "sharp" uses this if the clip may act or xi is not 0.
        neighbours: "replace-one": a record is replaced by another; "add-remove": one is added or
            removed. The mean divides by n in either case.
        sampling: how batches are drawn. "without-replacement" or "poisson": drawn secretly at each
            step. "cyclic": n/batch fixed batches in a fixed order. "shuffled": the same batches in
            a secret random order, drawn once or for every epoch.
        releases: the number of released iterates, evenly spaced up to the last; all of them if it
            exceeds T.
        records_per_person: the most records of one person; guarantees then protect people.
        cooldown: the number of last steps that have the share `cooldown_beta` in place of `beta`,
            at the same noise power. If it is at least T, every step has that share.
        cooldown_beta: the share of those steps, in [0, 1]; `None` means 1/2.

    Raises:
        Refused: a value is impossible, not finite or of the wrong type; its `field` names it.
    """

    n: int
    d: int
    K: int
    T: int
    sigma: float
    beta: float
    regime: str = "non-convex"
    R: float = inf
    clip: float = 1.0
    M: float = inf
    m: float = 0.0
    ridge: float = 0.0
    eta: float = None  # type: ignore[assignment]  # None only while M is inf
    xi: float = 0.0
    delta: float = 1e-5
    clipping: str = "each"
    batch: int | None = None
    lipschitz: float | None = inf
    linear: bool = False
    neighbours: str = "replace-one"
    sampling: str = "without-replacement"
    releases: int = 1
    records_per_person: int = 1
    cooldown: int = 0
    cooldown_beta: float | None = None
    # whether eta is K/M
    eta_follows: bool = field(init=False, repr=False, compare=False, default=False)

    def __post_init__(self) -> None:
        def put(name: str, value: Any) -> None:
            object.__setattr__(self, name, value)

        check_options(self, "linear")
        for name in ("n", "d", "T", "releases", "records_per_person"):
            put(name, whole(name, getattr(self, name)))
        put("cooldown", whole("cooldown", self.cooldown, least=0))
        put("K", whole("K", self.K, self.d, f"d = {self.d}"))
        if self.batch is not None:
            put("batch", whole("batch", self.batch, self.n, f"n = {self.n}, or None for all"))
        for name, limits in LIMITS.items():
            value = getattr(self, name)
            if value is not None or not FIELDS[name].left_out:
                put(name, number(name, value, **limits))
        put("m", number("m", self.m, least=0.0, most=self.M, called=f"M = {self.M}"))
        put("ridge", number("ridge", self.ridge, least=0.0, most=self.m, called=f"m = {self.m}"))
        put("eta_follows", self.eta is None)
        if self.eta is not None or self.M < inf:
            put("eta", number("eta", self.K / self.M if self.eta is None else self.eta, above=0.0))

    @classmethod
    def of(cls, **given: Any) -> "Setting":
        """Make a run from numbers that other libraries use. In place of sigma, T and batch it takes

            noise_multiplier: the noise divided by the most that one record adds, whatever
                `neighbours` is (see the property).
            epochs: passes over the data, of n/batch steps each; n/batch is rounded up for batches
                in a fixed or shuffled order.
            sample_rate: the fraction of the records that a batch has, in (0, 1].

        These numbers are converted once. T and the batch are rounded up, and sigma down, so that
        epsilon is never too small. A batch that is rounded up keeps the noise on its sum.

        Raises:
            Refused: as the constructor does, or a number is given in both ways.

        >>> Setting.of(n=60_000, d=100, K=1, beta=1.0, noise_multiplier=1.1, epochs=15, sample_rate=0.01).T
        1500
        """
        check_names("Setting", given, FIELD_NAMES)
        own = {name: value for name, value in given.items() if name not in IN_PLACE}
        unset = {IN_PLACE[name]: 1 for name in given if name in IN_PLACE}
        return cls(**unset | own).replace(**given)

    def replace(self, **changes: Any) -> "Setting":
        """Return the run with some fields changed. Numbers that `of` takes may stand in place of
        fields. A step size of K/M follows K and M.

        Raises:
            Refused: a field is unknown, or its value is not allowed.

        >>> run = Setting(n=20_000, d=520, K=52, T=200, sigma=1e-3, beta=0.5, M=0.75)
        >>> run.eta, run.replace(K=75).eta
        (69.33333333333333, 100.0)
        """
        rates = {name: changes.pop(name) for name in IN_PLACE if name in changes}
        for name in rates:
            if IN_PLACE[name] in changes:
                raise Refused(f"{name} and {IN_PLACE[name]} say the same: give one of them", name)
        check_names("Setting", changes, FIELD_NAMES)
        run = replace(self, **{"eta": None, **changes} if self.eta_follows else changes)
        return run._at(rates) if rates else run

    def _at(self, rates: dict[str, Any]) -> "Setting":
        """Return the run with `rates`, the numbers that `of` takes, in place of fields."""
        run, drawn = self, Fraction(self.b)  # records per step
        if "sample_rate" in rates:
            drawn = decimal("sample_rate", rates["sample_rate"], most=1.0) * self.n
            run = run.replace(batch=ceil(drawn), sigma=self.sigma * float(drawn / ceil(drawn)))
        if "epochs" in rates:
            epoch = (
                ceil(self.n / drawn) if run.sampling in ("cyclic", "shuffled") else self.n / drawn
            )
            run = run.replace(T=ceil(decimal("epochs", rates["epochs"]) * epoch))
        if "noise_multiplier" in rates:
            wanted = float(decimal("noise_multiplier", rates["noise_multiplier"]))
            run = run.replace(sigma=wanted / run.replace(sigma=1.0).noise_multiplier)
            while run.noise_multiplier > wanted:
                run = run.replace(sigma=nextafter(run.sigma, 0.0))
        return run

    def as_dict(self) -> dict[str, Any]:
        """Return the arguments that make this setting again (eta is None if it follows K/M)."""
        return {name: getattr(self, name) for name in SETTING_FIELDS} | (
            {"eta": None} if self.eta_follows else {}
        )

    @property
    def noise_multiplier(self) -> float:
        """z, as in DP-SGD: a step's noise along its directions divided by the most that one record
        adds there. It is b sigma sqrt(beta + (1 - beta) K/d)/clip, with b = n for a full batch, and
        sqrt(K) times that under a joint clip. For neighbours = "add-remove" a record moves a step
        by 1/z of its noise, for "replace-one" by 2/z.

        >>> Setting(n=1000, d=100, K=1, T=1, sigma=0.01, beta=1.0, batch=64, clip=0.5).noise_multiplier
        1.28
        """
        along = (self.beta + (1 - self.beta) * self.K / self.d) ** 0.5
        return float(self.b * self.sigma * along / self.clip_each)

    @property
    def clip_each(self) -> float:
        """The clip on each quotient under which a record moves a step as far as in this run:
        clip/sqrt(K) if the run's clip is joint.
        """
        return self.clip / self.K**0.5 if self.clipping == "joint" else self.clip

    def beta_at(self, t: int) -> float:
        """Return the share of step t's noise along the directions, t = 0 .. T - 1."""
        if t < self.T - self.cooldown:
            return self.beta
        return 0.5 if self.cooldown_beta is None else self.cooldown_beta

    @property
    def b(self) -> int:
        """The number of records per step, which is n for a full batch."""
        return self.batch or self.n

    @property
    def full_batch(self) -> bool:
        return self.b == self.n

    @property
    def longest_gradient(self) -> float:
        """The greatest length of a record's gradient: `lipschitz`, or `clip` if that is None."""
        return self.clip if self.lipschitz is None else self.lipschitz


@dataclass(frozen=True, kw_only=True)
class VariedSetting(Setting):
    """A run with step sizes from eta down to `slowest` times eta. Every step has the noise and the
    sensitivity of a step of size eta; only the contraction differs. Every bound for the last
    iterate takes the worst of the step sizes.
    """

    slowest: float = 1.0


SETTING_FIELDS = tuple(f.name for f in fields(Setting) if f.init)
FIELD_NAMES = (*SETTING_FIELDS, *IN_PLACE)
# the fields without a default
OWN = tuple(f.name for f in fields(Setting) if f.init and f.default is MISSING)
INTEGER_FIELDS = tuple(name for name in SETTING_FIELDS if name in FIELDS and FIELDS[name].whole)
NUMERIC_FIELDS = tuple(name for name in SETTING_FIELDS if name in FIELDS)


@dataclass(frozen=True)
class Accounting:
    """How a run's privacy loss is counted.

    Args:
        conversion: how a budget becomes epsilon: "gaussian" (exact on full batches), "cks" or
            "mironov" (docs/bounds.md, "From a budget to epsilon"; docs/batches.md).
        sensitivity: how far a record moves a step. "least": the least that is proved under the
            setting's assumptions (docs/bounds.md, "Sensitivity"). "clip": as far as the clip
            allows, even if it is supposed idle, as in the paper.
        schedule: "constant": beta as set; "optimal": the accountant chooses the share of each step.
        printed: whether to use the paper's printed constants, which give no guarantee
            (docs/bounds.md, section 9).

    Raises:
        Refused: an option is unknown; `field` names it.
    """

    conversion: str = "gaussian"
    sensitivity: str = "least"
    schedule: str = "constant"
    printed: bool = False

    def __post_init__(self) -> None:
        check_options(self, "printed")

    def replace(self, **changes: Any) -> "Accounting":
        """Return an accounting with other options. Raises `Refused` as the constructor does."""
        check_names("Accounting", changes, [f.name for f in fields(self)])
        return replace(self, **changes)


def supposition(setting: Setting, accounting: Accounting) -> str:
    """Say what a run assumes of one record's gradient. Epsilons are comparable only under the same
    assumption.

    >>> run = Setting(n=1000, d=100, K=10, T=5, sigma=0.1, beta=0.5)
    >>> supposition(run, Accounting()), supposition(run.replace(lipschitz=1.0), Accounting())
    ('nothing is known of gradients: the clip may act', "every record's gradient is at most L = 1 long")
    """
    slope = setting.longest_gradient
    if accounting.sensitivity == "clip" and slope <= setting.clip:
        return "the paper's convention: the clip is assumed idle, but bounds a record's effect"
    if slope == inf:
        return "nothing is known of gradients: the clip may act"
    counted = ", and a record is counted by the clip" if accounting.sensitivity == "clip" else ""
    return f"every record's gradient is at most L = {slope:g} long{counted}"
