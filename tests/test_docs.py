"""The pages lead somewhere: links end at what is there, every page is reached from the first, every public name is told."""

import re
import subprocess
import sys
from html import unescape
from pathlib import Path

import pytest
import yaml

from tools import api

ROOT = Path(__file__).parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")])
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")


def names(path):
    return str(path.relative_to(ROOT))


def anchors(page):
    """What GitHub makes of a page's headings."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(), re.M)
    return {re.sub(r"[^\w\- ]", "", unescape(h).lower()).replace(" ", "-") for h in headings}


def links(page):
    """The page's links within the project: file, anchor."""
    text = re.sub(r"```.*?```", "", page.read_text(), flags=re.S)
    for target in LINK.findall(text):
        if "://" not in target and not target.startswith("mailto:"):
            path, _, anchor = target.partition("#")
            yield (page.parent / path).resolve() if path else page, anchor


@pytest.mark.parametrize("page", PAGES, ids=names)
def test_links_end_at_what_is_there(page):
    for target, anchor in links(page):
        assert target.exists(), f"{target} is not there"
        assert not anchor or anchor in anchors(target), f"{names(target)} has no #{anchor}"


def test_every_page_is_reached_from_the_first():
    reached, todo = set(), [ROOT / "docs" / "README.md"]
    while todo:
        page = todo.pop()
        if page not in reached:
            reached.add(page)
            todo += [target for target, _ in links(page) if target.suffix == ".md"]
    assert set(ROOT.glob("docs/*.md")) <= reached


def test_the_public_names_are_told():
    """`python -m tools.api` writes the page; a name that is new or gone is missed here."""
    told = set(re.findall(r"^### `(\w+)", api.PAGE.read_text(), re.M))
    assert told == set(re.findall(r"^### `(\w+)", api.page(), re.M))


def test_every_public_name_says_what_it_is():
    for heading, below in re.findall(r"^### `(\w+)[^\n]*\n\n([^\n]*)", api.page(), re.M):
        assert len(below) > 10, heading


@pytest.mark.parametrize("block", re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "extending.md").read_text(), re.S))
def test_the_examples_of_extending_run(block):
    """Bound and view of the page, as they stand, beside what there is."""
    check = {
        "BASIC": "from zoexplore.bounds.runs import Runs\nfrom zoexplore import *\n"
        "one, many = Setting(T=1), Setting(T=200)\n"
        "assert BASIC.solve(Runs.of(one), Accounting()).epsilon == epsilon(one, 'composition')\n"
        "assert BASIC.solve(Runs.of(many), Accounting()).epsilon >= epsilon(many, 'composition')\n",
        "Cost": "view = Cost()\nbefore = view.words.object\nview.state.ask(K=9)\n"
        "assert before != view.words.object == '<p>7.2e+07 forward passes.</p>'\n",
    }
    (code,) = (code for name, code in check.items() if name in block)
    done = subprocess.run([sys.executable, "-c", block + code], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_the_citation_is_one():
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert {"cff-version", "message", "title", "authors", "version", "license"} <= cited.keys()
    version = re.search(r'^version = "(.*)"', (ROOT / "pyproject.toml").read_text(), re.M)[1]
    assert cited["version"] == version and f"## {version}" in (ROOT / "CHANGELOG.md").read_text()
