"""Prints the sentences of the page, state by state, for reading aloud: all by `python -m
tools.sentences`, those of some parts by `python -m tools.sentences plans refusals`.
"""

import re
import sys
from collections.abc import Callable, Collection, Iterator
from html import unescape
from math import inf
from typing import Any

import panel as pn

from zoexplore import Accounting, Setting
from zoexplore.questions import SOLVABLE_FIELDS
from zoexplore.run.presets import DEMONSTRATION as RUN
from zoexplore.run.presets import PRESETS
from zoexplore.views import Explorer
from zoexplore.views.figures.legend import Legend
from zoexplore.views.panels.story import STEPS
from zoexplore.views.tabs import VIEWS

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
    "the clip may act, a linear model": (
        RUN.replace(lipschitz=5.0, linear=True, xi=1e-4),
        Accounting(),
    ),
    "a linear model that is none": (
        RUN.replace(ridge=0.4, lipschitz=inf, linear=True),
        Accounting(),
    ),
    "nothing is known": (RUN.replace(M=inf, eta=None, **_NON_CONVEX), Accounting()),
    "a perturbation": (RUN.replace(xi=1.0), Accounting()),
    "batches": (RUN.replace(batch=100, T=50), Accounting()),
    "batches, Renyi": (RUN.replace(batch=100, T=50), Accounting(conversion="cks")),
    "cyclic": (RUN.replace(batch=100, T=50, sampling="cyclic"), Accounting()),
    "Poisson": (
        RUN.replace(batch=100, T=50, sampling="poisson", neighbours="add-remove"),
        Accounting(),
    ),
    "releases": (RUN.replace(releases=5), Accounting()),
    "people": (RUN.replace(records_per_person=3), Accounting()),
    "people, batches": (RUN.replace(records_per_person=3, batch=100, T=50), Accounting()),
    "as printed": (RUN, Accounting(printed=True)),
    "as printed, and smallest": (RUN.replace(R=1e-3, beta=0.0), Accounting(printed=True)),
    "free share": (RUN, Accounting(schedule="optimal")),
    "Lipschitz loss": (RUN, Accounting(sensitivity="least")),
    "one record": (RUN.replace(n=1), Accounting()),
}
TARGETS = {"sigma": 1.0, "T": 1.0, "n": 1e-9, "K": 0.1, "beta": 0.5, "clip": 1e-9, "R": 1e-9}
_UNSHOWN = re.compile(r"<(style|svg|script|math)\b.*?</\1>", re.DOTALL)
_BLOCKS = re.compile(r"</?(p|li|tr|h\d|table|div|ul|dt|dd|caption|summary|option|button)\b[^>]*>")


def plain(html: str) -> list[str]:
    """Return HTML as lines of text."""
    text = _BLOCKS.sub("\n", _UNSHOWN.sub(" ", html))
    lines = (" ".join(unescape(re.sub(r"<[^>]*>", " ", line)).split()) for line in text.split("\n"))
    return [re.sub(r" ([.,;:])", r"\1", line) for line in lines if line]


def said(explorer: Explorer) -> Iterator[str]:
    """Yield every line of text that the page's components hold, shown or folded, and the labels of
    its widgets.
    """
    for component in explorer.__panel__().select():
        if isinstance(component, pn.pane.HTML):
            yield from plain(str(component.object or ""))
        elif isinstance(component, pn.widgets.Widget):
            yield from filter(None, [str(getattr(component, "label", "") or "")])
            options: Any = getattr(component, "options", None)
            yield from map(str, options if isinstance(options, dict) else ())
        elif isinstance(component, Legend):
            yield from (
                words
                for entry in component.entries
                for words in (entry["title"], entry["why"])
                if words
            )
        elif isinstance(component, pn.Card):
            yield str(component.title)
    for view in explorer.tabs.views.values():
        for figure in (model for model in vars(view).values() if hasattr(model, "xaxis")):
            yield from filter(
                None,
                [
                    figure.title.text if figure.title else "",
                    *(axis.axis_label or "" for axis in figure.axis),
                ],
            )


def states(parts: Collection[str] = ()) -> Iterator[tuple[str, list[str]]]:
    """Yield (state, lines): the lines are those that no earlier state has. `parts` are keys of
    `PARTS`; by default, all.
    """
    known = set[str]()
    for name in parts or PARTS:
        for state, lines in PARTS[name]():
            new = [line for line in dict.fromkeys(lines) if line not in known]
            known.update(new)
            yield state, new


States = Iterator[tuple[str, Iterator[str]]]


def _runs() -> States:
    """Show every view once, then three views and the read-outs for many runs."""
    explorer = _opened()
    for name in VIEWS:
        explorer.tabs.selected = name
        yield f"tab: {name}", said(explorer)
    for name, (setting, accounting) in STATES.items():
        for tab in ("curves", "inside", "theory"):
            explorer.tabs.selected = tab
            explorer.state.replace(setting, accounting)
        yield name, said(explorer)


