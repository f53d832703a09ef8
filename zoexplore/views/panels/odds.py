"""The odds: what the smallest guarantee of a run means to somebody whose record is in the data, in a sentence."""

from typing import Any

import param

from zoexplore.bounds import BOUNDS
from zoexplore.bounds.tradeoff import TradeOff
from zoexplore.formatting import format_percent, format_share
from zoexplore.views.compute.ask import ask
from zoexplore.views.compute.attacks import attack
from zoexplore.views.compute.curve_set import guarantees
from zoexplore.views.panels.readouts import told_of
from zoexplore.views.panels.written import Written

FPR = 0.01


def said(allowed: TradeOff, fpr: float = FPR) -> str:
    """What the best attacker finds at a rate of false alarms, read from the whole trade-off curve.

    >>> from zoexplore import guarantee
    >>> from zoexplore.presets import DEMONSTRATION
    >>> said(guarantee(DEMONSTRATION, "sharp").risk).replace("\\u202f", " ")
    'At 1 % false alarms the best attacker finds at most 1.9 % of members; blind guessing finds 1 %.'
    """
    found, share = float(allowed.true_positive_rate(fpr)), format_share(fpr)
    if found >= 1:
        return f"At {share} false alarms an attacker may find every member: this rules nothing out."
    most = format_percent(found)
    if most == format_percent(1):
        return f"At {share} false alarms an attacker may find nearly every member."
    return f"At {share} false alarms the best attacker finds at most {most} of members; blind guessing finds {share}."


class Odds(Written):
    """The sentence under the verdict. It is asked for beside everything else, since no figure waits for it."""

    css_class, sheet = "zx-odds", "said"

    by = param.String("", doc="the bound that the odds are by; empty for the smallest")

    def __init__(self, *args: Any, **params: Any) -> None:
        super().__init__(*args, **params)
        self.param.watch(self.changed, "by")

    async def refresh(self) -> None:
        run = self.state.setting, self.state.accounting
        best = told_of(await ask(guarantees, *run), self.by)
        printed = self.state.accounting.printed and bool(BOUNDS[best.bound].printed)
        told = said(await ask(attack, *run, best.bound)) if best.valid and not printed else ""
        self.pane.object = f"<p>{told}</p>"
