r"""Formulas with a run's numbers, as lines of TeX. The last line is the formula of rho. It is
r"\rho" if only the value of rho is given, and "" if epsilon does not follow from rho.
"""

import numpy as np

from zoexplore.bounds.guarantee import Guarantee
from zoexplore.bounds.run_arrays import RunArrays
from zoexplore.run.formatting import bound_in_tex, format_tex

QUAD = r",\quad "


def only_value(g: Guarantee) -> tuple[str, ...]:
    """Give no formula, so that only the value of rho is shown."""
    return (r"\rho",)


def _runs(g: Guarantee) -> RunArrays:
    return RunArrays.of(g.setting).counted_by(g.accounting)


def _record(g: Guarantee) -> str:
    """Write the squared effect of a record on the mean quotients: (2 Delta/n)^2 by the clip, with
    Delta/sqrt(K) in place of Delta if the clip is joint.
    """
    s, runs = g.setting, _runs(g)
    if runs.B < runs.B_clip or runs.person_share != 1:
        return rf"({bound_in_tex(float(runs.record_sensitivity * runs.sigma))})^2"
    over = (
        rf"({format_tex(s.n)}\sqrt{{{format_tex(s.K)}}})"
        if s.clipping == "joint"
        else format_tex(s.n)
    )
    return rf"(2\cdot {format_tex(s.clip)}/{over})^2"


def _counted(g: Guarantee) -> str:
    """Write the number of counted steps, and the distance from which they start."""
    return rf"N = {format_tex(g.N)}\ \text{{step{'s' if g.N > 1 else ''} from}}\ z = {bound_in_tex(g.start)}"


def of_composition(g: Guarantee) -> tuple[str, ...]:
    """Write rho, or the tail of the cost over which the loss is averaged."""
    s, runs = g.setting, _runs(g)
    if g.delta_f > 0 and (runs.batch == runs.n or s.sampling not in ("cyclic", "shuffled")):
        tail = r"\delta(\varepsilon) = \int\delta_G(\varepsilon; s)\,d(-\tau(s)),\quad"
        tail += r" \tau(s) = \min_z e^{-z s S/B_L^2}\,{}_1F_1\left(\tfrac K2; \tfrac d2; z\right)^T"
        unit, S = float(runs.unit), format_tex(float(runs.s1 + runs.s2) * float(runs.unit) ** 2)
        return (
            tail,
            rf"B_L = {bound_in_tex(float(runs.B_lipschitz * runs.n / runs.batch) * unit)},\quad S = {S}",
            "",
        )
    if np.isfinite(runs.slope):
        return only_value(g)
    span = rf"{format_tex(s.beta)} + {format_tex(1 - s.beta)}\cdot\tfrac{{{format_tex(s.K)}}}{{{format_tex(s.d)}}}"
    return (
        rf"\rho = {format_tex(s.T)}\cdot\frac{{{_record(g)}}}{{2\cdot({format_tex(s.sigma)})^2\,({span})}}",
    )


def of_output_perturbation(g: Guarantee) -> tuple[str, ...]:
    """Write the lengths and the variance on which rho depends."""
    s, runs = g.setting, _runs(g)
    over = "K" if s.clipping == "joint" else r"\sqrt K"
    of_clip = (
        rf" = \frac{{2\eta\Delta}}{{{over}}}" if runs.step_sensitivity == runs.clipped_step else ""
    )
    lengths = (
        rf"2R = {bound_in_tex(2 * s.R)}",
        rf"U{of_clip} = {bound_in_tex(float(runs.step_sensitivity * runs.unit))}",
    )
    across = (s.eta * s.sigma) ** 2 * (1 - float(runs.last_beta)) / s.d
    return QUAD.join(
        (*lengths, rf"s_2 = \frac{{\eta^2(1-\beta)\sigma^2}}{{d}} = {format_tex(across)}")
    ), r"\rho"


def of_corollary(g: Guarantee) -> tuple[str, ...]:
    """Write rho."""
    s, N = g.setting, format_tex(g.N)
    if g.accounting.printed:
        return only_value(g)
    data = rf"\frac{{{N}\cdot {_record(g)}}}{{{format_tex(s.beta)}\cdot({format_tex(s.sigma)})^2}}"
    top = rf"2\,({format_tex(2 * s.R)})^2\cdot {format_tex(s.d)}"
    bottom = (
        rf"{format_tex(1 - s.beta)}\cdot {N}\,({format_tex(s.eta)}\cdot {format_tex(s.sigma)})^2"
    )
    return (rf"\rho = {data}\quad + \frac{{{top}}}{{{bottom}}}",)


def of_theorem(g: Guarantee) -> tuple[str, ...]:
    """Write the two parts of the budget: for the data, and for the distance. The second is the cost
    of all shifts a_t.
    """
    s, path, distance = g.setting, g.trajectory, 0.0
    if path is not None:
        a, isotropic = (x[path.a > 0] for x in (path.a, 1 - path.beta))
        distance = float((a**2 * s.d / (2 * (s.eta * s.sigma) ** 2 * isotropic)).sum())
    data = g.rho - distance
    return (
        rf"c = {bound_in_tex(float(_runs(g).c))},\quad {_counted(g)}",
        rf"\delta_f = {bound_in_tex(g.delta_f)}",
        rf"\rho = \underbrace{{{bound_in_tex(data)}}}_{{\text{{data}}}}"
        rf" + \underbrace{{{bound_in_tex(g.rho - data)}}}_{{\text{{distance}}}}",
    )


def of_sharp(g: Guarantee) -> tuple[str, ...]:
    """Write the lengths and variances that the recursion works with."""
    runs = _runs(g)
    unit = float(runs.unit)
    variances = (
        rf"{name} = {format_tex(float(of) * unit**2)}"
        for name, of in (("S", runs.s1 + runs.s2), ("s_2", runs.s2))
    )
    B = bound_in_tex(float(runs.B * runs.n / runs.batch) * unit)
    return (
        QUAD.join((rf"c = {bound_in_tex(float(runs.c))}", rf"B = {B}", *variances)),
        _counted(g),
        # the loss is averaged over the cost, unless the cost is certain
        "" if g.delta_f > 0 else r"\rho",
    )


def of_noisy_gd(g: Guarantee) -> tuple[str, ...]:
    """Write the step size."""
    return rf"\eta_1 = \frac{{\eta}}{{d}} = {format_tex(g.setting.eta / g.setting.d)}", r"\rho"
