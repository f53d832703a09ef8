"""Train: models of the reader's run at seven noise scales, trained together while the reader looks
on.
"""

import re
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import panel as pn
import param

from zoexplore import training
from zoexplore.compute.ask import ask
from zoexplore.run.formatting import format_delta
from zoexplore.run.presets import DEMONSTRATION
from zoexplore.run.setting import Accounting
from zoexplore.training import Frontier, load
from zoexplore.training.privacy import Privacy
from zoexplore.training.tasks import FACTS
from zoexplore.views.figures.publish import NAMES
from zoexplore.views.html import written
from zoexplore.views.style import widgets
from zoexplore.views.training.figure import GUESSING, Growing, models_of, picture
from zoexplore.views.training.jobs import (
    INSTALL,
    SCALES,
    SEEDS,
    Asked,
    expected_seconds,
    missing,
    obstacle,
    prices,
)
from zoexplore.views.training.running import Running, most_steps
from zoexplore.views.training.sentences import FOOT, TASK, difference
from zoexplore.views.view import View

# runs trained in advance: the demonstration, with its own number of directions and with `FEW`
PRICE, FEW = Path(training.__file__).with_name("price.json"), 26
Found = tuple[Asked, Frontier]  # what was asked for, and how far it is trained


class Train(View):
    """A button that trains, and a figure of the models so far. Training starts only on a click."""

    asks = ("hidden",)

    hidden = param.Boolean(
        True, doc="whether models of which only the last step is published are drawn, too"
    )
    told = param.Boolean(
        False,
        doc="whether what was trained in advance is shown in place of the reader's own, as in the story",
    )

    def build(self) -> None:
        self.running = Running(self._came)
        self.found: Found | None = None  # what the reader has trained so far
        self.earlier: Found | None = None  # what the reader trained before
        # the run that is drawn, and its epsilons
        self.known: tuple[Asked | None, tuple[Privacy, ...]] = None, ()
        self.growing, self.said = Growing(), widgets.html("", "outcome", "train_head")
        self.side = widgets.html("", "train_table")
        self.button = widgets.button("Train", self.press, "primary", "train_button")
        # the row is in a stack because the row's own style sheet would keep it visible
        self.head = widgets.stack(widgets.row("train_top", self.said, self.button))
        self.beside = widgets.stack(self.side)
        self.param.watch(self.changed, "told")
        self.param.watch(self._tell_controls, ["active", "told"])
        self.state.param.watch(self._tell_controls, "setting")
        self._tell_controls()

    @property
    def stage(self) -> str:
        """How far training has come: "before", "during", "stopped" or "done"."""
        update = self.running.update
        if self.running.busy:
            return "during"
        return "before" if not self.found else "done" if update and update.finished else "stopped"

    def asked(self) -> Asked:
        """Return the run that is being trained, else the sliders' run."""
        if self.running.busy and self.running.asked:
            return self.running.asked
        return Asked(self.state.setting, self.state.accounting.replace(schedule="constant"))

    def _tell_controls(self, *_: object) -> None:
        """Tell the controls which fields the task sets, and which field cannot be trained."""
        here = self.active and not self.told
        self.cannot = obstacle(self.state.setting, most_steps())
        flaws = {self.cannot.field: self.cannot.why} if here and self.cannot else {}
        self.state.param.update(by_task=dict.fromkeys(FACTS, TASK) if here else {}, flaws=flaws)

    def press(self) -> None:
        """Stop a run under way, else train. If the run cannot be trained, first move to the nearest
        run that can.
        """
        if self.running.busy:
            self.running.stop()
            return
        if self.cannot:
            self.state.ask(**{self.cannot.field: self.cannot.value})
        if not self.cannot:
            self._put_by()
            asked, known = self.known
            self.running.begin(self.asked(), known if asked == self.asked() else ())

    def _put_by(self) -> None:
        """Keep what was trained as the earlier frontier."""
        self.earlier, self.found = self.found or self.earlier, None

    def _came(self) -> None:
        """Take over what is trained so far."""
        asked, update = self.running.asked, self.running.update
        if asked and update and update.frontier.points:
            self.found = asked, update.frontier
        self.changed()

    async def refresh(self) -> None:
        """Draw the run's models as far as they are trained, and write what they cost in epsilon."""
        asked, hidden = self.asked(), self.hidden
        if self.told:
            drawn = picture(
                _models(in_advance(DEMONSTRATION.K)), asked.setting.sigma, "done", hidden
            )
        else:
            if self.found and self.found[0].fields != asked.fields:
                self._put_by()
            base = self.found[0] if self.found else asked
            self.known = base, await ask(prices, base)
            points, stage = self.found[1].points if self.found else (), self.stage
            models = models_of(base.sigmas, points, self.known[1], begun=stage == "during")
            earlier = self.earlier or in_advance(FEW if asked.setting.K != FEW else DEMONSTRATION.K)
            when = "before" if self.earlier else "in advance"
            free = [p.mean("accuracy") for p in points if not p.sigma and stage == "done"]
            drawn = picture(
                models,
                asked.setting.sigma,
                stage,
                hidden,
                _models(earlier),
                named=difference(earlier[0].setting, asked.setting, when),
                free=next(iter(free), None),
            )
        with pn.io.hold():
            self._write(drawn, asked)

    def _write(self, drawn: dict[str, Any], asked: Asked) -> None:
        """Show a picture, and write the words around it."""
        run, s = self.running, asked.setting
        busy, done = run.busy and run.update, run.update and drawn["stage"] == "done"
        ended = run.problem if run.asked and run.asked.fields == asked.fields else ""
        said = written("train", "sentence", drawn)
        plain = re.sub("<.>|</.>", "", said)
        steps = max((p.steps[-1] for p in self.found[1].points), default=0) if self.found else 0
        sizes = s.n, SCALES, SEEDS, expected_seconds(asked), steps, GUESSING
        note = written("train", "note", drawn, missing(), INSTALL, run.waits, *sizes)
        spoken = f"Trained. {plain}" if done else ""
        self.said.object = written("train", "head", said, note, ended, spoken)
        self.growing.picture = drawn | {
            "progress": written("train", "progress", busy, s.T) if busy else "",
            "part": busy.done / busy.total if busy else 0.0,
            "delta": format_delta(s.delta),
            "says": plain,
        }
        self.side.object = written("train", "table", drawn, NAMES, SEEDS)
        self.head.visible = self.beside.visible = not self.told
        self._label()

    def _label(self) -> None:
        label, busy = f"Train {len(SCALES) * SEEDS} models", self.running.busy
        if missing():
            label = "Needs PyTorch"
        elif busy:
            label = "Stop, keep these"
        elif self.cannot:
            label = self.cannot.offer
        elif self.found:
            label = "Train again"
        quiet = busy or (self.found and not self.cannot)
        look = ["zx-button", *["zx-quiet"] * bool(quiet)]
        self.button.param.update(label=label, disabled=bool(missing()), css_classes=look)

    def __panel__(self) -> pn.viewable.Viewable:
        figure = widgets.stack(self.growing, widgets.html(f"<p>{FOOT}</p>", "train_foot"))
        return widgets.component("train", self.head, widgets.row("stage", figure, self.beside))


def _models(found: Found) -> list[dict[str, Any]]:
    asked, frontier = found
    return models_of(asked.sigmas, frontier.points)


@cache
def in_advance(K: int) -> Found:
    """Return the demonstration with K directions, `FEW` or its own, as `tools/price.py` trained it."""
    found = load(PRICE)
    points = tuple(p for p in found.points if p.setting.K == K)
    return Asked(DEMONSTRATION.replace(K=K), Accounting()), replace(found, points=points)
