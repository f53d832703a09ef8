"""What the page says, in every state that makes it say something else: `python -m tools.sentences`, to be read aloud."""

import re
from collections.abc import Iterator
from html import unescape
from math import inf
from typing import Any

import panel as pn

from zoexplore import Accounting, Setting
from zoexplore.planning import SOLVABLE_FIELDS
from zoexplore.presets import DEMONSTRATION as RUN
from zoexplore.presets import PRESETS
from zoexplore.views import Explorer
from zoexplore.views.figures.legend import Legend

_NON_CONVEX = {"regime": "non-convex", "m": 0.0, "ridge": 0.0}
STATES: dict[str, tuple[Setting, Accounting]] = {
    **{name: (preset.setting, preset.accounting) for name, preset in PRESETS.items()},
    **{f"T = {T}": (RUN.replace(T=T), Accounting()) for T in (1, 2, 5, 30, 37, 1000, 10**6)},
    **{f"K = {K}": (RUN.replace(K=K), Accounting()) for K in (1, 2, 52, 300, 520)},
    **{f"beta = {beta}": (RUN.replace(beta=beta), Accounting()) for beta in (0.0, 1.0, 0.01)},
    **{f"sigma = {sigma}": (RUN.replace(sigma=sigma), Accounting()) for sigma in (1e-6, 10.0)},
    "convex": (RUN.replace(regime="convex"), Accounting()),
    "non-convex": (RUN.replace(**_NON_CONVEX), Accounting()),
    "no ball": (RUN.replace(R=inf), Accounting()),
    "no ball, one step": (RUN.replace(R=inf, T=1), Accounting()),
    "a large step": (RUN.replace(eta=1e3), Accounting()),
    "the clip is not idle": (RUN.replace(ridge=0.0, R=10.0), Accounting()),
    "the clip may act": (RUN.replace(lipschitz=5.0), Accounting()),
    "nothing is known": (RUN.replace(M=inf, eta=None, **_NON_CONVEX), Accounting()),
    "a perturbation": (RUN.replace(xi=1.0), Accounting()),
    "batches": (RUN.replace(batch=100, T=50), Accounting()),
    "batches, Renyi": (RUN.replace(batch=100, T=50), Accounting(conversion="cks")),
    "cyclic": (RUN.replace(batch=100, T=50, sampling="cyclic"), Accounting()),
    "Poisson": (RUN.replace(batch=100, T=50, sampling="poisson", neighbours="add-remove"), Accounting()),
    "releases": (RUN.replace(releases=5), Accounting()),
    "people": (RUN.replace(records_per_person=3), Accounting()),
    "people, batches": (RUN.replace(records_per_person=3, batch=100, T=50), Accounting()),
    "as printed": (RUN, Accounting(printed=True)),
    "as printed, and smallest": (RUN.replace(R=1e-3, beta=0.0), Accounting(printed=True)),
    "free share": (RUN, Accounting(schedule="optimal")),
    "Lipschitz loss": (RUN, Accounting(sensitivity="lipschitz")),
    "one record": (RUN.replace(n=1), Accounting()),
}
TARGETS = {"sigma": 1.0, "T": 1.0, "n": 1e-9, "K": 0.1, "beta": 0.5, "clip": 1e-9, "R": 1e-9}
_UNSHOWN = re.compile(r"<(style|svg|script|math)\b.*?</\1>", re.DOTALL)
_BLOCKS = re.compile(r"</?(p|li|tr|h\d|table|div|ul|dt|dd|caption|summary|option|button)\b[^>]*>")


def plain(html: str) -> list[str]:
    """HTML as lines of text."""
    text = _BLOCKS.sub("\n", _UNSHOWN.sub(" ", html))
    lines = (" ".join(unescape(re.sub(r"<[^>]*>", " ", line)).split()) for line in text.split("\n"))
    return [re.sub(r" ([.,;:])", r"\1", line) for line in lines if line]


def said(explorer: Explorer) -> Iterator[str]:
    """Every line of text that the page's components hold, shown or folded, with the labels of its widgets."""
    for component in explorer.__panel__().select():
        if isinstance(component, pn.pane.HTML):
            yield from plain(str(component.object or ""))
        elif isinstance(component, pn.widgets.Widget):
            yield from filter(None, [str(getattr(component, "label", "") or "")])
            options: Any = getattr(component, "options", None)
            yield from map(str, options if isinstance(options, dict) else ())
        elif isinstance(component, Legend):
            yield from component.words
        elif isinstance(component, pn.Card):
            yield str(component.title)
    for view in explorer.tabs.views.values():
        for figure in (model for model in vars(view).values() if hasattr(model, "xaxis")):
            yield from filter(None, [figure.title.text if figure.title else "", *(axis.axis_label or "" for axis in figure.axis)])
    yield from filter(None, map(str, explorer.curves.annotations.data["label"]))


def states() -> Iterator[tuple[str, list[str]]]:
    """State -> what the page says in it, by one explorer that goes from state to state; after the first, what is new."""
    explorer, known = Explorer(), set[str]()
    explorer.readouts.fold.collapsed = False

    def new() -> list[str]:
        lines = [line for line in dict.fromkeys(said(explorer)) if line not in known]
        known.update(lines)
        return lines

    for name in ("curves", "profile", "attack", "inside", "theory", "plan"):
        explorer.tabs.selected = name
        yield f"tab: {name}", new()
    for name, (setting, accounting) in STATES.items():
        for tab in ("curves", "inside", "theory"):
            explorer.tabs.selected = tab
            explorer.state.replace(setting, accounting)
        yield name, new()
    explorer.state.replace(RUN, Accounting())
    planner = explorer.tabs["plan"]
    explorer.tabs.selected = "plan"
    for field in SOLVABLE_FIELDS:
        for target in {1.0, TARGETS[field], 1e6}:
            planner.param.update(field=field, target=target)
            planner.buttons["solve"].clicks += 1
            yield f"plan: {field} for epsilon = {target:g}", new()
    for target in (1e-3, 1.0, 30.0):
        planner.target = target
        planner.buttons["recommend"].clicks += 1
        yield f"plan: a run for epsilon = {target:g}", new()
    for field, text in {"sigma": "-1", "K": "600", "n": "1,5", "T": "x", "beta": "2", "m": "9", "ridge": "9", "R": "0"}.items():
        box = (explorer.controls.dials | explorer.controls.fields)[field].text
        box.value = text
        yield f"typed: {field} = {text}", new()
    explorer.state.ask(d=100)
    yield "d below K", new()


if __name__ == "__main__":
    pn.extension()
    for state, lines in states():
        if lines:
            print(f"\n== {state}", *lines, sep="\n")
