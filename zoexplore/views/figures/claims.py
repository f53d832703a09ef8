"""Published runs: the epsilon that each run claims, and the epsilon that can be proved for its
public script. A click on a row loads the run.
"""

from typing import Any

import panel as pn
import param

from zoexplore.questions.export import to_query
from zoexplore.run.formatting import format_count, format_number, format_short
from zoexplore.run.published import RUNS, Published
from zoexplore.run.setting import Accounting
from zoexplore.views.component import Script
from zoexplore.views.figures.chart import script
from zoexplore.views.html import written
from zoexplore.views.style import widgets
from zoexplore.views.view import View

AS_CLAIMED = 1.01  # a provable epsilon is as claimed if below this multiple of its claim
_FOOT = """<p>A larger provable ε is no attack: nobody has shown that these models leak that much. It is what holds without a gap
in the argument. No claim covers choosing hyper-parameters on private data.</p>"""


class Rows(Script):
    """The rows in the browser."""

    rows = param.List([], doc="results of `row`")
    ticks = param.List([1, 2, 5, 10, 20, 50, 100, 200], doc="of the axis of epsilon")
    near = param.Number(AS_CLAIMED, doc="the multiple of a claim below which epsilon is as claimed")
    asked = param.List([], doc="the key of the run that the reader wants, and the time")

    kind, sheets = "rows", ("export", "claims")
    _esm = script("export", "claims")


class Claims(View):
    """A sentence on all runs, and a row for each; the run that misses its claim most comes first."""

    def build(self) -> None:
        runs = sorted(RUNS.items(), key=lambda each: -each[1].ours / each[1].claimed)
        self.rows = Rows(rows=[row(key, run) for key, run in runs])
        self.rows.param.watch(self._load, "asked")
        self.head = widgets.html(_head([run for _, run in runs]), "words", "claims_head")

    def _load(self, event: Any) -> None:
        key, _ = event.new
        if key in RUNS:
            with pn.io.hold():  # both changes are one step of the browser's history
                self.state.replace(RUNS[key].setting, Accounting())
                self.opens = "publish"

    def __panel__(self) -> pn.viewable.Viewable:
        return widgets.component("claims", self.head, self.rows, widgets.html(_FOOT, "words"))


def row(key: str, run: Published) -> dict[str, Any]:
    """Return a run's row as `claims.js` takes it."""
    name, model, *task = run.name.split(", ")
    return {
        "key": key,
        "name": f"{name} · {model}",
        "claimed": run.claimed,
        "ours": run.ours,
        "claims": format_short(run.claimed),
        "proves": format_number(run.ours),
        "what": f"{', '.join([*task, ''])}K = {format_count(run.K)}, T = {format_count(run.T)}",
        "factor": format_short(run.ours / run.claimed, 2),
        "href": f"?{to_query(run.setting, Accounting())}",
    }


def _head(runs: list[Published]) -> str:
    """Say how many runs claim what can be proved, and by how much the others fall short."""
    factors = [run.ours / run.claimed for run in runs if run.ours >= AS_CLAIMED * run.claimed]
    return written("figures", "claims", len(runs) - len(factors), factors)
