"""What is exported is what is shown, and what is loaded is checked."""

import asyncio

import pytest

from zoexplore import Accounting
from zoexplore.questions.export import LARGEST_FILE, from_yaml, to_csv, to_python, to_yaml
from zoexplore.run.presets import BEFORE, DEMONSTRATION
from zoexplore.views.figures.curves import Curves
from zoexplore.views.panels.toolbar import Files
from zoexplore.views.state import State


def paste(files, text):
    files.pasted.value = text
    files.take.clicks += 1


def test_downloads_are_the_exports():
    files = Files(Curves(State(DEMONSTRATION.replace(T=9), Accounting("cks"))))
    made = {download.filename: asyncio.run(download.callback()).read() for download in files.downloads}
    values = files.curves.source.data["value"]
    assert made["zoexplore.csv"] == to_csv(DEMONSTRATION.replace(T=9), Accounting("cks"), "T", values)
    assert made["zoexplore.yaml"] == to_yaml(DEMONSTRATION.replace(T=9), Accounting("cks"))


def test_a_setting_is_pasted_and_its_errors_are_said():
    files = Files(Curves())
    paste(files, to_yaml(DEMONSTRATION.replace(K=9), Accounting(printed=True)))
    assert (files.state.setting, files.state.accounting) == (DEMONSTRATION.replace(K=9), Accounting(printed=True))
    assert files.state.note == "Took over what was pasted."
    paste(files, "K: 0\nT: 7\n")
    assert files.state.setting == from_yaml("T: 7").setting and files.state.setting.T == 7
    assert "K = 0 is not allowed" in files.state.note


@pytest.mark.parametrize("content", ["a: [", "\xff\xfe\x00", "x" * (LARGEST_FILE + 1), "- 1", "", "http://x/app?nonsense=1"])
def test_a_file_that_is_no_setting_changes_nothing(content):
    files = Files(Curves(State(DEMONSTRATION.replace(T=7))))
    paste(files, content)
    assert files.state.setting == DEMONSTRATION.replace(T=7)
    assert "Nothing that was pasted can be used" in files.state.note


def test_the_code_follows_while_the_drawer_is_open():
    files = Files(Curves())
    assert files.code.object == "" and not files.drawer.visible
    files.toggle.value = True
    assert files.drawer.visible
    files.state.ask(T=7)
    assert files.copy.tags[0].startswith(to_python(DEMONSTRATION.replace(T=7), Accounting()))
    assert 'plots.save(plots.curves(setting, "T", accounting=accounting), "curves.svg")' in files.copy.tags[0]
    assert "T=7" in files.code.object and not files.copy.disabled
    assert from_yaml(asyncio.run(files.yaml())).setting == DEMONSTRATION.replace(T=7)


def test_code_of_an_earlier_run_cannot_be_copied():
    files = Files(Curves())
    assert files.copy.disabled
    files.toggle.value = True
    assert not files.copy.disabled
    files.toggle.value = False
    files.state.ask(T=7)
    assert files.copy.disabled, "nothing is written for a drawer that is shut"
    files.toggle.value = True
    assert not files.copy.disabled and "T=7" in files.copy.tags[0]
    files.state.slide(T=8)
    assert files.copy.disabled, "nor while a slider moves"


@pytest.mark.parametrize("content", ["K: many\n", "no such field: 3\nT: -1\n"])
def test_a_file_of_which_nothing_can_be_used_changes_nothing_and_says_so(content):
    files = Files(Curves(State(DEMONSTRATION.replace(T=7))))
    paste(files, content)
    assert files.state.setting == DEMONSTRATION.replace(T=7)
    assert "Nothing was changed" in files.state.note


@pytest.mark.parametrize(
    "link", ["http://127.0.0.1:5006/app?T=9&K=52", "?T=9&K=52", "https://example.org/zoexplore/app?K=52&T=9"]
)
def test_a_link_is_pasted(link):
    files = Files(Curves())
    paste(files, f"{link}&sensitivity=least")
    assert files.state.setting == DEMONSTRATION.replace(T=9, K=52)
    paste(files, link)  # which does not say how a record is counted, as links did not before
    assert files.state.setting == BEFORE.replace(T=9, K=52) and files.state.accounting.sensitivity == "clip"
