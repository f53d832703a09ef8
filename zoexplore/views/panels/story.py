"""The story: a guided opening in six steps. The reader guesses before each answer, each step has an
address, and the last step leads to the reader's own run.
"""

from bisect import bisect
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import panel as pn
import param
import yaml

from zoexplore.bounds import Guarantee
from zoexplore.compute.ask import ask
from zoexplore.compute.computations import guarantees, smallest
from zoexplore.compute.session_task import SessionTask
from zoexplore.run.formatting import format_count, format_number
from zoexplore.run.presets import DEMONSTRATION
from zoexplore.run.setting import Accounting
from zoexplore.views.html import written
from zoexplore.views.panels.controls import Controls
from zoexplore.views.state import State
from zoexplore.views.style import widgets
from zoexplore.views.style.inputs import FieldSentence
from zoexplore.views.tabs import Tabs

Found = dict[str, Guarantee]
GUESSES = 3  # the number of guesses in a step
ROUNDS = 20  # rounds of the game
# When the story's end hides a button that has the focus, the focus goes to the "Story" button.
_TO_BEGIN = """
const begin = [...Bokeh.documents[0].all_models].find((model) => model.label == "Story");
Bokeh.index.find_one(begin)?.shadow_el.querySelector("button").focus();
"""


@dataclass(frozen=True)
class Step:
    """One step of the story, as `story.yaml` describes it."""

    title: str
    summary: str
    view: str
    control: str = ""
    question: str = ""
    guesses: Sequence[str] = ()
    over: Sequence[str] = ()
    cuts: Sequence[float] = ()
    why: str = ""
    turned: dict[str, Any] = field(default_factory=dict)
    run: dict[str, Any] = field(default_factory=dict)
    then: dict[str, Any] = field(default_factory=dict)
    reveals: dict[str, Any] = field(default_factory=dict)

    def tells(self, before: Found, after: Found) -> tuple[int, str]:
        """Return (place, reason) from the guarantees before and after: the index of the right guess
        and why it is right.
        """
        numbers = told(before, after)
        above, below = (numbers[name] for name in self.over)
        shown = {
            name: f"{value:.1f}" if "right" in name else format_number(value)
            for name, value in numbers.items()
        }
        shown |= {"rounds": format_count(ROUNDS), "times": format_count(above / below)}
        return bisect(self.cuts, above / below), self.why.format(**shown)


def told(before: Found, after: Found) -> dict[str, float]:
    """Return numbers by name: epsilon for both ways of publishing, before and after; and of how
    many of `ROUNDS` the best attacker, who sees every step or only the last, is right on average.
    """
    numbers = {"rounds": float(ROUNDS)}
    for when, found in (("was_", before), ("", after)):
        for way, g in (("every", found["composition"]), ("last", smallest(found))):
            numbers[f"{when}{way}"] = g.epsilon
            numbers[f"right_{way}"] = ROUNDS * (1 + g.advantage) / 2
    return numbers


_TOLD = Path(__file__).with_name("story.yaml").read_text(encoding="utf-8")
STEPS = {number: Step(**step) for number, step in yaml.safe_load(_TOLD).items()}
_YOURS = "I train {d} parameters on {n} records for {T} steps, with noise {sigma} in each."


