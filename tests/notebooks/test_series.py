"""Every notebook runs from top to bottom, offline, without a warning; its solutions run too; git
holds it without outputs.
"""

import asyncio
import re

import nbformat
import pytest
from jupyter_client import AsyncKernelManager
from nbclient import NotebookClient

from tests.effort import proof
from tests.notebooks.conftest import FOLDER, SERIES
from tests.running import LEAN

SOLUTION = re.compile(r"```python\n(.*?)```", re.DOTALL)
LINK = re.compile(r"\]\((?!https?:)([^)#]+)")
MOST_SECONDS = 120  # of processor time
# which otherwise looks through all that is imported, for a second
FORGET = "import gc; gc.freeze(); gc.disable()\n%reset -f"
SPENT = "import resource as r\nprint(sum(sum(r.getrusage(who)[:2]) for who in (r.RUSAGE_SELF, r.RUSAGE_CHILDREN)))"
WIDEST = 88  # what a narrow window and a printed page show of a line


def solutions(notebook):
    """The code in the hidden solutions, in order."""
    return [
        code
        for cell in notebook.cells
        if cell.cell_type == "markdown"
        for code in SOLUTION.findall(cell.source)
    ]


@pytest.fixture(scope="module")
def offline(tmp_path_factory):
    """Kernels find this package, keep what they write to themselves, and get nothing from the
    network.
    """
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("PANEL_INLINE", "1")
        environment.setenv("PYTHONPATH", LEAN)
        environment.setenv("IPYTHONDIR", str(tmp_path_factory.mktemp("ipython")))
        for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"):
            environment.setenv(name, "http://127.0.0.1:9")  # nobody listens there
        yield


@pytest.fixture(scope="module")
def kernel(offline):
    """One kernel for the series, begun by the first notebook: most of what a notebook takes is what
    it imports.
    """
    kernel = AsyncKernelManager()
    yield kernel
    asyncio.run(kernel.shutdown_kernel(now=True))


def executed(notebook, kernel=None):
    """Run a notebook, in its own kernel or in one whose names are forgotten first. Returns the
    processor time in seconds.
    """
    forget, time = (nbformat.v4.new_code_cell(code) for code in (f"{FORGET}\n{SPENT}", SPENT))
    notebook.cells = [forget, *notebook.cells, time]
    client = NotebookClient(
        notebook, km=kernel, timeout=600, resources={"metadata": {"path": str(FOLDER)}}
    )
    try:
        client.execute()
    finally:
        if kernel:
            client.kc.stop_channels()
    notebook.cells = notebook.cells[1:-1]
    before, after = (float(cell.outputs[0].text) for cell in (forget, time))
    return after - before


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
    hints, solved = (
        re.findall(rf"<summary>{what}</summary>\n\n(?!```)", text) for what in ("Hint", "Solution")
    )
    assert len(hints) == len(solved) == len(graded)


def test_its_code_is_not_wide(notebook):
    code = [cell.source for cell in notebook.cells if cell.cell_type == "code"] + solutions(
        notebook
    )
    assert [line for source in code for line in source.splitlines() if len(line) > WIDEST] == []


def test_its_links_lead_somewhere(notebook):
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            for target in LINK.findall(cell.source):
                assert (FOLDER / target).exists(), target


@pytest.mark.parametrize("alone", [False, proof(True)], ids=["in turn", "alone"])
def test_it_runs_and_so_do_its_solutions(notebook, offline, kernel, alone):
    count = len(notebook.cells)
    notebook.cells += [nbformat.v4.new_code_cell(code) for code in solutions(notebook)]
    assert executed(notebook, None if alone else kernel) < MOST_SECONDS
    for cell in notebook.cells:
        for output in cell.get("outputs", ()):
            assert output.output_type != "error"
            assert not (output.output_type == "stream" and output.name == "stderr"), output.text
    shown = [
        cell
        for cell in notebook.cells[:count]
        if any("text/html" in o.get("data", {}) for o in cell.get("outputs", ()))
    ]
    assert len(shown) >= 3, "a lesson shows something"
