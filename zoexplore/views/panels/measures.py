"""The smallest guarantee in other measures than epsilon: Gaussian and zero-concentrated privacy, and the noise multiplier."""

from zoexplore.bounds import BOUNDS, Guarantee
from zoexplore.formatting import format_number
from zoexplore.views.compute.ask import ask
from zoexplore.views.compute.curve_set import guarantees
from zoexplore.views.panels.readouts import smallest
from zoexplore.views.panels.written import Written

_NONE = "On batches there is no Gaussian budget, and so neither μ nor ρ."


def rows(g: Guarantee) -> list[tuple[str, str, str]]:
    """Symbol, meaning and number of every measure that a guarantee has."""
    found = [("z", "noise multiplier of a step", f"{g.setting.noise_multiplier:.4g}")]
    if g.gaussian_dp and g.zero_concentrated:
        found = [
            ("μ", "Gaussian privacy, μ-GDP", format_number(g.gaussian_dp.mu)),
            ("ρ", "zero-concentrated, ρ-zCDP", format_number(g.zero_concentrated.rho)),
            *([("δ_f", "except with a chance of", format_number(g.delta_f))] if g.delta_f else []),
            *found,
        ]
    return found


class Measures(Written):
    """A short table under the bounds' numbers."""

    css_class, sheet = "zx-measures", "measures"

    async def refresh(self) -> None:
        g = smallest(await ask(guarantees, self.state.setting, self.state.accounting))
        lines = "".join(
            f'<tr><th scope="row"><i>{_symbol(symbol)}</i> <span>{words}</span></th><td>{number}</td></tr>'
            for symbol, words, number in rows(g)
        )
        why = f"<p>{_NONE}</p>" if g.valid and not g.gaussian_dp else ""
        self.pane.object = f"<table><caption>In other measures, by {BOUNDS[g.bound].in_text}</caption>{lines}</table>{why}"


def _symbol(symbol: str) -> str:
    letter, _, below = symbol.partition("_")
    return f"{letter}<sub>{below}</sub>" if below else letter