class Story(pn.viewable.Viewer):
    """The panel of the story's steps. At each step the page shows one view and at most one control;
    an empty `step` shows the whole page.
    """

    step = param.Selector(
        default="", objects=["", *STEPS], doc="the step that is shown; empty for none"
    )
    guess = param.Integer(
        -1,
        doc="the place of the guess that was taken; -1 before, GUESSES for a curve drawn by hand",
    )

    def __init__(self, state: State, tabs: Tabs, controls: Controls, **params: Any) -> None:
        super().__init__(**params)
        self.state, self.tabs, self.controls = state, tabs, controls
        self.publish = tabs["publish"]
        self.dots = widgets.short("", "dots")
        self.words, self.answer = (
            widgets.html("", "words", "story", css_classes=["zx-words"]) for _ in range(2)
        )
        self.back = widgets.button("Back", lambda: self.go(max(int(self.step) - 1, 1)))
        self.next = widgets.button("Next", lambda: self.go(int(self.step) + 1), "primary")
        self.end = widgets.button("End", lambda: self.go(0))
        self.end.js_on_click(code=_TO_BEGIN)
        # Every step has the same buttons in the same places, so that none moves under the mouse.
        self.guesses = widgets.row(
            "guesses", *(widgets.button("–", partial(self.take, place)) for place in range(GUESSES))
        )
        self.yours = FieldSentence(state, lambda _: _YOURS, "small_blanks")
        plan = widgets.button("Plan my run", lambda: self.leave("plan"), "primary")
        published = widgets.button("See published runs", lambda: self.leave("claims"))
        self.own = widgets.stack(
            self.yours, controls.notice, widgets.row("guesses", plan, published)
        )
        # the row is in a stack because the row's own style sheet would keep it visible
        self.row = widgets.stack(self.guesses)
        moves = widgets.row("moves", self.back, self.dots, self.next, self.end)
        parts = moves, self.words, self.row, self.answer, self.own
        self.panel = widgets.component("prompt", *parts, sheet="prompt", visible=False)
        self._answering = SessionTask()
        self.param.watch(self._set_up, "step")
        self.publish.param.watch(self.drew, "yours")

    def go(self, place: int) -> None:
        """Show a step by its number; 0 ends the story, and a number beyond the last does nothing."""
        if place <= len(STEPS):
            self.step = str(place) if place > 0 else ""

    def leave(self, view: str) -> None:
        """End the story, keep the run that the reader has set, and show a view."""
        setting, accounting = self.state.setting, self.state.accounting
        self.go(0)
        self.state.replace(setting, accounting)
        self.tabs.selected = view

    def _set_up(self, event: Any) -> None:
        """Set the run, the view and the one control of a step."""
        step = STEPS.get(self.step)
        self._answering.stop()
        self.guess = -1
        with pn.io.hold():
            self.panel.visible = step is not None
            self.tabs.offer(tabs=step is None)
            if left := STEPS.get(event.old):  # the view's options return to their defaults
                view = self.tabs[left.view]
                view.param.update(**{name: view.param[name].default for name in left.turned})
            self.controls.sole = step.control or "none" if step else ""
            if step:
                self.tabs[step.view].param.update(**step.turned)
                self._show(step)
            self.state.replace(DEMONSTRATION.replace(**step.run if step else {}), Accounting())
            self.tabs.selected = step.view if step else "publish"

    def _show(self, step: Step) -> None:
        self.answer.object = ""
        self._tell(step)
        self.row.visible = self.next.visible = bool(step.guesses)
        self.own.visible = not step.guesses
        for text, button in zip(step.guesses, self.guesses, strict=False):
            button.param.update(label=text, css_classes=["zx-button"])
        # on the first step the button is spent, not disabled, so that it keeps the focus
        self.back.css_classes = ["zx-button", *(["zx-spent"] if self.step == "1" else [])]
        self.dots.object = written("page", "dots", int(self.step), len(STEPS))

    def _tell(self, step: Step, answered: str = "") -> None:
        """Write the question. On a phone the answer replaces the summary, so that the figure stays
        in view.
        """
        self.words.object = written("page", "step", step, answered)

    def take(self, place: int) -> None:
        """Record a guess and reveal the answer. The buttons stay enabled, so that the focus stays
        on one of them.
        """
        if self.guess < 0 and STEPS[self.step].guesses:
            self.guess = place
            if self.publish.draws:
                self.publish.sketch_as(place)
            self._answering = SessionTask(self._reveal)

    def drew(self, event: Any) -> None:
        """Reveal the answer to a curve that the reader has drawn."""
        if self.step and self.guess < 0 and event.new:
            self.guess = GUESSES
            self._answering = SessionTask(self._reveal)

    async def _reveal(self) -> None:
        step, drawn = STEPS[self.step], self.guess == GUESSES
        before = await ask(guarantees, DEMONSTRATION.replace(**step.run), Accounting())
        after = await ask(guarantees, DEMONSTRATION.replace(**step.run | step.then), Accounting())
        right, why = step.tells(before, after)
        said = "Right." if self.guess == right else f"Not quite. {step.guesses[right]}."
        with pn.io.hold():
            if drawn:
                said = written("page", "drawn", *self.publish.yours[-1], *self.publish.two)
            for place, button in enumerate(() if drawn else self.guesses):
                kind = {self.guess: "wrong", right: "right"}
                # the style sheet marks the button by its class
                button.css_classes = ["zx-button", f"zx-{kind.get(place, 'other')}"]
            self.answer.object = written("page", "answer", said, why)
            self._tell(step, "answered")
            self.state.ask(**step.then)
            self.tabs[step.view].param.update(**step.reveals)
            self.publish.clouds.again += 1

    def __panel__(self) -> pn.viewable.Viewable:
        return self.panel
