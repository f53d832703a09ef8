"""What is exported is what is shown, and what is loaded is checked."""

import asyncio

from zoexplore import Accounting
from zoexplore.questions.export import from_yaml, to_csv, to_python, to_yaml
from zoexplore.run.presets import DEMONSTRATION
from zoexplore.views.figures.curves import Curves
from zoexplore.views.panels.toolbar import Files
from zoexplore.views.state import State


def test_downloads_are_the_exports():
    files = Files(Curves(State(DEMONSTRATION.replace(T=9), Accounting("cks"))))
    made = {download.filename: asyncio.run(download.callback()).read() for download in files.downloads}
    values = files.curves.source.data["value"]
    assert made["zoexplore.csv"] == to_csv(DEMONSTRATION.replace(T=9), Accounting("cks"), "T", values)
    assert made["zoexplore.yaml"] == to_yaml(DEMONSTRATION.replace(T=9), Accounting("cks"))


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
