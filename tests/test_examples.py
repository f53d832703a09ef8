"""The Python of the pages runs as it stands, and their lesson links show what they name.

Not here: docs/mechanism.md (tests/mechanism/test_guide.py), docs/finetuning.md (tests/hf), and the files of docs/extending.md.
"""

import re
from pathlib import Path
from urllib.parse import parse_qsl

import pytest

from tests.effort import proof
from zoexplore.questions.export import from_fields
from zoexplore.run.axes import AXES
from zoexplore.run.setting import Accounting
from zoexplore.views.address import Lesson
from zoexplore.views.explorer import Explorer
from zoexplore.views.tabs import VIEWS

ROOT = Path(__file__).parents[1]
ELSEWHERE = {"mechanism.md", "finetuning.md", "extending.md"}
LONG = ["training.md"]  # it trains for minutes
BLOCK = re.compile(r"```python\n(.*?)```", re.DOTALL)
PAGES = [page for page in (ROOT / "README.md", *sorted(ROOT.glob("docs/*.md"))) if BLOCK.search(page.read_text(encoding="utf-8"))]
LINK = re.compile(r"/app(\?[^`\n]*show=[^`\"\n]+)")
LESSONS = {page: LINK.findall((ROOT / "docs" / page).read_text(encoding="utf-8")) for page in ("teaching.md", "sharing.md")}
LINKS = LESSONS["teaching.md"]


@pytest.mark.parametrize(
    "page", [(proof if p.name in LONG else pytest.param)(p, id=p.name) for p in PAGES if p.name not in ELSEWHERE]
)
def test_its_code_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names: dict = {}
    for block in BLOCK.findall(page.read_text(encoding="utf-8")):
        exec(block, names)


@pytest.mark.parametrize("concept", ["T", "K", "beta", "sigma", "attack", "lipschitz"])
def test_there_is_a_lesson_for_every_concept(concept):
    assert any(concept in Lesson.of(link, VIEWS).show for link in LINKS)


@pytest.mark.parametrize("link", [link for links in LESSONS.values() for link in links])
def test_a_lesson_means_what_it_names(link):
    """On the run that the page begins with: a link that changes a field without `sensitivity=` is an older one."""
    lesson, given = Lesson.of(link, VIEWS), dict(parse_qsl(link[1:]))
    assert lesson.show and lesson.problems == ()
    assert given.get("against", "T") in AXES
    rest = {name: value for name, value in given.items() if name not in (*Lesson.NAMES, "against")}
    asked = from_fields(rest)
    opened = Explorer(search=link).state
    assert asked.problems == () and (opened.setting, opened.accounting) == (asked.setting, asked.accounting)
    assert opened.accounting == Accounting() and not opened.note
