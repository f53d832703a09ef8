"""The choices for training: task, methods, noise scales and seeds, as typed and as arguments of a sweep."""

from math import isfinite
from typing import Any

import panel as pn
import param

from zoexplore.run.formatting import format_typed, parse_number
from zoexplore.training import DEFAULT_METHODS, METHODS, TASKS, Task
from zoexplore.views.state import State
from zoexplore.views.style import widgets
from zoexplore.views.training.jobs import Asked

MOST_SEEDS = 50
SEEDS = 2
MIXTURE = (20_000, 520)  # n and d of generated data, unless the sliders set others


class Choices(pn.viewable.Viewer):
    """The controls of training; the sliders hold the rest of the run. `asked` returns both."""

    task = param.Selector(default="mixture", objects=list(TASKS), doc="what to train on")

    def __init__(self, state: State, **params: Any) -> None:
        super().__init__(**params)
        self.state = state
        titles = {task.title: name for name, task in TASKS.items()}
        self.menu = widgets.select("task", titles, "choice", "row", of=self.param.task)
        self.seeds = widgets.field("seeds", "choice", value=str(SEEDS))
        self.times = widgets.field("multiples of σ", "choice", "several", value=_times(self.chosen))
        self.methods = {
            name: widgets.box(method.title, name in DEFAULT_METHODS, align="center") for name, method in METHODS.items()
        }
        self.param.watch(self._begin, "task")

    @property
    def chosen(self) -> Task:
        """The task, before its size."""
        return TASKS[self.task]

    def _begin(self, *_: Any) -> None:
        """Set the sliders to a task's default run."""
        task = self.chosen
        self.times.value = _times(task)
        self.state.ask(K=task.K, beta=task.beta, T=task.T, sigma=_anchor(task))

    def asked(self) -> Asked:
        """The chosen sweep.

        Raises:
            ValueError: a number cannot be read or is not allowed, or nothing is chosen; the message says which.
        """
        s, seeds = self.state.setting, _read(self.seeds)
        sigmas = tuple(float(f"{x * s.sigma:.6g}") for x in _read(self.times))
        methods = tuple(name for name, box in self.methods.items() if box.value)
        if not methods:
            raise ValueError("no method is chosen: tick at least one")
        if len(set(sigmas)) < len(sigmas):
            raise ValueError("multiples of σ: give none of them twice")
        if len(seeds) > 1 or seeds[0] not in range(1, MOST_SEEDS + 1):
            raise ValueError(f"seeds = {self.seeds.value} is not allowed: give a whole number from 1 to {MOST_SEEDS}")
        for sigma in sigmas:  # refuse impossible values before a process starts
            s.replace(sigma=sigma)
        size = (s.n, s.d) if self.task == "mixture" and (s.n, s.d) != MIXTURE else None
        return Asked(
            self.chosen, methods, sigmas, s.K, s.beta, s.T, int(seeds[0]), s.delta,
            self.state.accounting.replace(schedule="constant"), size=size,
        )  # fmt: skip

    def __panel__(self) -> pn.viewable.Viewable:
        return widgets.stack(
            widgets.column("choices", self.menu, self.seeds, self.times),
            widgets.tools(widgets.label("methods", "aside"), *self.methods.values(), margin=(0, 0, 6, 0)),
        )


def _read(field: pn.widgets.TextInput) -> tuple[float, ...]:
    """The numbers of a text, between commas."""
    try:
        values = tuple(float(parse_number(text)) for text in field.value.split(",") if text.strip())
    except (ValueError, OverflowError):
        values = (float("nan"),)
    if values and all(map(isfinite, values)):
        return values
    raise ValueError(f"{field.label}: {field.value.strip()[:40]!r} is not allowed: give a number")


def _anchor(task: Task) -> float:
    """The noise scale of the slider: the second, or the only one."""
    return task.sigmas[min(1, len(task.sigmas) - 1)]


def _times(task: Task) -> str:
    """A task's noise scales, as multiples of the slider's."""
    return ", ".join(format_typed(float(f"{sigma / _anchor(task):.6g}")) for sigma in task.sigmas)
