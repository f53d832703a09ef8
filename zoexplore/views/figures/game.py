"""What epsilon means, as a game: was the record in the data of a released model? The board shows
the attacker's score beside the best score that the bound allows.
"""

from typing import Any

import numpy as np
import panel as pn
import param
from scipy.special import ndtri

from zoexplore.bounds import Guarantee
from zoexplore.compute.ask import ask
from zoexplore.compute.computations import guarantees, smallest
from zoexplore.views.component import Script
from zoexplore.views.figures.chart import script
from zoexplore.views.figures.publish import FARTHEST, NAMES
from zoexplore.views.style import widgets
from zoexplore.views.view import View

SEEN = {"every step": "every", "only the last": "last"}


class Board(Script):
    """The game in the browser, which deals, judges and counts."""

    every = param.Number(
        0.0, doc="how far apart the two clouds are where every step is seen, in widths of the noise"
    )
    last = param.Number(0.0, doc="the same where only the last is")
    ceilings = param.List(
        [0.5, 0.5],
        doc="how often the best attacker is right on average, at most: seeing every step, the last",
    )
    shown = param.Selector(default="last", objects=list(NAMES), doc="which of the two is seen")
    seed = param.Integer(0, doc="of which the models are drawn; 0 for any")
    masked = param.Boolean(False, doc="whether nothing shows how often the best attacker is right")

    kind, sheets = "board", ("text", "board_of_game")
    _esm = script("plane", "game")


def allowed(found: dict[str, Guarantee]) -> dict[str, Any]:
    """Return what a run's guarantees allow the attacker, as values of the board's params."""
    ceilings = [
        float(1 + (g.advantage if g.valid else 1.0)) / 2
        for g in (found["composition"], smallest(found))
    ]
    every, last = (float(min(2 * ndtri(np.minimum(c, 1 - 1e-16)), FARTHEST)) for c in ceilings)
    return {"ceilings": ceilings, "every": every, "last": last}


class Game(View):
    """The game, with a switch between seeing every step and seeing only the last model."""

    asks = ("seen", "seed")

    seen = param.Selector(default="last", objects=list(NAMES), doc="what the attacker sees")
    seed = param.Integer(0, bounds=(0, 10**9), doc="of which the models are drawn; 0 for any")
    masked = param.Boolean(False, doc="whether the answer is hidden, for a question about it")

    def build(self) -> None:
        self.board = Board()
        self.switch = widgets.radio(
            "what you see", SEEN, "switch", of=self.param.seen, css_classes=["zx-switch"]
        )
        self.param.watch(self._tell, ["seen", "masked", "seed"])
        self._tell()
        self.board.param.watch(lambda event: self.param.update(seen=event.new), "shown")

    def _tell(self, *_: Any) -> None:
        self.board.param.update(shown=self.seen, masked=self.masked, seed=self.seed)

    async def refresh(self) -> None:
        found = await ask(guarantees, *self.state.run)
        self.switch.visible = covered = smallest(found).valid
        self.board.param.update(visible=covered, **allowed(found))

    def __panel__(self) -> pn.viewable.Viewable:
        return widgets.component("game", widgets.row("choices_of_game", self.switch), self.board)
