"""A frontier to keep and to load, what has no epsilon and why, and the numbers as a table."""

from collections.abc import Callable
from functools import partial
from html import escape
from io import BytesIO
from typing import Any

import panel as pn

from zoexplore.bounds import BOUNDS
from zoexplore.formatting import format_number
from zoexplore.training import METHODS, NOT_COVERED, Frontier
from zoexplore.training.frontier_files import to_csv, to_json, to_parquet
from zoexplore.views.compute.ask import ask
from zoexplore.views.compute.task import Task
from zoexplore.views.server.limits import largest_upload
from zoexplore.views.style import widgets
from zoexplore.views.style.markup import table
from zoexplore.views.training.jobs import read
from zoexplore.views.training.marks import infinite, name_of, spread, supposed


class Results(pn.viewable.Viewer):
    """Downloads and an upload; `loaded` is called with a frontier that was read, `refused` with why none was."""

    def __init__(self, loaded: Callable[[Frontier], None], refused: Callable[[str], None], **params: Any) -> None:
        super().__init__(**params)
        self.frontier: Frontier | None = None
        self._loaded, self._refused = loaded, refused
        kinds = {"JSON": self.json, "CSV": self.csv, "Parquet": self.parquet}
        self.downloads = {
            kind.lower(): widgets.download(kind, f"zoexplore-frontier.{kind.lower()}", content, disabled=True)
            for kind, content in kinds.items()
        }
        self.upload = widgets.upload("load results from a file", ".json,.csv,.parquet", largest_upload(), self._given)
        self.words = widgets.html("", "words", "plan", "assumptions", "numbers")

    def json(self) -> BytesIO:
        """The frontier as JSON."""
        return BytesIO(to_json(self.frontier).encode() if self.frontier else b"")

    def csv(self) -> BytesIO:
        """The frontier as CSV."""
        return BytesIO(to_csv(self.frontier).encode() if self.frontier else b"")

    def parquet(self) -> BytesIO:
        """The frontier as Parquet."""
        return BytesIO(to_parquet(self.frontier) if self.frontier else b"")

    def show(self, frontier: Frontier | None, bounds: tuple[str, ...]) -> None:
        """Offer a frontier for keeping, and write what the figure cannot."""
        self.frontier = frontier
        for download in self.downloads.values():
            download.disabled = frontier is None
        self.words.object = "".join(part(frontier, bounds) for part in (_infinite, _supposed, _numbers)) if frontier else ""

    def _given(self, content: bytes, filename: str) -> None:
        Task(partial(self._read, content, filename or "results.csv"))

    async def _read(self, content: bytes, filename: str) -> None:
        found = await ask(read, content, filename)
        if isinstance(found, str):
            self._refused(f"{filename}: {found}")
        else:
            self._loaded(found)

    def __panel__(self) -> pn.viewable.Viewable:
        keep = widgets.label("the results", "aside"), *self.downloads.values()
        load = widgets.tools(widgets.label("load results", "aside"), self.upload)
        row = widgets.tools(*keep, load, margin=(8, 0, 4, 0))
        return widgets.stack(widgets.html(f"<p>{escape(NOT_COVERED)}</p>", "words"), self.words, row)


def _infinite(frontier: Frontier, bounds: tuple[str, ...]) -> str:
    """Why some marks are at infinity."""
    items = "".join(
        f"<li><span><b>{escape(method)}</b>, {escape(', '.join(titles))}: {escape(reason)}</span></li>"
        for (method, reason), titles in infinite(frontier, bounds).items()
    )
    return f"<details><summary>At ε = ∞, and why</summary><ul>{items}</ul></details>" if items else ""


def _supposed(frontier: Frontier, bounds: tuple[str, ...]) -> str:
    """What hollow marks rest on."""
    words = dict.fromkeys(w for p in frontier.points for b in bounds for w in supposed(p, b, frontier.accounting))
    return f"<p>Hollow marks suppose, without proof, that {escape('; '.join(words))}.</p>" if words else ""


def _numbers(frontier: Frontier, bounds: tuple[str, ...]) -> str:
    """Every point in a table."""
    titles = ("method and σ", "accuracy", "loss", *(f"ε, {BOUNDS[b].title.lower()}" for b in bounds))
    rows = [
        [name_of(p), spread(p, "accuracy"), spread(p, "loss"), *(format_number(p.epsilon[b]) for b in bounds)]
        for p in frontier.points
    ]
    wide = table(titles, rows, "the points in numbers")
    said = "".join(f"<li><span><b>{escape(m.title)}</b> {escape(m.summary)}</span></li>" for m in METHODS.values())
    methods = f"<details><summary>The methods</summary><ul>{said}</ul></details>"
    return f"<details><summary>The points in numbers</summary>{wide}</details>{methods}"
