"""One run, one number, one supposition: the page, the command, Python and a notebook say the same
of it.
"""

import contextlib
import io
import json
from math import inf

import nbformat
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.bounds.strategies import settings_of_runs
from tests.convention import DEMONSTRATION as BEFORE
from tests.effort import examples
from tests.test_project import ROOT
from zoexplore import BOUNDS, Accounting, epsilon, guarantee
from zoexplore.__main__ import main
from zoexplore.compute.computations import guarantees
from zoexplore.questions.export import to_query, to_yaml
from zoexplore.run.formatting import format_number, round_up
from zoexplore.run.presets import PAPER_CONVENTION
from zoexplore.run.setting import CLIPPINGS, NEIGHBOURS, SAMPLINGS, supposition
from zoexplore.views.explorer import Explorer
from zoexplore.views.panels.readouts import Headline

FAIR = {
    "nothing known": (BEFORE.replace(lipschitz=inf), Accounting(), 7.81, 0.917),
    "at most 1 long": (BEFORE.replace(lipschitz=1.0), Accounting(), 0.238, 0.0326),
    "the paper's convention": (BEFORE.replace(lipschitz=1.0), PAPER_CONVENTION, 7.81, 0.884),
}
"""What is known of gradients, and epsilon with every iterate published and with the last alone: rounded up, or from above."""


def by_the_command(setting, accounting, path):
    """epsilon and what is supposed, by every bound, and what all of them suppose of gradients."""
    path.write_text(to_yaml(setting, accounting), encoding="utf-8")
    said = []
    for form in (["--json"], []):
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            main(["epsilon", str(path), *form])
        said.append(out.getvalue())
    found = {
        bound: (float(row["epsilon"]), tuple(row["supposes"]))
        for bound, row in json.loads(said[0]).items()
    }
    return found, said[1].partition("# all under one supposition: ")[2].partition("\n")[0]


def by_the_page(setting, accounting):
    """The same, of the page that is opened by the run's address."""
    state = Explorer(search=f"?{to_query(setting, accounting)}").state
    found = {
        bound: (g.epsilon, g.supposes)
        for bound, g in guarantees(state.setting, state.accounting).items()
    }
    return found, supposition(state.setting, state.accounting), Headline(state).number.object


@pytest.mark.parametrize("known", FAIR)
def test_both_fair_rows_and_the_unfair_one_are_the_same_everywhere(known, tmp_path):
    setting, accounting, published, hidden = FAIR[known]
    mine = {
        bound: (g.epsilon, g.supposes)
        for bound in BOUNDS
        for g in [guarantee(setting, bound, accounting)]
    }
    assert round_up(mine["composition"][0], 3) == published
    assert 0.85 * hidden < mine["sharp"][0] <= hidden
    words = supposition(setting, accounting)
    assert by_the_command(setting, accounting, tmp_path / "run.yaml") == (mine, words)
    found, said, headline = by_the_page(setting, accounting)
    assert (found, said) == (mine, words)
    assert all(format_number(mine[bound][0]) in headline for bound in ("composition", "sharp"))


def test_a_notebook_prints_the_table_and_it_is_the_accountants():
    cells = nbformat.read(ROOT / "notebooks" / "1-start-here.ipynb", as_version=4).cells
    (table,) = (
        cell.source
        for cell in cells
        if cell.cell_type == "code" and "the paper's convention" in cell.source
    )
    names = {"Accounting": Accounting, "guarantee": guarantee, "run": BEFORE}
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(table, names)
    for known, (setting, accounting, *_) in FAIR.items():
        every, last = (epsilon(setting, bound, accounting) for bound in ("composition", "sharp"))
        assert f"{known:23} published ε = {every:<6.4g} hidden ε = {last:.3g}" in out.getvalue()


@st.composite
def runs_of_which_different_things_are_known(draw):
    run = draw(settings_of_runs())
    return run.replace(
        lipschitz=draw(st.sampled_from([None, inf, 0.5 * run.clip, 3 * run.clip])),
        clipping=draw(st.sampled_from(CLIPPINGS)),
        neighbours=draw(st.sampled_from(NEIGHBOURS)),
        sampling=draw(st.sampled_from(SAMPLINGS)),
        batch=draw(st.sampled_from([None, max(run.n // 7, 1)])) if run.T < 1000 else None,
        releases=draw(st.sampled_from([1, 3])),
        linear=draw(st.booleans()),
    )


@given(
    runs_of_which_different_things_are_known(), st.sampled_from([Accounting(), PAPER_CONVENTION])
)
@examples(5)
def test_of_any_run_the_page_the_command_and_python_say_the_same(tmp_path_factory, run, accounting):
    mine = {
        bound: (g.epsilon, g.supposes)
        for bound in BOUNDS
        for g in [guarantee(run, bound, accounting)]
    }
    path = tmp_path_factory.mktemp("runs") / "run.yaml"
    assert by_the_command(run, accounting, path) == (mine, supposition(run, accounting))
    assert by_the_page(run, accounting)[:2] == (mine, supposition(run, accounting))
