"""A run on its way: begin, progress with the time left, cancel, and what is said when it ends."""

import argparse
import sys
from collections.abc import Callable
from functools import partial
from html import escape
from math import isfinite

import panel as pn

from zoexplore.formatting import format_measured_share
from zoexplore.training import Frontier
from zoexplore.views.compute.long import LongWork
from zoexplore.views.compute.process import Died
from zoexplore.views.compute.task import Task
from zoexplore.views.style import theme, widgets
from zoexplore.views.training.allowance import granted
from zoexplore.views.training.jobs import INSTALL, START, Asked, Progress, missing, trained

_MOVING = -1  # of a bar that moves without saying how far it is
_KILLED = "The training process ended unexpectedly: it was killed, or ran out of memory. What was done by then is kept."


def dask_address(arguments: list[str]) -> str | None:
    """The Dask scheduler named on the command line: panel serve app.py --args --dask tcp://host:8786."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
    parser.add_argument("--dask")
    try:
        return parser.parse_known_args(arguments)[0].dask
    except argparse.ArgumentError:
        return None


class Running(pn.viewable.Viewer):
    """Buttons and a bar. `asked` says what to run, or raises ValueError; `show` is called with every frontier on the way."""

    def __init__(self, asked: Callable[[], Asked], show: Callable[[Frontier], None]) -> None:
        super().__init__()
        self._asked, self._show = asked, show
        self._work: Task | None = None
        beside = {"margin": (0, 8, 0, 0)}
        self.train = widgets.button("Train", self.begin, **beside)
        self.cancel = widgets.button("Cancel", lambda: self.stop("Cancelled. What was done by then is kept."), **beside)
        self.bar = widgets.bar("how much of it is trained")
        self.note = widgets.html("", "plan", align="center")
        self._busy(False)
        if lacks := missing():
            self.train.disabled = True
            self.refuse(f"Training needs {' and '.join(lacks)}, which is not installed here: {INSTALL}. Results can be loaded.")

    def begin(self) -> None:
        """Run what is asked for, in place of what is running."""
        try:
            asked = granted(self._asked(), self)
        except ValueError as error:
            self.refuse(str(error))
            return
        self._busy(True)
        self.bar.value = _MOVING
        self.say(f"{START}.")
        self._end()
        self._work = Task(partial(self._run, asked))

    async def _run(self, asked: Asked) -> None:
        try:
            with LongWork(trained, asked, dask_address(sys.argv[1:])) as updates:
                async for progress in updates:
                    self._progress(progress)
        except Died:
            self.refuse(_KILLED)
        except Exception as error:  # whatever a run raises is told where its results would be
            self.refuse(f"It did not run: {error}")
        else:
            self.say("Done.")
        self._busy(False)

    def _end(self) -> None:
        if self._work:
            self._work.stop()

    def stop(self, why: str) -> None:
        """End the run now, if there is one; what is done is kept."""
        self._end()
        self._busy(False)
        self.say(why)

    @property
    def busy(self) -> bool:
        """Whether a run goes on, as far as the reader sees."""
        return bool(self.cancel.visible)

    def say(self, words: str) -> None:
        """Tell how it stands."""
        self.note.object = f'<p role="status">{escape(words)}</p>'

    def refuse(self, problem: str) -> None:
        """Tell what is wrong."""
        self.note.object = f'<p class="warn" role="alert">{escape(problem)}</p>' if problem else ""

    def _progress(self, progress: Progress) -> None:
        left = progress.seconds_left
        with pn.io.hold():
            self.bar.value = round(100 * progress.done / progress.total) if progress.total else _MOVING
            if progress.doing:
                self.say(progress.doing + (f": {progress.done} of {progress.total}" if progress.total else "") + ".")
            else:
                part = format_measured_share(progress.done / progress.total)
                self.say(part + (f", {max(left, 1):.0f} s left" if isfinite(left) else ""))
            if progress.frontier and progress.frontier.points:
                self._show(progress.frontier)

    def _busy(self, busy: bool) -> None:
        self.note.css_classes = [theme.BUSY] if busy else []
        self.cancel.visible = self.bar.visible = busy
        self.train.label = "Train anew" if busy else "Train"

    def __panel__(self) -> pn.viewable.Viewable:
        return widgets.row("buttons", self.train, self.cancel, self.bar, self.note)
