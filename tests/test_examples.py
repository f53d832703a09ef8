"""The Python and the commands of the pages run as they stand, and their links for teaching show
what they name.

Not here: docs/mechanism.md (tests/mechanism/test_guide.py), docs/finetuning.md (tests/hf), and the
files of docs/extending.md.
"""

import os
import re
import shlex
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import parse_qsl

import pytest

from tests.effort import proof
from zoexplore.__main__ import _parser as command_line
from zoexplore.questions.export import from_fields
from zoexplore.run.axes import AXES
from zoexplore.run.setting import Accounting
from zoexplore.views.address import Teaching
from zoexplore.views.explorer import Explorer
from zoexplore.views.tabs import VIEWS

ROOT = Path(__file__).parents[1]
ELSEWHERE = {"mechanism.md", "finetuning.md", "extending.md"}
LONG = ["training.md"]  # it trains for minutes
BLOCK = re.compile(r"```python\n(.*?)```", re.DOTALL)
PAGES = [
    page
    for page in (ROOT / "README.md", *sorted(ROOT.glob("docs/*.md")))
    if BLOCK.search(page.read_text(encoding="utf-8"))
]
TEXTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(ROOT.glob("docs/*.md"))]
FENCED = re.compile(r"^ *```(\w*)\n(.*?)^ *```$", re.DOTALL | re.MULTILINE)
COMMAND = re.compile(r"^(make|zoexplore|python|podman|for) ", re.MULTILINE)
CALL = re.compile(
    r"(?:^ *|[|;] *|do )(?:python -m )?zoexplore (?=serve|epsilon|curve|calibrate|plan|statement)([^|;>#&\n]*)",
    re.MULTILINE,
)
LINK = re.compile(r"/app(\?[^`\n]*show=[^`\"\n]+)")
TAUGHT = {
    page: LINK.findall((ROOT / "docs" / page).read_text(encoding="utf-8"))
    for page in ("teaching.md", "sharing.md")
}
LINKS = TAUGHT["teaching.md"]


@pytest.mark.parametrize(
    "page",
    [
        (proof if p.name in LONG else pytest.param)(p, id=p.name)
        for p in PAGES
        if p.name not in ELSEWHERE
    ],
)
def test_its_code_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names: dict = {}
    for block in BLOCK.findall(page.read_text(encoding="utf-8")):
        exec(block, names)


@pytest.mark.parametrize("concept", ["T", "K", "beta", "sigma", "attack", "lipschitz"])
def test_there_is_a_link_for_every_concept(concept):
    assert any(concept in Teaching.of(link, VIEWS).show for link in LINKS)


@pytest.mark.parametrize("link", [link for links in TAUGHT.values() for link in links])
def test_a_link_for_teaching_means_what_it_names(link):
    teaching, given = Teaching.of(link, VIEWS), dict(parse_qsl(link[1:]))
    assert teaching.show and teaching.problems == ()
    assert given.get("against", "T") in AXES
    rest = {
        name: value for name, value in given.items() if name not in (*Teaching.NAMES, "against")
    }
    asked = from_fields(rest)
    opened = Explorer(search=link).state
    assert asked.problems == () and (opened.setting, opened.accounting) == (
        asked.setting,
        asked.accounting,
    )
    assert opened.accounting == Accounting() and not opened.note


def shell_blocks(page):
    """The page's commands: blocks without a language."""
    blocks = FENCED.findall(page.read_text(encoding="utf-8"))
    return [code for language, code in blocks if not language and COMMAND.search(code)]


@pytest.mark.parametrize(
    "page", [page for page in TEXTS if shell_blocks(page)], ids=lambda page: page.name
)
def test_its_commands_can_be_pasted(page):
    """They are valid bash, and their targets of make, modules and arguments exist."""
    block = "\n".join(shell_blocks(page)).replace("...", "")
    assert subprocess.run(["bash", "-n"], input=block, text=True).returncode == 0
    targets = re.findall(r"^([a-z ]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M)
    assert set(re.findall(r"^make ([a-z]+)", block, re.M)) <= set(" ".join(targets).split())
    assert all(find_spec(module) for module in re.findall(r"python -m ([a-z.]+)", block))
    for arguments in CALL.findall(re.sub(r"\$\w+", "1", block)):
        command_line().parse_args(shlex.split(arguments))  # SystemExit for an unknown one


@pytest.mark.parametrize("name", ["README.md", proof("docs/command.md", id="command.md")])
def test_its_commands_answer(name, tmp_path):
    """In a shell that ends at the first failure, on the run of the page about the command."""
    (run,) = re.findall(
        r"```yaml\n(.*?)```", (ROOT / "docs" / "command.md").read_text(encoding="utf-8"), re.DOTALL
    )
    (tmp_path / "run.yaml").write_text(run, encoding="utf-8")
    (block,) = (block for block in shell_blocks(ROOT / name) if "zoexplore epsilon" in block)
    script = f'zoexplore() {{ "{sys.executable}" -m zoexplore "$@"; }}\npython() {{ "{sys.executable}" "$@"; }}\n{block}'
    here = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        ["bash", "-eo", "pipefail", "-c", script],
        cwd=tmp_path,
        env=here,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert "differentially private" in done.stdout
