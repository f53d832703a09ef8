"""The Python of the pages runs as it stands, and their lesson links show what they name.

Not here: docs/mechanism.md (tests/mechanism/test_guide.py), and the files of docs/extending.md.
"""

import re
from pathlib import Path
from urllib.parse import parse_qsl, urlencode

import pytest

from tests.effort import proof
from zoexplore.axes import AXES
from zoexplore.export import from_query
from zoexplore.views.address import Lesson
from zoexplore.views.tabs import VIEWS

ROOT = Path(__file__).parents[1]
ELSEWHERE = {"mechanism.md", "extending.md"}
LONG = ["training.md"]  # it trains for minutes
BLOCK = re.compile(r"```python\n(.*?)```", re.DOTALL)
PAGES = [page for page in (ROOT / "README.md", *sorted(ROOT.glob("docs/*.md"))) if BLOCK.search(page.read_text(encoding="utf-8"))]
LINKS = re.findall(r"`/app(\?[^`]*show=[^`]+)`", (ROOT / "docs" / "teaching.md").read_text(encoding="utf-8"))


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


@pytest.mark.parametrize("link", LINKS)
def test_a_lesson_means_what_it_names(link):
    lesson, given = Lesson.of(link, VIEWS), dict(parse_qsl(link[1:]))
    assert lesson.show and lesson.problems == ()
    assert given.get("against", "T") in AXES
    rest = {name: value for name, value in given.items() if name not in (*Lesson.NAMES, "against")}
    assert from_query(urlencode(rest)).problems == ()
