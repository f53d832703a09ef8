"""The choices for training: task, methods and numbers, as typed and as arguments of a sweep."""

from functools import partial
from math import isfinite
from typing import Any

import panel as pn
import param

from zoexplore.run.formatting import format_exact, format_typed, parse_number
from zoexplore.run.setting import LARGEST_INTEGER, Setting
from zoexplore.training import DEFAULT_METHODS, METHODS, TASKS, Task
from zoexplore.views.state import State
from zoexplore.views.style import widgets
from zoexplore.views.training.jobs import Asked

MOST_SEEDS = 50
SEEDS = 2
MIXTURE = (20_000, 520)  # n and d of generated data, unless the sliders set others
_LABELS = {
    "seeds": "seeds", "K": "K directions", "beta": "β noise along", "T": "T steps to train", "sigmas": "σ noise scales",
}  # fmt: skip


class Choices(pn.viewable.Viewer):
    """The controls; `asked` returns their values."""

    task = param.Selector(default="mixture", objects=list(TASKS), doc="what to train on")

    def __init__(self, state: State, **params: Any) -> None:
        super().__init__(**params)
        self.state = state
        titles = {task.title: name for name, task in TASKS.items()}
        self.menu = widgets.select("task", titles, "choice", "row", of=self.param.task)
        self.texts = {
            name: widgets.field(label, "choice", *(["several"] if name == "sigmas" else [])) for name, label in _LABELS.items()
        }
        self.texts["seeds"].value = str(SEEDS)
        self.methods = {
            name: widgets.box(method.title, name in DEFAULT_METHODS, align="center") for name, method in METHODS.items()
        }
        self.times = _times(self.chosen.sigmas)
        self._shown: tuple[float, ...] = ()
        self.param.watch(self._begin, "task")
        self.fill()
        for name in ("K", "beta", "T", "sigmas"):
            self.texts[name].param.watch(partial(self._typed, name), "value")

    @property
    def chosen(self) -> Task:
        """The task, before its size."""
        return TASKS[self.task]

    def _begin(self, *_: Any) -> None:
        """Set the sliders to a task's default run."""
        task = self.chosen
        self.times = _times(task.sigmas)
        self.state.ask(K=task.K, beta=task.beta, T=task.T, sigma=_anchor(task.sigmas))
        self.fill()

    def _values(self) -> tuple[float, ...]:
        """The sliders' values as texts."""
        s = self.state.setting
        return s.K, s.beta, s.T, s.sigma, *self.times

    def fill(self) -> None:
        """Write the sliders' numbers, unless already there."""
        if self._shown == self._values():
            return
        self._shown = self._values()
        s = self.state.setting
        values = {"sigmas": [times * s.sigma for times in self.times], "K": [s.K], "beta": [s.beta], "T": [s.T]}
        for name, many in values.items():
            self.texts[name].value = ", ".join(format_typed(float(f"{x:.6g}") if isinstance(x, float) else x) for x in many)

    def _typed(self, name: str, event: Any) -> None:
        """Move the sliders to valid typed values; the start of a run refuses the others."""
        try:
            if name != "sigmas":
                self._move(name, self._number(name))
            elif min(sigmas := self._several("sigmas"), default=0) > 0:
                self.times = _times(sigmas)
                self._move("sigma", _anchor(sigmas))
        except ValueError:
            return

    def _move(self, name: str, x: float) -> None:
        """Move a slider, unless it is there already up to a text's rounding."""
        if float(f"{getattr(self.state.setting, name):.6g}") != x:
            self.state.ask(**{name: x})
        self._shown = self._values()

    def asked(self) -> Asked:
        """The chosen sweep.

        Raises:
            ValueError: a number cannot be read or is not allowed, or nothing is chosen; the message says which.
        """
        numbers: dict[str, Any] = {name: self._number(name) for name in ("K", "beta", "T")}
        seeds, sigmas = self._number("seeds"), self._several("sigmas")
        methods = tuple(name for name, box in self.methods.items() if box.value)
        if not methods:
            raise ValueError("no method is chosen: tick at least one")
        if not sigmas or len(set(sigmas)) < len(sigmas):
            raise ValueError("σ noise scales: give at least one, none of them twice")
        if seeds not in range(1, MOST_SEEDS + 1):
            raise ValueError(f"seeds = {format_exact(seeds)} is not allowed: give a whole number from 1 to {MOST_SEEDS}")
        s = self.state.setting
        size = (s.n, s.d) if self.task == "mixture" and (s.n, s.d) != MIXTURE else None
        for sigma in sigmas:  # refuse impossible values before a process starts
            run = Setting(n=LARGEST_INTEGER, d=LARGEST_INTEGER, sigma=sigma, **numbers)
        return Asked(
            self.chosen, methods, sigmas, run.K, run.beta, run.T, int(seeds), s.delta,
            self.state.accounting.replace(schedule="constant"), size=size,
        )  # fmt: skip

    def _several(self, name: str) -> tuple[float, ...]:
        return tuple(float(self._read(name, text)) for text in self.texts[name].value.split(",") if text.strip())

    def _number(self, name: str) -> float:
        return self._read(name, self.texts[name].value)

    def _read(self, name: str, text: str) -> float:
        try:
            value = parse_number(text)
            if isfinite(value):
                return value
        except (ValueError, OverflowError):
            pass
        raise ValueError(f"{_LABELS[name]}: {text.strip()[:40]!r} is not allowed: give a number")

    def __panel__(self) -> pn.viewable.Viewable:
        return widgets.stack(
            widgets.column("choices", self.menu, *self.texts.values()),
            widgets.tools(widgets.label("methods", "aside"), *self.methods.values(), margin=(0, 0, 6, 0)),
        )


def _anchor(sigmas: tuple[float, ...]) -> float:
    """The noise scale of the slider: the second, or the only one."""
    return sigmas[min(1, len(sigmas) - 1)]


def _times(sigmas: tuple[float, ...]) -> tuple[float, ...]:
    """Noise scales as multiples of the slider's."""
    return tuple(sigma / _anchor(sigmas) for sigma in sigmas)
