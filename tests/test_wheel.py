"""What is published works: the wheel answers, serves and plots, and brings no more than is asked
for.
"""

import os
import re
import subprocess
import sys
import zipfile
from email import message_from_bytes
from pathlib import Path

import pytest

from hatch_build import elsewhere
from tests.running import page_of, running
from zoexplore import epsilon
from zoexplore.questions.export import to_yaml
from zoexplore.run.presets import DEMONSTRATION
from zoexplore.run.setting import Accounting

ROOT = Path(__file__).parents[1]
HEAVY = {"panel", "bokeh", "holoviews", "param", "torch", "pandas", "jupyterlab"}
PLOT = (
    "import holoviews as hv; from zoexplore import plots; from zoexplore.run.presets import DEMONSTRATION as run;"
    "hv.save(plots.curves(run, values=[1, 10]), 'curves.html')"
)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    done = subprocess.run(build, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (file,) = folder.glob("*.whl")
    return file


def run(python, *arguments, cwd, **environment):
    return subprocess.run(
        [str(python), *arguments],
        cwd=cwd,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        input=to_yaml(DEMONSTRATION, Accounting()),
    )


def serves(python, folder, **environment):
    """Whether the command serves the page."""
    log, command = folder / "serve.log", [str(python), "-m", "zoexplore", "serve", "--port", "0"]
    with running(command, log, cwd=folder, env=os.environ | environment) as server:
        return "<title>zoexplore" in page_of(server, log, 300)[1]


def test_the_wheel_has_the_package_with_its_sheets_and_scripts_and_nothing_else(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    kinds = {".py", ".yaml", ".css", ".js", ".html", ".json", ".txt", ".md", ".typed"}
    inside = {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "zoexplore").rglob("*")
        if path.suffix in kinds
    }
    inside |= {
        f"zoexplore/{path.relative_to(ROOT).as_posix()}"
        for path in (ROOT / "docs").rglob("*")
        if path.is_file()
    }
    assert {name for name in names if not name.split("/")[0].endswith(".dist-info")} == inside


def test_no_link_of_the_index_s_page_is_relative(wheel):
    archive = zipfile.ZipFile(wheel)
    (metadata,) = (
        archive.read(name) for name in archive.namelist() if name.endswith(".dist-info/METADATA")
    )
    shown = message_from_bytes(metadata).get_payload(decode=True).decode()
    targets = re.findall(r"\]\(([^)]+)\)", shown)
    assert "# zoexplore" in shown and "the accountant and its command" in shown
    assert targets and all(target.startswith("https://") for target in targets)


def test_links_lead_into_the_repository_that_is_named():
    text = "[proofs](docs/bounds.md#proof), ![page](docs/explorer.gif), [paper](https://arxiv.org)"
    there = "https://host/owner/name"
    assert elsewhere(text, there) == (
        f"[proofs]({there}/blob/HEAD/docs/bounds.md#proof), ![page]({there}/raw/HEAD/docs/explorer.gif), [paper](https://arxiv.org)"
    )
    assert elsewhere(text) == "proofs, , [paper](https://arxiv.org)"


@pytest.mark.proof  # its loops are compiled anew
def test_the_wheel_answers_and_serves(wheel, tmp_path):
    zipfile.ZipFile(wheel).extractall(tmp_path)
    done = run(
        sys.executable,
        "-m",
        "zoexplore",
        "epsilon",
        "-",
        "--bound",
        "sharp",
        cwd=tmp_path,
        PYTHONPATH=str(tmp_path),
    )
    assert float(done.stdout.split()[1]) == epsilon(DEMONSTRATION, "sharp"), done.stderr
    done = run(
        sys.executable,
        "-c",
        "import zoexplore; print(zoexplore.__file__)",
        cwd=tmp_path,
        PYTHONPATH=str(tmp_path),
    )
    assert done.stdout.startswith(str(tmp_path))
    assert serves(sys.executable, tmp_path, PYTHONPATH=str(tmp_path))


@pytest.mark.proof
def test_in_an_empty_environment_the_wheel_answers_serves_and_plots(wheel, tmp_path):
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "venv"], check=True)
    python = next(
        path
        for path in (tmp_path / "venv/bin/python", tmp_path / "venv/Scripts/python.exe")
        if path.exists()
    )
    install = ["-m", "pip", "install", "--quiet", "-c", str(ROOT / "constraints.txt")]
    alone = {"PYTHONPATH": ""}

    done = run(python, *install, str(wheel), cwd=tmp_path, **alone)
    assert done.returncode == 0, done.stderr
    listed = run(python, "-m", "pip", "list", "--format=freeze", cwd=tmp_path, **alone).stdout
    assert not HEAVY & {line.partition("==")[0].lower() for line in listed.splitlines()}
    done = run(python, "-m", "zoexplore", "epsilon", "-", "--bound", "sharp", cwd=tmp_path, **alone)
    assert float(done.stdout.split()[1]) == epsilon(DEMONSTRATION, "sharp"), done.stderr
    done = run(python, "-m", "zoexplore", "serve", cwd=tmp_path, **alone)
    assert done.returncode == 2 and "pip install 'zoexplore[app]'" in done.stderr

    # no index has it: what is installed gains its extra
    done = run(python, *install, "zoexplore[app]", cwd=tmp_path, **alone)
    assert done.returncode == 0, done.stderr
    assert serves(python, tmp_path, **alone)
    done = run(python, "-c", PLOT, cwd=tmp_path, **alone)
    assert done.returncode == 0, done.stderr
    assert "Sharper bound" in (tmp_path / "curves.html").read_text(encoding="utf-8")
