"""docs/extending.md, followed to the letter: its bound and its view pass what every bound and every
view is asked.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.effort import proof

ROOT = Path(__file__).parents[1]
BLOCKS = re.findall(
    r"`(zoexplore/\S+\.py)`[^`]*\n\n```python\n(.*?)```",
    (ROOT / "docs" / "extending.md").read_text(),
    re.S,
)
# Files with tests of every bound and every view, and which of theirs are quick.
CONTRACTS = {
    "tests/bounds/test_assumptions.py": "basic or registry or everything",
    "tests/bounds/test_guarantee.py": "basic",
    "tests/bounds/test_risk.py": "basic",
    "tests/test_setting.py": "nobody_described",
    "tests/views/test_center.py": "basic or cost or every_view or formulas",
    "tests/properties/test_truth.py": "no_adversary",
}
EVERYTHING = ("bounds", "properties", "views", "training", "test_documents.py", "test_setting.py")


@pytest.fixture(scope="module")
def extended(tmp_path_factory):
    """A copy of the project with the page's bound and view in it; compiled loops are shared with
    the original.
    """
    root = tmp_path_factory.mktemp("extended")
    for folder in ("zoexplore", "tests", "benchmarks", "tools"):
        shutil.copytree(
            ROOT / folder, root / folder, ignore=shutil.ignore_patterns("__pycache__", "kernels")
        )
    for linked in (
        "zoexplore/bounds/kernels",
        "docs",
        "notebooks",
        "pyproject.toml",
        "README.md",
        "CITATION.cff",
    ):
        (root / linked).symlink_to(ROOT / linked)
    for path, code in BLOCKS:
        (root / path).write_text(code)
    edit(
        root / "zoexplore/bounds/registry.py",
        r"\Z",
        "\nfrom zoexplore.bounds.basic import BASIC\nBOUNDS[BASIC.id] = BASIC\n",
    )
    words = "\n" + r'WORDS["basic"] = Words(r"\varepsilon = T\,\varepsilon_1(\delta/T)")' + "\n"
    edit(root / "zoexplore/bounds/words/__init__.py", r"\Z", words)
    tabs = root / "zoexplore/views/tabs.py"
    edit(tabs, r"(?=\nTABS\b)", "from zoexplore.views.panels.cost import Cost\n")
    edit(tabs, r'(?<="Plan": \{)', '"cost": ("Cost", Cost), ')
    edit(
        root / "zoexplore/views/__init__.py", r"(?<=_HOMES = \{\n)", '    "Cost": "panels.cost",\n'
    )
    return root


def edit(path, where, text):
    """Insert a text at the first place that a pattern finds."""
    before = path.read_text()
    after = re.sub(where, text.replace("\\", r"\\"), before, count=1)
    assert after != before, f"{path} is not as docs/extending.md has it"
    path.write_text(after)


def run(root, *command):
    environment = os.environ | {"PYTHONPATH": str(root)}
    return subprocess.run(
        [sys.executable, *command],
        cwd=root,
        env=environment,
        capture_output=True,
        text=True,
        timeout=1500,
    )


def test_the_page_has_a_bound_and_a_view():
    assert [path for path, _ in BLOCKS] == [
        "zoexplore/bounds/basic.py",
        "zoexplore/views/panels/cost.py",
    ]


def test_both_do_what_they_say(extended):
    done = run(
        extended,
        "-c",
        "from zoexplore import *; from zoexplore.run.presets import DEMONSTRATION; from zoexplore.views import Cost\n"
        "one = DEMONSTRATION.replace(T=1, lipschitz=float('inf'))\n"
        "assert epsilon(one, 'basic') == epsilon(one, 'composition')\n"
        "assert epsilon(one.replace(T=200), 'basic') > epsilon(one.replace(T=200), 'composition')\n"
        "view = Cost(); before = view.words.object; view.state.ask(K=9)\n"
        "assert before != view.words.object and '7.2e+07 forward passes' in view.words.object\n",
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.proof
def test_both_pass_what_all_are_asked(extended):
    files, which = list(CONTRACTS), " or ".join(CONTRACTS.values())
    done = run(
        extended,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "-m",
        "not proof",
        "-k",
        which,
        *files,
    )
    counted = re.search(r"(\d+) passed", done.stdout)
    assert done.returncode == 0 and counted and int(counted[1]) > 40, done.stdout[-3000:]


@pytest.mark.parametrize("folder", [proof(folder, id=folder) for folder in EVERYTHING])
def test_nothing_else_fails_for_whoever_follows_the_page(extended, folder):
    done = run(
        extended,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "-m",
        "not proof",
        f"tests/{folder}",
    )
    assert done.returncode == 0, done.stdout[-3000:]
