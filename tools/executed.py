"""Runs each notebook once, solutions included, for handouts, answers, slides and the site.

Outputs are kept in build/executed under a hash of the notebook and the package. If either changes,
the notebook is run again.
"""

import os
import re
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient
from nbformat import NotebookNode

from zoexplore.run.atomic_write import write

ROOT = Path(__file__).parents[1]
NOTEBOOKS, KEPT = ROOT / "notebooks", ROOT / "build" / "executed"
HIDDEN = re.compile(r"<details><summary>(Solution|Answer)</summary>\n(.*?)\n</details>", re.DOTALL)
HINT = re.compile(r"<details><summary>Hint</summary>\n(.*?)\n</details>", re.DOTALL)
CODE = re.compile(r"```python\n(.*?)```", re.DOTALL)
# the code that is run before a notebook's own cells
PREPARED = "from tools.prepared import prepare\nprepare()\ndel prepare"


def paths(numbers: list[int] | None = None) -> list[Path]:
    """Return the notebooks with these numbers, in order; by default, all of them."""
    found = {int(path.name.partition("-")[0]): path for path in NOTEBOOKS.glob("*.ipynb")}
    return [found[number] for number in sorted(found) if number in (numbers or found)]


def executed(path: Path) -> Any:
    """Return a notebook with its outputs, followed by its questions and their answers, also with
    outputs.

    Raises:
        nbclient.exceptions.CellExecutionError: a cell of the notebook fails.
    """
    kept = KEPT / f"{path.stem}-{_key(path)}.ipynb"
    if not kept.exists():
        print(f"running {path.name}", flush=True)
        notebook = with_answers(nbformat.read(path, as_version=4))
        notebook.cells.insert(0, nbformat.v4.new_code_cell(PREPARED))
        # one thread each, since many threads would wait for one another
        os.environ.update(PANEL_INLINE="1", PYTHONPATH=str(ROOT), OPENBLAS_NUM_THREADS="1")
        NotebookClient(
            notebook, timeout=600, resources={"metadata": {"path": str(NOTEBOOKS)}}
        ).execute()
        _uncount(notebook)
        KEPT.mkdir(parents=True, exist_ok=True)
        for older in KEPT.glob(f"{path.stem}-*.ipynb"):
            older.unlink()
        write(kept, nbformat.writes(notebook).encode())
    return nbformat.read(kept, as_version=4)


def _uncount(notebook: NotebookNode) -> None:
    """Drop the first cell, and number the other cells as if it had never been run."""
    del notebook.cells[0]
    for cell in notebook.cells:
        for counted in (cell, *cell.get("outputs", ())):
            if counted.get("execution_count"):
                counted.execution_count -= 1


def _key(path: Path) -> str:
    """Return a hash of everything in this project that the outputs depend on."""
    code = sorted(
        file for file in (ROOT / "zoexplore").rglob("*") if file.suffix in {".py", ".css", ".js"}
    )
    digest = sha256()
    for file in (path, Path(__file__).with_name("prepared.py"), *code):
        digest.update(file.read_bytes())
    return digest.hexdigest()[:16]


def with_answers(notebook: NotebookNode) -> NotebookNode:
    """Append a notebook's questions and answers to it, with the code of the answers in cells. All
    cells that are added have the tag `answer`.
    """
    for asked in list(_asked(notebook)):
        text = HINT.sub("", asked)
        for i, part in enumerate(CODE.split(HIDDEN.sub(r"**\1.** \2", text))):
            made: Any = nbformat.v4.new_code_cell if i % 2 else nbformat.v4.new_markdown_cell
            notebook.cells.append(made(part.strip(), metadata={"tags": ["answer"]}))
    return notebook


def _asked(notebook: NotebookNode) -> Iterator[str]:
    """Yield the sections that have answers. If a text begins with an answer, its question is at the
    end of the text before.
    """
    before = ""
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            if HIDDEN.search(cell.source):
                question = (
                    before.rpartition("\n\n")[2] if cell.source.startswith("<details>") else ""
                )
                parts = [
                    part for part in re.split(r"\n(?=## )", cell.source) if HIDDEN.search(part)
                ]
                yield "\n\n".join(filter(None, (question, *parts)))
            # a section with answers is shown whole, with all its questions
            before = "" if HIDDEN.search(cell.source) else cell.source


def is_answer(cell: NotebookNode) -> bool:
    return "answer" in cell.metadata.get("tags", ())


def only_answers(notebook: NotebookNode) -> NotebookNode:
    """Return the questions and answers of an executed notebook, under its title."""
    title = notebook.cells[0].source.partition("\n")[0]
    notebook.cells = [
        nbformat.v4.new_markdown_cell(f"{title}: answers"),
        *filter(is_answer, notebook.cells),
    ]
    return notebook


def as_written(notebook: NotebookNode) -> NotebookNode:
    """Return an executed notebook without the cells of the answers, as it was written."""
    notebook.cells = [cell for cell in notebook.cells if not is_answer(cell)]
    return notebook
