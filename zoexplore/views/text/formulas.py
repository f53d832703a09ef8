"""The bounds' formulas with the current numbers in them, in TeX."""

from zoexplore.bounds import BOUNDS, Guarantee
from zoexplore.formatting import format_tex, round_up


def substituted(g: Guarantee) -> str:
    """The bound's formula at the setting: TeX without its delimiters, empty where the bound does not apply or has no budget rho
    (mini-batches).
    """
    substitute = BOUNDS[g.bound].substitute
    if substitute is None or not g.valid or not g.rho >= 0:
        return ""
    *given, formula = substitute(g)
    result = rf"{formula} = {format_tex(g.rho)}\ \Rightarrow\ \varepsilon = {format_tex(round_up(g.epsilon))}"
    lines = r"\\ ".join(f"&{line}" for line in (*given, result))
    return rf"\begin{{aligned}}{lines}\end{{aligned}}"
