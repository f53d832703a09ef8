"""The bounds' formulas with the current numbers in them, in TeX."""

from collections.abc import Callable
from decimal import ROUND_CEILING, Context
from math import isfinite

from zoexplore.bounds import Guarantee
from zoexplore.bounds.runs import Runs


def tex(x: float, figures: int = 4) -> str:
    """A number in TeX: 0.5, 20\\,000, 2.75 \\cdot 10^{6}."""
    if not isfinite(x):
        return r"\infty" if x > 0 else r"-\infty"
    if x == int(x) and abs(x) < 1e6:
        return f"{int(x):,}".replace(",", r"\,")
    text = f"{x:.{figures}g}"
    mantissa, e, exponent = text.partition("e")
    return rf"{mantissa}\cdot 10^{{{int(exponent)}}}" if e else mantissa


def substituted(g: Guarantee) -> str:
    """The bound's formula at the setting: TeX without its delimiters, empty where the bound does not apply or has no budget rho
    (mini-batches).
    """
    teller = _WITH_NUMBERS.get(g.bound)
    if teller is None or not g.valid or not g.rho >= 0:
        return ""
    *given, formula = teller(g)
    result = rf"{formula} = {tex(g.rho)}\ \Rightarrow\ \varepsilon = {tex(_up(g.epsilon))}"
    lines = r"\\ ".join(f"&{line}" for line in (*given, result))
    return rf"\begin{{aligned}}{lines}\end{{aligned}}"


def _up(x: float) -> float:
    """Rounded up: a loss is not shown smaller than it is."""
    return float(Context(prec=4, rounding=ROUND_CEILING).create_decimal(repr(x)))


def _data(g: Guarantee) -> str:
    return rf"(2\cdot {tex(g.setting.clip)}/{tex(g.setting.n)})^2"


def _composition(g: Guarantee) -> tuple[str, ...]:
    s = g.setting
    if g.accounting.sensitivity == "lipschitz":
        return (r"\rho",)
    span = rf"{tex(s.beta)} + {tex(1 - s.beta)}\cdot {tex(s.K)}/{tex(s.d)}"
    return (rf"\rho = {tex(s.T)}\cdot\frac{{{_data(g)}}}{{2\cdot({tex(s.sigma)})^2\,({span})}}",)


def _output(g: Guarantee) -> tuple[str, ...]:
    s = g.setting
    update = 2 * s.eta * s.clip / s.K**0.5
    return (
        rf"2R = {tex(2 * s.R)},\quad U = \frac{{2\eta\Delta}}{{\sqrt K}} = {tex(update)},\quad"
        rf" s_2 = \frac{{\eta^2(1-\beta)\sigma^2}}{{d}} = {tex((s.eta * s.sigma) ** 2 * (1 - s.beta) / s.d)}",
        r"\rho",
    )


def _corollary(g: Guarantee) -> tuple[str, ...]:
    s, N = g.setting, tex(g.N)
    if g.accounting.printed:
        return (r"\rho",)
    data = rf"\frac{{{N}\cdot {_data(g)}}}{{{tex(s.beta)}\cdot({tex(s.sigma)})^2}}"
    top = rf"2\,({tex(2 * s.R)})^2\cdot {tex(s.d)}"
    bottom = rf"{tex(1 - s.beta)}\cdot {N}\,({tex(s.eta)}\cdot {tex(s.sigma)})^2"
    return (rf"\rho = {data} + \frac{{{top}}}{{{bottom}}}",)


def _theorem(g: Guarantee) -> tuple[str, ...]:
    runs = Runs.of(g.setting)
    data = g.rho - _distance(g)
    return (
        rf"c = {tex(float(runs.c))},\quad N = {tex(g.N)}\ \text{{steps from}}\ z = {tex(g.start)}",
        rf"\delta_f = {tex(g.delta_f)}",
        rf"\rho = \underbrace{{{tex(data)}}}_{{\text{{data}}}}"
        rf" + \underbrace{{{tex(g.rho - data)}}}_{{\text{{distance}}}}"
    )


def _distance(g: Guarantee) -> float:
    """What the shifts of the distance cost, all steps together."""
    s, path = g.setting, g.trajectory
    if path is None or not path.a.any():
        return 0.0
    return float((path.a**2 * s.d / (2 * (s.eta * s.sigma) ** 2 * (1 - path.beta))).sum())


def _sharp(g: Guarantee) -> tuple[str, ...]:
    runs = Runs.of(g.setting)
    unit = float(runs.unit)
    return (
        rf"c = {tex(float(runs.c))},\quad B = {tex(float(runs.B) * unit)},\quad"
        rf" S = {tex(float(runs.s1 + runs.s2) * unit**2)},\quad s_2 = {tex(float(runs.s2) * unit**2)}",
        rf"N = {tex(g.N)}\ \text{{steps from}}\ z = {tex(g.start)},\quad \delta_f = {tex(g.delta_f)}",
        r"\rho",
    )


def _noisy_gd(g: Guarantee) -> tuple[str, ...]:
    s = g.setting
    return rf"\eta_1 = \frac{{\eta}}{{d}} = {tex(s.eta / s.d)}", r"\rho"


_WITH_NUMBERS: dict[str, Callable[[Guarantee], tuple[str, ...]]] = {
    "composition": _composition,
    "output-perturbation": _output,
    "corollary": _corollary,
    "theorem": _theorem,
    "sharp": _sharp,
    "noisy-gd": _noisy_gd,
}
