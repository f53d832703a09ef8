"""What is exported is what is shown, and what is loaded is checked."""

import pytest

from zoexplore import Accounting
from zoexplore.questions.export import from_yaml, to_python, to_yaml
from zoexplore.run.presets import DEMONSTRATION
from zoexplore.run.reading import LARGEST_FILE
from zoexplore.views import Attack, Curves, Explorer, Forget, Inside, Publish
from zoexplore.views.panels.toolbar import Files
from zoexplore.views.state import State


def test_the_run_is_a_file_and_a_figures_code_draws_it():
    run = DEMONSTRATION.replace(T=9), Accounting("cks")
    assert Files(State(*run)).yaml.callback().read() == to_yaml(*run)
    view = Curves(State(*run))
    view.along = "sigma"
    view.chart.wants += 1
    assert view.chart.code.startswith(to_python(*run)) and view.chart.offers
    assert 'plots.curves(setting, "sigma", accounting=accounting)' in view.chart.code


@pytest.mark.parametrize("kind", [Attack, Curves, Forget, Inside, Publish])
def test_the_code_of_every_figure_runs(kind):
    view = kind(State(DEMONSTRATION.replace(T=9)))
    for chart in view.charts if kind is Inside else [view.chart]:
        chart.wants += 1
        exec(chart.code, {})


def paste(explorer, text):
    explorer.files.pasted.value_input = text
    explorer.files.take()
    return explorer.state


def test_yaml_is_pasted_and_its_errors_are_reported():
    explorer = Explorer(search="")
    state = paste(explorer, to_yaml(DEMONSTRATION.replace(K=9), Accounting(printed=True)))
    assert (state.setting, state.accounting, state.note) == (
        DEMONSTRATION.replace(K=9),
        Accounting(printed=True),
        "Opened.",
    )
    assert explorer.bridge.search == "?K=9&printed=1"
    explorer.files.toggle.value = True
    assert paste(explorer, "K: 0\nT: 7\n").setting == from_yaml("T: 7").setting
    assert "K = 0 is not allowed" in state.note and not explorer.files.drawer.visible


@pytest.mark.parametrize(
    "text", ["a: [", "x" * (LARGEST_FILE + 1), "- 1", "", "K: many", "no such field: 3\nT: -1"]
)
def test_what_is_no_setting_changes_nothing(text):
    state = paste(Explorer(search="?T=7"), text)
    assert state.setting == DEMONSTRATION.replace(T=7)
    assert state.note.startswith("Nothing was changed: ")


def test_the_code_follows_while_the_drawer_is_open():
    files = Files(State())
    assert files.code.object == "" and not files.drawer.visible
    files.toggle.value = True
    assert files.drawer.visible
    files.state.ask(T=7)
    assert files.copy.tags[0].startswith(to_python(DEMONSTRATION.replace(T=7), Accounting()))
    assert "T=7" in files.code.object and not files.copy.disabled


def test_code_of_an_earlier_run_cannot_be_copied():
    files = Files(State())
    assert files.copy.disabled
    files.toggle.value = True
    assert not files.copy.disabled
    files.toggle.value = False
    files.state.ask(T=7)
    assert "T=7" not in files.code.object, "nothing is written for a drawer that is shut"
    files.toggle.value = True
    assert not files.copy.disabled and "T=7" in files.copy.tags[0]
    files.state.slide(T=8)
    assert files.copy.disabled, "nor while a slider moves"