def _presets() -> States:
    """Choose each preset, which shows its texts and its run's statement."""
    explorer = _opened()
    explorer.tabs.selected = "attack"
    for key in PRESETS:
        explorer.tools.preset.value = key
        yield f"preset: {key}", said(explorer)


def _plans() -> States:
    """Show the answers of Plan, also to unreachable targets, and its refusals."""
    explorer = _opened()
    planner = explorer.tabs["plan"]
    explorer.tabs.selected = "plan"
    for field in SOLVABLE_FIELDS:
        for target in {1.0, TARGETS[field], 1e6}:
            planner.param.update(field=field, target=target)
            yield f"plan: {field} for epsilon = {target:g}", said(explorer)
    planner.param.update(field="sigma", target=1.0, whole="run")
    runs = {
        "non-convex": RUN.replace(**_NON_CONVEX),
        "short": RUN.replace(T=3),
        "unknown": RUN.replace(M=inf, eta=None, **_NON_CONVEX),
    }
    for name, run in {"the demonstration": RUN, **runs}.items():
        explorer.state.replace(run, Accounting())
        for target in (1e-3, 1.0, 30.0):
            planner.target = target
            yield f"plan: {name}, a run for epsilon = {target:g}", said(explorer)
    explorer.state.replace(RUN, Accounting())
    for name, text in (("target", "x"), ("target", "∞"), ("delta", "2"), ("delta", "x")):
        planner.take(name, text)
        yield f"plan: {name} of {text}", said(explorer)


def _refusals() -> States:
    """Show the refusals of every box."""
    explorer = _opened()
    controls = explorer.controls
    boxes = controls.fields | {name: dial.text for name, dial in controls.dials.items()}
    for field, box in boxes.items():
        for text in ("-1", "x", "", "1,5", "1.5", "∞", "1e300", "9" * 400):
            box.value = text
            yield f"typed: {field} = {text[:20]}", said(explorer)
        explorer.state.replace(RUN, Accounting())
    for changes in (
        {"K": 600},
        {"beta": 2.0},
        {"m": 9.0},
        {"ridge": 9.0},
        {"batch": 30_000},
        {"d": 100},
        {"releases": 500},
        {"neighbours": "add-remove", "batch": 10},
        {"sampling": "cyclic"},
    ):
        explorer.state.ask(**changes)
        yield f"asked: {changes}", said(explorer)
        explorer.state.replace(RUN, Accounting())
    for _ in range(7):
        explorer.pins.add(explorer.state)
    explorer.state.ask(beta=0.2, regime="convex")
    explorer.pins.remove(1)
    explorer.pins.add(explorer.state)
    yield "pins", said(explorer)


def _training() -> States:
    """Show the texts of Train before training, and those about runs that cannot be trained."""
    explorer = _opened()
    explorer.tabs.selected = "train"
    train = explorer.tabs["train"]
    for hidden in (True, False):
        train.hidden = hidden
        yield f"train: hidden = {hidden}", said(explorer)
    for changes in ({"delta": 1e-6}, {"schedule": "optimal"}, {"T": 1}):
        explorer.state.ask(**changes)
        yield f"train: {changes}", said(explorer)
    explorer.state.ask(n=10**8)
    yield "train: too much to draw", said(explorer)


def _story() -> States:
    """Show every step of the story, and the answer to a guess."""
    explorer = Explorer(search="")
    for number in STEPS:
        explorer.story.go(int(number))
        yield f"story: step {number}", said(explorer)
        explorer.story.take(0)
        yield f"story: step {number}, answered", said(explorer)


def _teaching() -> States:
    """Open links for teaching, and links with names that do not exist."""
    for query in (
        "show=curves,K&say=Move+K.&say=What+changes%3F",
        "show=moon&lock=sun",
        "say=" + "&say=".join("abcdefghijk"),
        "K=0&moon=1&T=x&against=nonsense&story=9&attack.fpr=7",
        "pin=K:9999~x&compare=moon",
        "pin=K:20~a&" * 7,
    ):
        explorer = Explorer(search=f"?{query}")
        yield f"address: {query[:60]}", said(explorer)


PARTS: dict[str, Callable[[], States]] = {
    part.__name__.strip("_"): part
    for part in (_runs, _presets, _plans, _refusals, _training, _story, _teaching)
}


def _opened() -> Explorer:
    explorer = Explorer()
    explorer.more.fold.collapsed = False
    return explorer


if __name__ == "__main__":
    pn.extension()
    for state, lines in states(sys.argv[1:]):
        if lines:
            print(f"\n== {state}", *lines, sep="\n")
