"""What a page says and draws of each bound besides its title and summary, by the bound's id."""

from collections.abc import Callable
from dataclasses import dataclass

from zoexplore.bounds.guarantee import Guarantee
from zoexplore.bounds.words import explanations, formulas
from zoexplore.bounds.words.style import Style

__all__ = ["WORDS", "Style", "Words", "words_of"]


@dataclass(frozen=True)
class Words:
    """Describes a bound in words and colours.

    Args:
        latex: the bound's formula.
        style: how the bound's curve is drawn; one of a few spare styles if None.
        explain: says in a sentence or two why the bound gives what it gives.
        substitute: writes the bound's formula with a run's numbers, as in `formulas`.
    """

    latex: str = ""
    style: Style | None = None
    explain: Callable[[Guarantee], str] = lambda g: ""
    substitute: Callable[[Guarantee], tuple[str, ...]] = formulas.only_value


WORDS = {
    "composition": Words(
        r"\rho = T\,\frac{(2\Delta/n)^2}{2\sigma^2\left(\beta + (1-\beta)K/d\right)}",
        Style(("#c4500a", "#f2955a"), (), 2.2),
        explanations.of_composition,
        formulas.of_composition,
    ),
    "output-perturbation": Words(
        r"\rho = \max_{0\le x\le 1}\ \frac{(2Rrx + U)^2}{2S} + \frac{4R^2(1-x^2)}{2s_2},\quad U=\frac{2\eta\Delta}{\sqrt K},"
        r"\quad r=\max\left(1,\left|1-\frac{\eta\,\mathrm{ridge}}{K}\right|\right)",
        Style(("#7a7266", "#a59d90"), (2, 4), 2.4),
        explanations.of_output_perturbation,
        formulas.of_output_perturbation,
    ),
    "corollary": Words(
        r"\rho = \min_{1\le N\le T}\ \frac{N(2\Delta/n)^2}{\beta\sigma^2} + \frac{2(2R)^2 d}{(1-\beta)N\eta^2\sigma^2}",
        Style(("#9a5fb4", "#c59ae0"), (12, 4, 2, 4), 2.0),
        explanations.of_hidden_iterates,
        formulas.of_corollary,
    ),
    "theorem": Words(
        r"\rho = \min_{\tau,\,a_t,\,\vartheta}\ \sum_{t=\tau}^{T-1}\left[\frac{(2\Delta/n)^2}{2\beta_t\sigma^2}"
        r" + \frac{a_t^2\,d}{2\eta^2(1-\beta_t)\sigma^2}\right],\quad z_t = \frac{z_{t+1} + a_t - c_2}{\bar c_1},\ z_T = 0",
        Style(("#0f6db8", "#5fb0f5"), (9, 4), 2.8),
        explanations.of_hidden_iterates,
        formulas.of_theorem,
    ),
    "sharp": Words(
        r"\delta(\varepsilon) = \int_0^\infty\delta_G(\varepsilon; s)\,d(-\tau(s)),\quad"
        r" \tau(s) = \min_\lambda\left(\frac{\bar X_\lambda}{s - Y_\lambda}\right)^{\!\lambda},"
        r"\quad v \leftarrow J(A, C),\quad A = \tfrac{\alpha^2}{s_2} + v(1-\alpha)^2",
        Style(("#00594c", "#3fd6b2"), (), 4.0),
        explanations.of_hidden_iterates,
        formulas.of_sharp,
    ),
    "noisy-gd": Words(
        r"\rho = \frac{B^2}{2S}\,\frac{(1-c^T)(1+c)}{(1+c^T)(1-c)},\quad B=\frac{2\Delta\eta}{nd},\ S=\frac{\eta^2\sigma^2}{d}",
        Style(("#8a7400", "#d9c24a"), (4, 3), 1.6),
        substitute=formulas.of_noisy_gd,
    ),
}


def words_of(bound: str) -> Words:
    """Return the words of a bound, or empty words if the bound has none."""
    return WORDS.get(bound, Words())
