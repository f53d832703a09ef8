"""The guided opening: six steps with one control each, a guess before every answer, and an address for every step."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from html import escape
from typing import Any

import panel as pn
import param

from zoexplore.bounds import Guarantee
from zoexplore.compute.ask import ask
from zoexplore.compute.questions import guarantees, smallest
from zoexplore.compute.task import Task
from zoexplore.formatting import format_number
from zoexplore.presets import DEMONSTRATION
from zoexplore.setting import Accounting
from zoexplore.views.panels.controls import Controls
from zoexplore.views.state import State
from zoexplore.views.style import widgets
from zoexplore.views.tabs import Tabs

Found = dict[str, Guarantee]
GUESSES = 3  # of every step
_INVITATION = """<div class="band"><h2>New here?</h2> <p>What does a model trained on your data give away about you, and why does
that stop growing? Six short steps.</p></div>"""


@dataclass(frozen=True)
class Step:
    """One step of the story.

    Args:
        title: what it shows.
        summary: what to know before the question.
        control: the one field that can be moved.
        view: the tab that is open, and `turned` what is selected in it.
        question: what is to be guessed, and `guesses` the guesses.
        tells: the answer, from what the accountant finds before and after.
        run: what differs from the demonstration run at first, and `then` what is changed for the answer.
        shows: the bounds whose curves are drawn; all of them where it is empty.
        by: the bound whose number stands above the figure; the smallest one's where it is empty.
        reveals: the bounds whose curves are drawn with the answer, of which the smallest one's number then stands there; those of
            before where it is empty.
    """

    title: str
    summary: str
    control: str
    view: str
    question: str
    guesses: tuple[str, ...]
    tells: Callable[[Found, Found], str]
    turned: dict[str, Any] = field(default_factory=dict)
    run: dict[str, Any] = field(default_factory=dict)
    then: dict[str, Any] = field(default_factory=dict)
    shows: tuple[str, ...] = ()
    by: str = ""
    reveals: tuple[str, ...] = ()


def _least(before: Found, after: Found) -> tuple[float, float]:
    return smallest(before).epsilon, smallest(after).epsilon


def _twice_the_noise(before: Found, after: Found) -> str:
    was, now = _least(before, after)
    part = now / was
    size = "about half" if 0.45 < part < 0.55 else "less than half" if part < 0.5 else "more than half"
    return (
        f"ε falls from {format_number(was)} to {format_number(now)}: {size} is left. Where ε is small, twice the noise leaves "
        "half of it; where ε is large, less than half."
    )


def _composition(before: Found, after: Found) -> str:
    was, now = before["composition"].epsilon, after["composition"].epsilon
    return (
        f"ε of composition goes from {format_number(was)} to {format_number(now)}, {now / was:.0f} times as much: every step "
        "that is published is one more look at the record. At first ε grows like √T, later like T."
    )


def _hidden(before: Found, after: Found) -> str:
    every, last = after["composition"].epsilon, after["sharp"].epsilon
    return (
        f"Of ε = {format_number(every)} only {format_number(last)} is left: the green line instead of the orange one. The "
        "run is the same; the steps in between are simply not shown to anybody."
    )


def _saturates(before: Found, after: Found) -> str:
    was, now = _least(before, after)
    change = "ε does not change" if now <= was * 1.001 else f"ε grows from {format_number(was)}"
    return (
        f"{change}: it is {format_number(now)}. Every step pulls the two runs together and covers the rest with fresh noise. "
        "Watch them: even runs that start at opposite ends of the ball are the same cloud after a few steps. Only the last few "
        "steps leave a trace, so the curve stops growing."
    )


def _share(before: Found, after: Found) -> str:
    was, now = _least(before, after)
    return (
        f"ε falls from {format_number(was)} to {format_number(now)}. Every step has new directions. Noise along them cannot "
        "cover what earlier steps left across them; noise in all directions can, and along the directions it gives up little."
    )


def _cost(before: Found, after: Found) -> str:
    return (
        "Nobody knows before trying: press Train below. It trains this run at several noise scales, here and now, and draws "
        "accuracy against ε. Stopping at the right step would be cheapest of all; hiding the iterates spares you having to know "
        "which step that is."
    )


STEPS = {
    "1": Step(
        "What leaks",
        "Two runs differ in one person's record. Whoever gets the trained model tries to tell which run it came from: blue or "
        "orange in the picture. ε bounds how well anybody can. Noise σ hides the record.",
        control="sigma", view="curves", turned={"along": "T"},
        question="Will twice the noise halve ε?",
        guesses=("Yes, about half", "Less than half is left", "More than half is left"),
        then={"sigma": 1e-4}, tells=_twice_the_noise,
    ),
    "2": Step(
        "Composition grows",
        "Suppose every step of the training is published. Then every step is paid for: that is composition, the orange line.",
        control="T", view="curves", turned={"along": "T"}, run={"T": 10}, shows=("composition",), by="composition",
        question="A hundred times as many steps: how much larger is ε?",
        guesses=("Not at all", "10 to 30 times", "100 times or more"),
        then={"T": 1000}, tells=_composition,
    ),
    "3": Step(
        "Hide the iterates",
        "Usually nobody needs the steps in between. Publish the last iterate alone, with the same noise and the same 200 steps.",
        control="T", view="curves", turned={"along": "T"}, shows=("composition",), by="composition",
        question="How much of composition's ε is left?",
        guesses=("Nearly all", "About half", "A fifth or less"),
        tells=_hidden, reveals=("composition", "sharp"),
    ),
    "4": Step(
        "It saturates",
        "The record acts in every step, and yet only the last iterate is seen.",
        control="T", view="curves", turned={"along": "T"},
        question="Train five thousand times longer. What does ε do?",
        guesses=("It keeps growing", "It grows a little", "It stays"),
        then={"T": 10**6}, tells=_saturates,
    ),
    "5": Step(
        "What β does",
        "Each step moves along K random directions. The noise can go along them (β = 1) or everywhere (β = 0), with the same "
        "energy. Now all of it goes along them.",
        control="beta", view="curves", turned={"along": "beta"}, run={"beta": 1.0}, shows=("composition",),
        question="Move half of the noise off the directions. What does ε do?",
        guesses=("It rises", "It stays", "It falls"),
        then={"beta": 0.5}, tells=_share, reveals=("composition", "sharp"),
    ),
    "6": Step(
        "What it costs",
        "Noise hides the record and disturbs the training. A guarantee is worth something only if the model still learns.",
        control="sigma", view="train",
        question="Does this run learn at all with an ε below 1?",
        guesses=("Yes", "Hardly", "No"),
        tells=_cost,
    ),
}  # fmt: skip


class Story(pn.viewable.Viewer):
    """The steps in a panel above the page, of which they leave one control and one view. An empty `step` is the whole page."""

    step = param.Selector(default="", objects=["", *STEPS], doc="the step that is told; empty for none")
    guess = param.String("", doc="what was guessed; empty before")
    by = param.String("", doc="the bound whose number is told; empty for the smallest")

    def __init__(self, state: State, tabs: Tabs, controls: Controls, invites: bool = False, **params: Any) -> None:
        """With `invites` the page begins with an invitation to the story."""
        super().__init__(**params)
        self.state, self.tabs, self.controls, self.invites = state, tabs, controls, invites
        self.words, self.answer = (widgets.html("", "words", "story", css_classes=["zx-words"]) for _ in range(2))
        self.buttons = {
            "begin": widgets.button("Begin", lambda: self.go(1), "primary"),
            "back": widgets.button("Back", lambda: self.go(int(self.step) - 1)),
            "next": widgets.button("Next", lambda: self.go(int(self.step) + 1), "primary"),
            "skip": widgets.button("Skip: show the whole page", lambda: self.go(0)),
        }
        # The same buttons for every step: of those that a page gets later, a browser may send what the server does not take.
        self.guesses = widgets.row("guesses", *(widgets.button("–", partial(self.take, place)) for place in range(GUESSES)))
        self.moves = widgets.row("guesses", *self.buttons.values())
        self.panel = widgets.component("told", self.words, self.guesses, self.answer, self.moves, sheet="told")
        self._answering = Task()
        self.param.watch(self._set_up, "step")
        self._show()

    def go(self, place: int) -> None:
        """Turn to a step by its number; to none by 0, or beyond the last."""
        self.invites = False
        self.step = str(place) if 0 < place <= len(STEPS) else ""
        self._show()

    def _set_up(self, event: Any) -> None:
        """Set the run, the view and the one control of a step."""
        step = STEPS.get(self.step)
        self.guess = ""
        with pn.io.hold():
            curves, shown = self.tabs["curves"], step.shows if step else ()
            self.tabs.switch.visible = curves.choice.visible = step is None
            curves.legend.visible = curves.annotates = not shown  # the names at the curves' ends say as much
            self._draw(shown)
            self.controls.sole, self.by = (step.control, step.by) if step else ("", "")
            if step:
                # The axis goes first: what is held is written out at the end, and single columns of another length than the rest,
                # sent before all of them are, would stop the figure in the browser.
                self.tabs[step.view].param.update(**step.turned)
                self.state.replace(DEMONSTRATION.replace(**step.run), Accounting())
                self.tabs.selected = step.view
            elif event.old:
                self.tabs.selected = "curves"
            self._show()

    def _draw(self, shown: tuple[str, ...]) -> None:
        """Draw the curves of these bounds; all of them where there are none."""
        curves = self.tabs["curves"]
        curves.legend.muted = [name for name in curves.lines if name not in shown] if shown else []

    def _show(self) -> None:
        step = STEPS.get(self.step)
        self.panel.visible = step is not None or self.invites
        self.answer.object = ""
        self.guesses.visible = self.answer.visible = step is not None
        self.panel.css_classes = ["zx-told", *([] if step else ["zx-band"])]
        for name, button in self.buttons.items():
            button.visible = name in (("back", "next", "skip") if step else ("begin", "skip"))
        self.buttons["skip"].label = "Skip: show the whole page" if step else "No, thanks"
        if step is None:
            self.words.object = _INVITATION
            return
        self.words.object = (
            f"<h2><small>{self.step} of {len(STEPS)}</small> {escape(step.title)}</h2><p>{escape(step.summary)}</p>"
            f'<p class="question">{escape(step.question)}</p>'
        )
        for text, button in zip(step.guesses, self.guesses, strict=True):
            button.param.update(label=text, disabled=False)
        self.buttons["back"].disabled = self.step == "1"
        self.buttons["next"].label = "Explore on your own" if self.step == str(len(STEPS)) else "Next"

    def take(self, place: int) -> None:
        """Take one of the guesses, and answer the question."""
        self.guess = STEPS[self.step].guesses[place]
        for button in self.guesses:
            button.disabled = True
        self._answering.stop()
        self._answering = Task(self._reveal)

    async def _reveal(self) -> None:
        step = STEPS[self.step]
        before = await ask(guarantees, DEMONSTRATION.replace(**step.run), Accounting())
        after = await ask(guarantees, DEMONSTRATION.replace(**step.run | step.then), Accounting())
        self.answer.object = f'<p role="status"><b>You said: {escape(self.guess)}.</b> {escape(step.tells(before, after))}</p>'
        self.state.ask(**step.then)
        if step.reveals:
            self._draw(step.reveals)
            self.by = ""

    def __panel__(self) -> pn.viewable.Viewable:
        return self.panel
