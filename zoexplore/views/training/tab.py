"""Train: models of the reader's run at seven noise scales, trained together before the reader's eyes."""

from bisect import bisect_left
from collections.abc import Callable
from functools import cache, partial
from html import escape
from io import StringIO
from math import inf, isclose, log
from pathlib import Path
from time import monotonic

import panel as pn
import param

from zoexplore import training
from zoexplore.bounds import BOUNDS
from zoexplore.compute.ask import ask
from zoexplore.run.formatting import format_count, format_delta
from zoexplore.training import Frontier, Point, load
from zoexplore.training.frontier_files import to_csv, to_json
from zoexplore.training.privacy import Privacy
from zoexplore.training.tasks import FACTS
from zoexplore.views.style import widgets
from zoexplore.views.training import sentences
from zoexplore.views.training.figure import GUESSING, SAID, Model, Picture, Trained
from zoexplore.views.training.jobs import INSTALL, SCALES, Asked, Cannot, expected_seconds, missing, obstacle, prices, took
from zoexplore.views.training.running import Running, most_steps
from zoexplore.views.view import View

PRICE = Path(training.__file__).with_name("price.json")
OWN = [bound for bound in BOUNDS if BOUNDS[bound].of_this_run]


class Train(View):
    """A button, and the figure that grows. Nothing runs unasked."""

    asks = ("hidden",)

    hidden = param.Boolean(True, doc="whether models of which only the last step is published are drawn, too")
    told = param.Boolean(False, doc="whether what was trained in advance is shown in place of the reader's own, as in the story")

    def build(self) -> None:
        self.running = Running(self._came)
        self.frontier: Frontier | None = None  # trained here, so far, and what was asked for
        self.base: Asked | None = None
        self.earlier: tuple[Model, ...] = ()  # the models trained before, and a run of theirs
        self.before = in_advance(other_than=self.state.K)[0].setting
        self.cannot: Cannot | None = None
        self._begun = 0.0
        self.trained, self.said = Trained(), widgets.html("", "train_head")
        self.button = widgets.button("Train", self.press, "primary", "train_button")
        self.strip, self.side = (widgets.html("", name) for name in ("train_strip", "train_table"))
        self.foot = widgets.html(f"<p>{sentences.FOOT}</p>", "train_foot")
        kinds: dict[str, Callable[[Frontier], str]] = {"JSON": to_json, "CSV": to_csv}
        saves = (
            widgets.download(kind, f"zoexplore-frontier.{kind.lower()}", partial(self._file, write))
            for kind, write in kinds.items()
        )
        self.keep = widgets.stack(widgets.tools(widgets.label("save the results", "aside"), *saves), visible=False)
        self.under = widgets.html("", "train_under")
        self.pane = self.canvas(self.trained.figure)
        self.head = widgets.stack(widgets.row("train_top", self.said, self.button))  # hidden as a whole
        self.beside = widgets.stack(self.side, self.keep)
        self.param.watch(self.changed, ["hidden", "told"])
        self.param.watch(self._tell_controls, ["active", "told"])
        self.state.param.watch(self._tell_controls, "setting")
        self._tell_controls()

    def _file(self, write: Callable[[Frontier], str]) -> StringIO:
        return StringIO(write(self.frontier) if self.frontier else "")

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
        self.state.param.update(by_task=dict.fromkeys(FACTS, sentences.TASK) if here else {}, flaws=flaws)

    def press(self) -> None:
        """Train, or stop; where the run cannot be trained, go to the nearest one that can."""
        if self.running.busy:
            self.running.stop()
            return
        if self.cannot:
            self.state.ask(**{self.cannot.field: self.cannot.value})
            if self.cannot:
                return
        self._begun = monotonic()
        self._put_by()
        self.running.begin(self.asked())

    def _put_by(self) -> None:
        """Keep what was trained as the earlier frontier."""
        if self.frontier and self.base:
            self.earlier = _models(self.frontier, self.base.sigmas, ())
            self.before, self.frontier = self.base.runs[0], None

    def _came(self) -> None:
        """Take over what has been trained by now."""
        update = self.running.update
        if update and update.frontier.points:
            self.frontier, self.base = update.frontier, self.running.asked
            if update.finished and self.base:
                took(self.base, monotonic() - self._begun)
        self.changed()

    async def refresh(self) -> None:
        """Draw the run's models as far as they are trained, and say what they cost."""
        asked = self.asked()
        if self.told:
            points = in_advance(self.state.K)
            models, free = _of_points(points), None
            picture = Picture(models, _place(asked.setting.sigma, models), "done", self._ways, free=free)
        else:
            if self.base and self.base.fields != asked.fields:
                self._put_by()
            base = self.base if self.frontier and self.base else asked
            known = await ask(prices, base)
            picture = self._picture(asked, base, known)
        with pn.io.hold():
            self.trained.draw(picture)
            self.repaint()
            self._write(picture, asked)
        self.push()

    @property
    def _ways(self) -> tuple[str, ...]:
        return tuple(SAID) if self.hidden else ("every",)

    def _picture(self, asked: Asked, base: Asked, known: tuple[Privacy, ...]) -> Picture:
        models = _models(self.frontier, base.sigmas, known)
        if self.running.busy and not self.frontier:  # from the start on, where every model guesses
            models = tuple(model._replace(accuracy=(GUESSING,)) for model in models)
        update = self.running.update
        busy = self.running.busy
        stage = "during" if busy else "before" if not self.frontier else "done" if update and update.finished else "stopped"
        earlier, before = self.earlier, self.before
        if not earlier:
            points = in_advance(other_than=asked.setting.K)
            earlier, before = _of_points(points), points[0].setting
        named = sentences.difference(before, asked.runs[0]) if before else ""
        free = _free(self.frontier) if stage == "done" else None
        return Picture(models, _place(asked.setting.sigma, models), stage, self._ways, earlier, named, free)

    def _write(self, picture: Picture, asked: Asked) -> None:
        run = self.running
        lacks, note = missing(), sentences.below(picture, asked.setting.n, expected_seconds(asked))
        if lacks:
            note = f"Training needs {' and '.join(lacks)}: {INSTALL}"
        elif run.waits:
            note = "Others are training: yours is next."
        elif picture.stage == "stopped":
            note = f"Stopped at step {format_count(_steps(self.frontier))}."
        spoken = sentences.spoken(picture) if run.update and not run.busy else ""
        alert = f'<p class="warn" role="alert">{escape(run.problem)}</p>' if run.problem else ""
        self.said.object = (
            f"<h2>{sentences.sentence(picture)}</h2>{alert or f'<p>{escape(note)}</p>'}<p class='sr' role='status'>{spoken}</p>"
        )
        self.strip.object = sentences.strip(run.update if run.busy else None, asked.setting.T)
        self.under.object = f"<p><span>← more private</span><span>ε at δ = {format_delta(asked.setting.delta)}</span></p>"
        self.side.object = sentences.table(picture)
        self.keep.visible = self.frontier is not None and not run.busy
        self.head.visible = self.beside.visible = not self.told
        again = "Train again" if self.frontier else f"Train {len(SCALES)} models"
        offer = self.cannot.offer if self.cannot else again
        label = "Needs PyTorch" if lacks else "Stop, keep these" if run.busy else offer
        quiet = ["zx-quiet"] if run.busy or label == "Train again" else []
        self.button.param.update(label=label, disabled=bool(lacks), css_classes=["zx-button", *quiet])

    def __panel__(self) -> pn.viewable.Viewable:
        figure = widgets.stack(self.strip, self.pane, self.under, self.foot)
        return widgets.component("train", self.head, widgets.row("stage", figure, self.beside))


