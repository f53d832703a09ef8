"""Other measures than epsilon, and the statement to copy, are the accountant's, of the smallest guarantee."""

import json
import re

from zoexplore import guarantee
from zoexplore.formatting import format_number
from zoexplore.presets import DEMONSTRATION
from zoexplore.statement import statement
from zoexplore.views import State
from zoexplore.views.panels.readouts import Readouts, StatementCard, measures_of


def test_mu_rho_and_z_are_the_smallest_guarantees():
    shown, g = Readouts(State(DEMONSTRATION.replace(T=100))).measures.object, guarantee(DEMONSTRATION.replace(T=100), "sharp")
    numbers = re.findall(r"<td>(.*?)</td>", shown)
    assert numbers[:3] == [format_number(x) for x in (*g.gaussian_dp[:1], g.rho, g.delta_f)]
    assert float(numbers[3]) == float(f"{g.setting.noise_multiplier:.4g}")
    assert "sharper bound" in shown


def test_where_there_is_no_gaussian_budget_none_is_shown():
    g = guarantee(DEMONSTRATION.replace(batch=1, T=1, sampling="poisson", neighbours="add-remove"), "composition")
    assert g.valid and [symbol for symbol, _, _ in measures_of(g)] == ["z"]


def test_the_statement_is_written_while_it_is_open_and_follows():
    view = StatementCard(State())
    assert view.text.object == ""
    view.fold.collapsed = False
    view.state.ask(T=20)
    expected = statement(DEMONSTRATION.replace(T=20), "sharp")
    assert view.copiers["text"].tags == [str(expected)]
    assert json.loads(view.copiers["json"].tags[0]) == expected.as_dict()
    assert "DP" in view.text.object or "differentially private" in view.text.object
    view.fold.collapsed = True
    view.state.ask(T=30)
    assert json.loads(view.copiers["json"].tags[0])["setting"]["T"] == 20
