"""`NoisyZOGD`: differentially private training from loss values along random directions, for a model of one's own."""

from dataclasses import asdict, replace
from typing import Any, cast

import torch
from torch import Tensor, nn

from zoexplore.mechanism import batches, quotients
from zoexplore.mechanism.clipping import RULES
from zoexplore.mechanism.declared import Declared, why_not_idle
from zoexplore.mechanism.directions import stiefel
from zoexplore.mechanism.noise import combine, hybrid
from zoexplore.mechanism.objective import objective
from zoexplore.mechanism.projection import project
from zoexplore.mechanism.ran import Counts, Ran
from zoexplore.mechanism.report import Report, privacy_report
from zoexplore.mechanism.schedule import Schedule, shares
from zoexplore.mechanism.sources import Sources, untouched_on_error
from zoexplore.setting import Setting

ESTIMATORS = {True: "two-point", False: "directional"}  # by whether xi > 0
UNDECLARED = Declared()


class NoisyZOGD:
    """Noisy zeroth-order gradient descent (BOUNDS section 1). One step on records i of a batch of b, with directions U:

        w <- project( w - (eta/K) sum_k g_k u_k + noise ),   g_k = (1/b) sum_i clip(l_i's difference quotient along u_k)

    plus ridge <w, u_k> in every g_k, the exact derivative of 1/2 ridge |w|^2, outside the clip. A loop:

        for _ in range(setting.T):
            i = optimiser.sample()
            optimiser.step((X[i], y[i]))

    Args:
        parameters: a module, trained in place, or the start as a flat vector, shape (d,).
        loss: with a module, `loss(outputs, targets)`, and a batch is `(inputs, targets)`; with a vector, `loss(w, batch)`. It
            returns one loss a record, shape (b,), each of its own record alone. The ridge is not part of it.
        setting: the run; every field counts. xi > 0 is the two-point estimator, 0 the directional derivative.
        sources: the generators: `Sources(seed, noise_seed)` to try things out, `Sources.secure()` for a release.
        declared: what is known of the loss; without it, only composition holds.
        estimator: "two-point" or "directional", to state it; it must agree with xi.
        clipping: "each" difference quotient at `setting.clip`, or "joint": a record's K-vector shortened to that length.
        schedule: the shares beta_t of the T steps, or a bound's `trajectory`; `setting.beta` throughout where None.
        chunk_size: directions evaluated at once; all K where None.
        skip_idle_clip: where `declared` proves the clip idle and xi = 0, take one gradient in place of b K derivatives. Every
            bound, composition too, then rests on what is declared, and the report says so.
        device: where to compute; where the parameters are, if None.

    Attributes:
        w: the iterate, shape (d,). It overwrites what others write into the module's parameters.
        counts: steps made, and how often the clip was active and the projection hit (`report.Counts`).

    Raises:
        ValueError: an argument is not allowed, or two of them contradict each other.
    """

    def __init__(
        self,
        parameters: nn.Module | Tensor,
        loss: Any,
        setting: Setting,
        *,
        sources: Sources,
        declared: Declared = UNDECLARED,
        estimator: str | None = None,
        clipping: str = "each",
        schedule: Schedule = None,
        chunk_size: int | None = None,
        skip_idle_clip: bool = True,
        device: torch.device | str | None = None,
    ) -> None:
        if clipping not in RULES:
            raise ValueError(f"clipping = {clipping!r} is not allowed: give one of {', '.join(map(repr, RULES))}")
        if estimator not in (None, ESTIMATORS[setting.xi > 0]):
            raise ValueError(f"estimator = {estimator!r} is not allowed: xi = {setting.xi:g} is {ESTIMATORS[setting.xi > 0]!r}")
        declared.describe(setting)  # refuses what cannot be
        self.objective = objective(parameters, loss, device)
        self.w = self.objective.start
        _check_start(self.w, setting)
        self.setting, self.sources, self.declared, self.clipping = setting, sources, declared, clipping
        self.shares, self.chunk_size = shares(schedule, setting), chunk_size
        self.skips_clip = skip_idle_clip and setting.xi == 0 and not why_not_idle(declared, setting, clipping)
        self.counts = Counts()
        self._sample: Tensor | None = None  # drawn for the next step, not used yet

    @property
    def batch_size(self) -> int:
        return self.setting.n if self.setting.batch is None else self.setting.batch

    def sample(self) -> Tensor:
        """The next step's records, indices of shape (b,): all n, or a fresh uniform subset. The same until the step is made."""
        if self._sample is None:
            full, n = self.setting.full_batch, self.setting.n
            self._sample = torch.arange(n) if full else batches.draw(n, self.batch_size, self.sources.data)
        return self._sample

    @torch.no_grad()
    def step(self, batch: Any) -> None:
        """One update, from the records of `sample()` (all of them in the order you like, where every step uses all).

        Raises:
            ValueError: the batch does not have the setting's number of records, the losses are not one a record, or the clip
                is skipped for a declared Lipschitz constant that the gradient disproves.
            FloatingPointError: a loss or its difference quotient is not finite. Parameters, counts and generators are untouched.
            RuntimeError: all T steps are done, no fresh batch was drawn, or lipschitz was disproved before.
        """
        self._check_turn()
        setting, t = self.setting, self.counts.steps
        batch = batches.checked(batch, self.batch_size, self.w.device)
        if t == 0:
            self._check_records(batch)
        with untouched_on_error(self.sources.directions):
            U = stiefel(setting.d, setting.K, self.sources.directions, dtype=self.w.dtype, device=self.w.device)
            estimate, clipped = self._estimate(U, batch)
        beta = setting.beta if self.shares is None else float(self.shares[t])
        noise = hybrid(U, setting.sigma, beta, setting.eta, self.sources.noise)
        moved = self.w - (setting.eta / setting.K) * combine(U, estimate) + noise
        w, hit = project(moved, setting.R)
        self.w, self._sample, self.counts = w, None, self.counts.after(clipped, bool(hit))  # counted before it can be seen
        self.objective.write(w)

    def privacy_report(self, **options: Any) -> Report:
        """What the steps made so far cost by every bound; options as of `report.privacy_report`."""
        return privacy_report(self.ran(), **options)

    def ran(self) -> Ran:
        """The run so far, as the report sees it."""
        steps = self.counts.steps
        beta = None if self.shares is None else self.shares[:steps]
        return Ran(self.setting, self.counts, beta, self.clipping, self.declared, self.skips_clip, self.sources.says)

    def state_dict(self) -> dict[str, Any]:
        """Everything that an exact resume needs, to be given to `torch.save`. As secret as the iterates are."""
        return {
            "run": self._run(),
            "w": self.w.clone(),
            "counts": asdict(self.counts),
            "sample": self._sample,
            "sources": self.sources.state_dict(),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on where `state_dict` was taken: the same numbers follow, unless the sources are secure.

        Raises:
            ValueError: the saved run was another one, or drew from sources of another kind. Nothing is changed then.
        """
        own = self._run()
        for name, saved in state["run"].items():
            if own[name] != saved:
                raise ValueError(f"the saved run had {name} = {saved!r}, this one has {own[name]!r}: make it the same way")
        self.sources.load_state_dict(state["sources"])
        w = state["w"].to(device=self.w.device, copy=True)
        self.objective.write(w)
        self.w, self.counts, self._sample = w, Counts(**state["counts"]), state["sample"]

    def _run(self) -> dict[str, Any]:
        """What makes two runs the same one."""
        beta = None if self.shares is None else self.shares.tolist()
        kind = {"clipping": self.clipping, "shares": beta, "skips_clip": self.skips_clip, "dtype": str(self.w.dtype)}
        return self.setting.as_dict() | kind | {f"declared {k}": v for k, v in asdict(self.declared).items()}

    def _estimate(self, U: Tensor, batch: Any) -> tuple[Tensor, Tensor | None]:
        """The mean of the clipped quotients along each direction, ridge included, shape (K,); and which were clipped."""

        def losses(w: Tensor) -> Tensor:
            return self.objective.losses(w, batch)

        if self.skips_clip:
            mean, active = quotients.mean_directional(losses, self.w, U), None
            finite = mean.isfinite()
        else:
            found = self._quotients(losses, U)
            finite = found.isfinite()
            values, active = RULES[self.clipping](found, self.setting.clip)
            mean = values.mean(0, dtype=torch.float64).to(values.dtype)  # a sum of n roundings would reach 2 Delta/n
        if not finite.all():
            raise FloatingPointError(
                f"step {self.counts.steps}: a loss or its derivative is not finite; parameters and counts stay as before. "
                "Check the data, or take a smaller eta, sigma or R"
            )
        if active is None:
            self._check_declared(mean)
        return mean + self.setting.ridge * (self.w @ U), active

    def _check_declared(self, mean: Tensor) -> None:
        """Derivatives along orthonormal directions are together no longer than the gradient, nor a mean than the longest."""
        L, length = cast(float, self.declared.lipschitz), float(mean.norm())
        if length > L * (1 + torch.finfo(mean.dtype).eps ** 0.5):
            self.declared = replace(self.declared, lipschitz=None)  # disproved, for the steps before as well
            raise ValueError(
                f"lipschitz = {L:g} is not true: at step {self.counts.steps} the records' mean gradient is {length:.4g} long or "
                "longer; declare what can be proved, or keep the clip by skip_idle_clip=False"
            )

    def _quotients(self, losses: quotients.Losses, U: Tensor) -> Tensor:
        if self.setting.xi > 0:
            return quotients.two_point(losses, self.w, U, self.setting.xi, self.chunk_size)
        return quotients.directional(losses, self.w, U, self.chunk_size)

    def _check_turn(self) -> None:
        setting, t = self.setting, self.counts.steps
        if t >= setting.T:
            raise RuntimeError(f"all T = {setting.T} steps are done; a longer run is a setting with a larger T")
        if self.skips_clip and self.declared.lipschitz is None:
            raise RuntimeError(f"step {t} has no clip, and lipschitz was disproved: begin again with skip_idle_clip=False")
        if self._sample is None and not setting.full_batch:
            raise RuntimeError(f"step {t} has no batch of its own: take the {self.batch_size} records of optimiser.sample()")

    def _check_records(self, batch: Any) -> None:
        """One loss a record, of that record alone: else clipping bounds no record's influence.

        Looked at off the start, where symmetry (all parameters 0, say) may hide what depends on what.
        """
        aside = self.w + torch.nn.functional.normalize(torch.linspace(-1, 2, len(self.w)).to(self.w), dim=0)
        together, alone = (self.objective.losses(aside, x) for x in (batch, batches.first_record(batch)))
        if together.shape != (self.batch_size,):
            raise ValueError(
                f"losses of shape {tuple(together.shape)} are not allowed: give one loss a record, shape ({self.batch_size},), "
                "as torch's losses do with reduction='none'"
            )
        tolerance = torch.finfo(self.w.dtype).eps ** 0.5 * (1 + together[0].abs())
        if (together[0] - alone[0]).abs() > tolerance:
            raise ValueError(
                f"the first record's loss is {float(alone[0]):.6g} alone and {float(together[0]):.6g} in its batch: a loss must "
                "depend on its own record alone, and not on chance (dropout: call eval())"
            )


def _check_start(w: Tensor, setting: Setting) -> None:
    if w.numel() != setting.d:
        raise ValueError(f"d = {setting.d} is not allowed: there are {w.numel()} parameters to train")
    if w.dtype not in (torch.float32, torch.float64):
        raise ValueError(f"parameters of {w.dtype} are not allowed: give float64, or float32 with xi = 0")
    if w.dtype == torch.float32 and setting.xi > 0:
        raise ValueError(
            f"float32 with xi = {setting.xi:g} is not allowed: the difference of losses that have 7 digits is mostly "
            "rounding error; use module.double(), or xi = 0, the directional derivative"
        )
    if not w.isfinite().all():
        raise ValueError("the start has numbers that are not finite")
    if w.norm() > setting.R:
        raise ValueError(
            f"the start has length {float(w.norm()):.4g}, beyond R = {setting.R:.4g}: scale it down, or take a larger R"
        )
