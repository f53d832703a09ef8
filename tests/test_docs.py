"""The pages lead somewhere: links end at what is there, every page is reached from the first,
public names say what they are.
"""

import inspect
import re
from html import unescape
from pathlib import Path

import pytest
import yaml

from tools import pages
from zoexplore import __version__
from zoexplore.compute import limits

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


def test_the_limits_that_are_listed_are_those_that_hold():
    listed = re.findall(
        r"^\| .* \| ([\d,]+) \S+ \| `(ZOEXPLORE_.*)` \|$",
        (ROOT / "docs" / "deploy.md").read_text(),
        re.M,
    )
    holding = [limit for limit in vars(limits).values() if isinstance(limit, limits.Limit)]
    assert listed == [(f"{limit.default:,}", limit.variable) for limit in holding]


@pytest.mark.parametrize("page", PAGES, ids=names)
def test_a_displayed_formula_stands_between_blank_lines(page):
    """The site takes others for formulas within a line, and shows two of their dollars."""
    text = re.sub(r"```.*?```", "", page.read_text(), flags=re.S)
    blocks = [
        re.sub(r"^> ?", "", block, flags=re.M).strip() for block in re.split(r"\n(?:>? *\n)+", text)
    ]
    shown = [block for block in blocks if "$$" in block]
    assert not [
        block
        for block in shown
        if not re.fullmatch(r"\$\$.*?\$\$", block, re.S) or block.count("$$") != 2
    ]


@pytest.mark.parametrize("module", pages.MODULES)
def test_every_public_name_says_what_it_is(module):
    for name, thing in pages.public(module):
        assert len(inspect.getdoc(thing) or "") > 10, f"{module}.{name}"


@pytest.mark.parametrize("page", PAGES, ids=names)
def test_no_page_installs_what_is_on_no_index(page):
    """The project is installed from its clone; what an index has under its name may be anybody's."""
    text = page.read_text().partition("\n## Releasing\n")[0]  # where it is on one
    assert not re.search(r"pip install [^`\n]*(?<![\w/])zoexplore", text)


def test_the_citation_is_one():
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert {"cff-version", "message", "title", "authors", "version", "license"} <= cited.keys()
    heading = f"## {__version__}, {cited['date-released'].day} {cited['date-released']:%B %Y}"
    assert cited["version"] == __version__
    assert re.findall(r"^## .*$", (ROOT / "CHANGELOG.md").read_text(), re.M)[0] == heading
