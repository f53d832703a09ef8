"""A training run: a visitor's limits, start, progress with the time left, cancelling, and results to download."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from html import escape
from io import StringIO
from math import isfinite
from time import monotonic
from typing import Any

import panel as pn

from zoexplore.bounds import BOUNDS
from zoexplore.columns import name_of, spread
from zoexplore.compute.limits import RUN_SECONDS, RUN_STEPS
from zoexplore.compute.pool import LongWork
from zoexplore.compute.process import Died
from zoexplore.compute.session_task import SessionTask, served
from zoexplore.run.fields import in_symbols
from zoexplore.run.formatting import THIN, format_count, format_number
from zoexplore.training import NOT_COVERED, Frontier
from zoexplore.training.frontier_files import to_csv, to_json
from zoexplore.views.style import theme, widgets
from zoexplore.views.style.widgets import details, status, table, warning
from zoexplore.views.training.jobs import INSTALL, START, Asked, Progress, missing, trained
from zoexplore.views.training.words import infinite

_PAUSE = 0.5  # seconds between two figures, beside the drawing
_MOVING = -1  # a bar that moves without a value
_KILLED = "The training process ended unexpectedly: it was killed, or ran out of memory. What was done by then is kept."


def granted(asked: Asked) -> Asked:
    """Add the time that a run on a server may take; in a notebook everything is allowed.

    Raises:
        ValueError: it takes too many steps.
    """
    if served() is None:
        return asked
    count = len(asked.methods) * len(asked.sigmas) * asked.seeds * asked.T
    if count > RUN_STEPS.value:
        most, steps = format_count(RUN_STEPS.value), format_count(count)
        raise ValueError(f"T = {format_count(asked.T)} takes {steps} steps in all; this server allows at most {most}. Lower T")
    return replace(asked, seconds=RUN_SECONDS.value)


class Running(pn.viewable.Viewer):
    """Buttons and a bar. `asked` returns the run, or raises ValueError; `show` gets every frontier."""

    def __init__(self, asked: Callable[[], Asked], show: Callable[[Frontier], None]) -> None:
        super().__init__()
        self._asked, self._show = asked, show
        self._work = SessionTask()
        self._found: Frontier | None = None  # results that are not shown yet
        self._next = 0.0  # the earliest time of the next figure
        beside = {"margin": (0, 8, 0, 0)}
        self.train = widgets.button("Train this run", self.begin, "primary", **beside)
        self.cancel = widgets.button("Cancel", lambda: self.stop("Cancelled. What was done by then is kept."), **beside)
        self.bar = widgets.bar("how much of it is trained")
        self.note = widgets.html("", "plan", align="center")
        self._busy(False)
        if lacks := missing():
            self.train.disabled = True
            self.refuse(f"Training needs {' and '.join(lacks)}, which is not installed here: {INSTALL}.")

    def begin(self) -> None:
        """Start the requested run and end the current one."""
        try:
            asked = granted(self._asked())
        except ValueError as error:
            self.refuse(in_symbols(str(error)))
            return
        self._busy(True)
        self.bar.value = _MOVING
        self.say(f"{START}.")
        self._work.stop()
        self._work = SessionTask(partial(self._run, asked))

    async def _run(self, asked: Asked) -> None:
        try:
            with LongWork(trained, asked) as updates:
                if updates.waits:
                    self.say("Others are training: this begins when there is room.")
                async for progress in updates:
                    self._progress(progress)
        except Died:
            self.refuse(_KILLED)
        except Exception as error:  # any exception of a run is shown in place of its results
            self.refuse(f"It did not run: {in_symbols(str(error))}")
        else:
            self.say("Done.")
        self._busy(False)

    def stop(self, why: str) -> None:
        """End the current run, if any, and keep its results."""
        self._work.stop()
        self._busy(False)
        self.say(why)

    @property
    def busy(self) -> bool:
        """Whether a run is under way, for the reader."""
        return bool(self.cancel.visible)

    def say(self, words: str) -> None:
        self.note.object = status(words)

    def refuse(self, problem: str) -> None:
        self.note.object = warning(problem) if problem else ""

    def _progress(self, progress: Progress) -> None:
        left = progress.seconds_left
        with pn.io.hold():
            self.bar.value = round(100 * progress.done / progress.total) if progress.total else _MOVING
            if progress.doing:
                self.say(progress.doing + (f": {progress.done} of {progress.total}" if progress.total else "") + ".")
            else:
                part = f"{100 * progress.done / progress.total:.0f}{THIN}%"
                self.say(part + (f", {max(left, 1):.0f} s left" if isfinite(left) else ""))
            if progress.frontier and progress.frontier.points:
                self._found = progress.frontier
                if monotonic() > self._next:
                    self._flush()

    def _flush(self) -> None:
        """Show the latest results. Drawing blocks the event loop, so the next one waits four times as long."""
        found, begun = self._found, monotonic()
        if found:
            self._found = None
            self._show(found)
            self._next = monotonic() + _PAUSE + 4 * (monotonic() - begun)

    def _busy(self, busy: bool) -> None:
        if not busy:
            self._flush()
        self.note.css_classes = [theme.BUSY] if busy else []
        self.cancel.visible = self.bar.visible = busy
        self.train.label = "Train anew" if busy else "Train this run"

    def __panel__(self) -> pn.viewable.Viewable:
        return widgets.row("buttons", self.train, self.cancel, self.bar, self.note)


class Results(pn.viewable.Viewer):
    """A run's results in words and numbers, and as downloads."""

    def __init__(self, **params: Any) -> None:
        super().__init__(**params)
        self.frontier: Frontier | None = None
        kinds: dict[str, Callable[[Frontier], str]] = {"JSON": to_json, "CSV": to_csv}
        self.downloads = {
            kind.lower(): widgets.download(kind, f"zoexplore-frontier.{kind.lower()}", partial(self._file, write))
            for kind, write in kinds.items()
        }
        save = widgets.label("save the results", "aside"), *self.downloads.values()
        self.keep = widgets.stack(widgets.tools(*save, margin=(8, 0, 4, 0)))  # hidden as a whole: a row's own sheet shows it
        self.differs, self.words = widgets.html("", "words"), widgets.html("", "words", "plan", "assumptions", "numbers")

    def _file(self, write: Callable[[Frontier], str]) -> StringIO:
        return StringIO(write(self.frontier) if self.frontier else "")

    def show(self, frontier: Frontier | None, bounds: tuple[str, ...]) -> None:
        """Offer a frontier for download, and write what the figure cannot show."""
        self.frontier = frontier
        self.keep.visible = frontier is not None
        self.words.object = "".join(part(frontier, bounds) for part in (_infinite, _supposed, _numbers)) if frontier else ""

    def __panel__(self) -> pn.viewable.Viewable:
        return widgets.stack(self.differs, widgets.html(f"<p>{escape(NOT_COVERED)}</p>", "words"), self.words, self.keep)


def _infinite(frontier: Frontier, bounds: tuple[str, ...]) -> str:
    """Why some marks are at infinity."""
    items = "".join(
        f"<li><span><b>{escape(method)}</b>, {escape(', '.join(titles))}: {escape(reason)}</span></li>"
        for (method, reason), titles in infinite(frontier, bounds).items()
    )
    return f"<h2>At ε = ∞, and why</h2><ul>{items}</ul>" if items else ""


def _supposed(frontier: Frontier, bounds: tuple[str, ...]) -> str:
    """The assumptions behind hollow marks."""
    words = dict.fromkeys(each for p in frontier.points for each in p.supposed)
    return f"<p>Hollow marks suppose, without proof, that {escape('; '.join(words))}.</p>" if words else ""


def _numbers(frontier: Frontier, bounds: tuple[str, ...]) -> str:
    titles = ("method and σ", "accuracy", "loss", *(f"ε, {BOUNDS[b].title.lower()}" for b in bounds))
    rows = [
        [name_of(p), spread(p, "accuracy"), spread(p, "loss"), *(format_number(p.epsilon[b]) for b in bounds)]
        for p in frontier.points
    ]
    return details("The points in numbers", table(titles, rows, "the points in numbers"))
