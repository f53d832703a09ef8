"""Train: models of the reader's run at seven noise scales, trained together before the reader's
eyes.
"""

import re
from functools import cache
from math import floor, inf, log
from pathlib import Path

import panel as pn
import param

from zoexplore import training
from zoexplore.bounds import BOUNDS
from zoexplore.compute.ask import ask
from zoexplore.run.formatting import format_count, format_delta
from zoexplore.run.presets import DEMONSTRATION
from zoexplore.run.setting import Accounting
from zoexplore.training import Frontier, load
from zoexplore.training.privacy import Privacy
from zoexplore.training.tasks import FACTS
from zoexplore.views.html import written
from zoexplore.views.style import widgets
from zoexplore.views.training import sentences
from zoexplore.views.training.figure import GUESSING, WAYS, Growing, Model, Picture
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
from zoexplore.views.view import View

# trained in advance: the demonstration, and of few directions
PRICE, FEW = Path(training.__file__).with_name("price.json"), 26
DURING = "Each ring is the mean of the models so far; it is filled when they are done."
Found = tuple[Asked, Frontier]  # what was asked for, and what has been trained of it


class Train(View):
    """A button, and the figure that grows. Nothing runs unasked."""

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
        self.found: Found | None = None  # trained here, so far
        self.earlier: Found | None = None  # trained before
        # the drawn run, and its epsilons
        self.known: tuple[Asked | None, tuple[Privacy, ...]] = None, ()
        self.growing, self.said, self.side = (
            Growing(),
            widgets.html("", "train_head"),
            widgets.html("", "train_table"),
        )
        self.button = widgets.button("Train", self.press, "primary", "train_button")
        # hidden as a whole
        self.head = widgets.stack(widgets.row("train_top", self.said, self.button))
        self.beside = widgets.stack(self.side)
        self.param.watch(self.changed, ["hidden", "told"])
        self.param.watch(self._tell_controls, ["active", "told"])
        self.state.param.watch(self._tell_controls, "setting")
        self._tell_controls()

    def asked(self) -> Asked:
        """The sliders' run, or the one that is trained now."""
        if self.running.busy and self.running.asked:
            return self.running.asked
        return Asked(self.state.setting, self.state.accounting.replace(schedule="constant"))

    def _tell_controls(self, *_: object) -> None:
        """Say at the controls what the task sets, and what cannot be trained."""
        here = self.active and not self.told
        self.cannot = obstacle(self.state.setting, most_steps())
        flaws = {self.cannot.field: self.cannot.why} if here and self.cannot else {}
        self.state.param.update(
            by_task=dict.fromkeys(FACTS, sentences.TASK) if here else {}, flaws=flaws
        )

    def press(self) -> None:
        """Train, or stop; where the run cannot be trained, go to the nearest one that can."""
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
        """Take over what has been trained by now."""
        asked, update = self.running.asked, self.running.update
        if asked and update and update.frontier.points:
            self.found = asked, update.frontier
        self.changed()

    async def refresh(self) -> None:
        """Draw the run's models as far as they are trained, and say what they cost."""
        asked = self.asked()
        if self.told:
            models = models_of(in_advance(DEMONSTRATION.K))
            picture = Picture(models, place(asked.setting.sigma, models), "done", self._ways)
        else:
            if self.found and self.found[0].fields != asked.fields:
                self._put_by()
            base = self.found[0] if self.found else asked
            self.known = base, await ask(prices, base)
            picture = self._picture(asked, *self.known)
        with pn.io.hold():
            self._write(picture, asked)

    @property
    def _ways(self) -> tuple[str, ...]:
        return tuple(WAYS) if self.hidden else ("every",)

    def _picture(self, asked: Asked, base: Asked, known: tuple[Privacy, ...]) -> Picture:
        busy, update = self.running.busy, self.running.update
        models = models_of(self.found, known, base)
        if busy and not self.found:  # from the start on, where every model guesses
            models = tuple(model._replace(accuracy=(GUESSING,)) for model in models)
        stage = (
            "during"
            if busy
            else "before"
            if not self.found
            else "done"
            if update and update.finished
            else "stopped"
        )
        earlier = self.earlier or in_advance(FEW if asked.setting.K != FEW else DEMONSTRATION.K)
        free = (
            [p.mean("accuracy") for p in self.found[1].points if not p.sigma]
            if self.found and stage == "done"
            else []
        )
        named = sentences.difference(
            earlier[0].setting, asked.setting, "before" if self.earlier else "in advance"
        )
        mine = place(asked.setting.sigma, models)
        return Picture(
            models, mine, stage, self._ways, models_of(earlier), named, next(iter(free), None)
        )

    def _write(self, picture: Picture, asked: Asked) -> None:
        """Show a picture, and write what stands around it."""
        run, s, stage = self.running, asked.setting, picture.stage
        busy, done = run.busy and run.update, run.update and stage == "done"
        ended = run.problem if run.asked and run.asked.fields == asked.fields else ""
        said = written("train", "sentence", picture)
        plain = re.sub("<.>|</.>", "", said)
        spoken = f"Trained. {plain}" if done else ""
        around = said, self._note(picture, asked), ended, spoken
        self.said.object = written("train", "head", *around)
        self.growing.picture = picture.drawn() | {
            "progress": sentences.progress(busy, s.T) if busy else "",
            "part": busy.done / busy.total if busy else 0.0,
            "delta": format_delta(s.delta),
            "says": plain,
        }
        self.side.object = written("train", "table", picture, WAYS, SEEDS)
        self.head.visible = self.beside.visible = not self.told
        label = "Train again" if self.found else f"Train {len(SCALES)} models"
        quiet = self.found is not None
        if missing():
            label = "Needs PyTorch"
        elif run.busy:
            label, quiet = "Stop, keep these", True
        elif self.cannot:
            label, quiet = self.cannot.offer, False
        look = ["zx-button", *(["zx-quiet"] if quiet else [])]
        self.button.param.update(label=label, disabled=bool(missing()), css_classes=look)

    def _note(self, picture: Picture, asked: Asked) -> str:
        """The grey line below the sentence."""
        if lacks := missing():
            return f"Training needs {' and '.join(lacks)}: {INSTALL}"
        if self.running.waits:
            return "Others are training: yours is next."
        if picture.stage == "before":
            given = asked.setting.n, SCALES, SEEDS, expected_seconds(asked)
            return written("train", "before", *given)
        if picture.stage == "during":
            return DURING
        if picture.stage == "stopped" and self.found:
            steps = max(p.steps[-1] for p in self.found[1].points)
            return f"Stopped at step {format_count(steps)}."
        return written("train", "after", picture, GUESSING)

    def __panel__(self) -> pn.viewable.Viewable:
        figure = widgets.stack(self.growing, widgets.html(f"<p>{sentences.FOOT}</p>", "train_foot"))
        return widgets.component("train", self.head, widgets.row("stage", figure, self.beside))