def _place(sigma: float, models: tuple[Model, ...]) -> float | None:
    """The place of a noise scale among the models', between two of them where it is none of theirs."""
    sigmas = [model.sigma for model in models]
    for i, other in enumerate(sigmas):
        if isclose(other, sigma, rel_tol=1e-9):
            return float(i)
    if not sigmas[0] < sigma < sigmas[-1]:
        return None
    i = bisect_left(sigmas, sigma)
    return i - 1 + log(sigma / sigmas[i - 1]) / log(sigmas[i] / sigmas[i - 1])


def _least(price: dict[str, tuple[float, ...]]) -> tuple[float, ...]:
    """The least epsilon of this run's bounds at every step."""
    return tuple(map(min, zip(*(price[bound] for bound in OWN if bound in price), strict=True)))


def _models(frontier: Frontier | None, sigmas: tuple[float, ...], known: tuple[Privacy, ...]) -> tuple[Model, ...]:
    """The models of a frontier, with epsilon along the whole run where it is known."""
    points = {point.sigma: point for point in frontier.points} if frontier else {}
    found = []
    for i, sigma in enumerate(sigmas):
        point = points.get(sigma)
        along = known[i].curve if known else point.epsilons if point else {}
        accuracy, error = (point.means("accuracy"), point.error("accuracy")) if point else ((), inf)
        if along:
            found.append(Model(sigma, accuracy, error, along["composition"], _least(along)))
    return tuple(found)


def _of_points(points: tuple[Point, ...]) -> tuple[Model, ...]:
    return tuple(
        Model(p.sigma, p.means("accuracy"), p.error("accuracy"), p.epsilons["composition"], _least(p.epsilons)) for p in points
    )


def _free(frontier: Frontier | None) -> float | None:
    """The accuracy without noise."""
    return next((p.mean("accuracy") for p in frontier.points if not p.sigma), None) if frontier else None


def _steps(frontier: Frontier | None) -> int:
    return max((p.steps[-1] for p in frontier.points), default=0) if frontier else 0


@cache
def in_advance(K: int | None = None, *, other_than: int | None = None) -> tuple[Point, ...]:
    """Models of the training default at several noise scales, by ascending noise, as `tools/price.py` has trained them.

    Args:
        K: theirs; without it the first that is not `other_than`.
    """
    points = sorted(load(PRICE).points, key=lambda p: p.sigma)
    kinds = sorted({int(p.run["K"]) for p in points})
    chosen = K if K in kinds else next(each for each in kinds if each != other_than)
    return tuple(p for p in points if p.run["K"] == chosen)
