"""Every notebook runs from top to bottom, offline, without a warning; its solutions run too; git holds it without outputs."""

import re
import resource

import nbformat
import pytest
from nbclient import NotebookClient

from tests.notebooks.conftest import FOLDER, ROOT, SERIES

SOLUTION = re.compile(r"```python\n(.*?)```", re.DOTALL)
LINK = re.compile(r"\]\((?!https?:)([^)#]+)")
MOST_SECONDS = 120  # of processor time
WIDEST = 88  # what a narrow window and a printed page show of a line


def solutions(notebook):
    """The code in the hidden solutions, in order."""
    return [code for cell in notebook.cells if cell.cell_type == "markdown" for code in SOLUTION.findall(cell.source)]


@pytest.fixture
def offline(monkeypatch, tmp_path):
    """A kernel that finds this package, keeps what it writes to itself, and gets nothing from the network."""
    monkeypatch.setenv("PANEL_INLINE", "1")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")  # nobody listens there


def test_the_series_is_numbered_without_a_gap():
    assert [int(path.name.partition("-")[0]) for path in SERIES] == list(range(len(SERIES)))


def test_git_holds_no_outputs(notebook):
    for cell in notebook.cells:
        if cell.cell_type == "code":
            assert cell.outputs == [] and cell.execution_count is None, cell.source
    assert set(notebook.metadata) == {"kernelspec", "language_info"}


def test_it_says_what_one_learns_and_needs(notebook):
    first = notebook.cells[0].source
    for heading in ("**You will**", "**You need**", "**Time**"):
        assert heading in first
    assert solutions(notebook)


def test_its_exercises_are_graded_and_have_hints_and_prose(notebook):
    text = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    graded = re.findall(r"^\*\*(\d)\. (Check|Think|Prove)\.\*\*", text, re.M)
    assert [int(number) for number, _ in graded] == list(range(1, len(graded) + 1))
    assert {grade for _, grade in graded} == {"Check", "Think", "Prove"}
    hints, told = (re.findall(rf"<summary>{what}</summary>\n\n(?!```)", text) for what in ("Hint", "Solution"))
    assert len(hints) == len(told) == len(graded)


def test_its_code_is_not_wide(notebook):
    code = [cell.source for cell in notebook.cells if cell.cell_type == "code"] + solutions(notebook)
    assert [line for source in code for line in source.splitlines() if len(line) > WIDEST] == []


def test_its_links_lead_somewhere(notebook):
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            for target in LINK.findall(cell.source):
                assert (FOLDER / target).exists(), target


def test_it_runs_and_so_do_its_solutions(notebook, offline):
    count = len(notebook.cells)
    notebook.cells += [nbformat.v4.new_code_cell(code) for code in solutions(notebook)]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    NotebookClient(notebook, timeout=600, resources={"metadata": {"path": str(FOLDER)}}).execute()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < MOST_SECONDS
    for cell in notebook.cells:
        for output in cell.get("outputs", ()):
            assert output.output_type != "error"
            assert not (output.output_type == "stream" and output.name == "stderr"), output.text
    shown = [cell for cell in notebook.cells[:count] if any("text/html" in o.get("data", {}) for o in cell.get("outputs", ()))]
    assert len(shown) >= 3, "a lesson shows something"