def place(sigma: float, models: tuple[Model, ...]) -> float | None:
    """The place of a noise scale among the models' doubling ones, between two of them where it is
    none of theirs.
    """
    at = round(log(sigma / models[0].sigma, 2), 9)
    return None if not 0 <= at <= len(models) - 1 else int(at) if at == floor(at) else at


def models_of(
    found: Found | None, known: tuple[Privacy, ...] = (), asked: Asked | None = None
) -> tuple[Model, ...]:
    """The models of a frontier, with epsilon along the whole run where it is `known`."""
    sigmas, frontier = (
        (found[0].sigmas, found[1]) if found else (asked.sigmas if asked else (), None)
    )
    points = {point.sigma: point for point in frontier.points} if frontier else {}
    models = []
    for i, sigma in enumerate(sigmas):
        point = points.get(sigma)
        along = (
            {bound: charge.along for bound, charge in known[i].items()}
            if known
            else point.epsilons
            if point
            else {}
        )
        accuracy, error = (point.means("accuracy"), point.error("accuracy")) if point else ((), inf)
        own = [along[bound] for bound in along if BOUNDS[bound].of_this_run]
        if own:
            models.append(
                Model(
                    sigma,
                    accuracy,
                    error,
                    along["composition"],
                    tuple(map(min, zip(*own, strict=True))),
                )
            )
    return tuple(models)


@cache
def in_advance(K: int) -> Found:
    """The demonstration of K directions, `FEW` or its own, as `tools/price.py` has trained it."""
    found = load(PRICE)
    asked = Asked(DEMONSTRATION.replace(K=K), Accounting())
    return asked, Frontier(
        **vars(found) | {"points": tuple(p for p in found.points if p.setting.K == K)}
    )
