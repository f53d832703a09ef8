"""What is exported is what is shown."""

import pytest

from zoexplore import Accounting
from zoexplore.questions.export import to_python, to_yaml
from zoexplore.run.presets import DEMONSTRATION
from zoexplore.views import Attack, Curves, Forget, Inside, Publish
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
