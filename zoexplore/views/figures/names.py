"""Names at the ends of curves, in a margin that no curve enters: curves that end together share a place, and no two names
overlap.
"""

from collections.abc import Mapping

import numpy as np
from bokeh.plotting import figure

from zoexplore.columns import placed_apart
from zoexplore.run.formatting import THIN
from zoexplore.views.figures.parts import empty, fill, words

LINE = 17  # pixels from one line to the next
MARGIN, BRIEF_MARGIN = 156, 118  # pixels for names, and for short ones
LONGEST, BRIEF = 22, 15  # characters that fit
NARROW = 560  # pixels; a narrower figure has room for short names only
_SAME = 1.5  # pixels; curves that end closer share a place
_BRIEF = {  # short forms of titles, for a phone
    "Noisy gradient descent": "Noisy GD", "Hidden-state theorem": "Theorem", "Output perturbation": "Output pert.",
    "Composition at β\u00a0=\u00a01": "… at β\u00a0=\u00a01", "the training default": "the default",
}  # fmt: skip


def fitted(title: str, narrow: bool) -> str:
    """A line shortened to fit the margin; the table tells whether constants are the printed ones."""
    text, most = title.removesuffix(" (as printed)"), BRIEF if narrow else LONGEST
    text = _BRIEF.get(text, text) if narrow else text
    return text if len(text.replace(THIN, "")) <= most else f"{text[: most - 1]}…"


class Names:
    """The names of a figure's curves, placed again whenever the figure's size changes.

    Their source always has a row for every place: BokehJS makes labels later than their colours, and would look for the colour
    of a label whose row is gone.
    """

    def __init__(self, fig: figure, most: int, log: bool = False, share: bool = True) -> None:
        """`log` says whether the y axis is logarithmic, `share` whether curves that end at the same height share a place."""
        self.figure, self.most, self.log, self.share = fig, most, log, share
        self.source = empty("names", "x", "y", "dx", "dy", "text", "colour", "style")
        fig.min_border_right = MARGIN
        look = {"text_baseline": "top", "text_line_height": 1.25, "text_font_style": "style"}
        words(fig, "x", "y", "text", self.source, x_offset="dx", y_offset="dy", text_color="colour", **look)
        self._ends: Mapping[str, tuple[float, str, bool]] = {}
        # Not the frame's width, which the names' own margin changes.
        self.size = {"outer_width": 680, "inner_height": 420}  # until a browser has measured them
        for side in self.size:
            fig.on_change(side, self._resized)

    def _resized(self, attr: str, old: int, new: int) -> None:
        if new and new != self.size[attr]:
            self.size[attr] = new
            self.write(self._ends)

    def write(self, ends: Mapping[str, tuple[float, str, bool]]) -> None:
        """Write each name, with its line breaks, at its curve's end: the value there, the colour, whether it is bold."""
        self._ends, (width, height) = ends, self.size.values()
        narrow, log = width < NARROW, self.log
        self.figure.min_border_right = BRIEF_MARGIN if narrow else MARGIN
        low, high = self.figure.y_range.start, self.figure.y_range.end
        spans = (np.log(high / low), lambda v: np.log(high / v)) if log else (high - low, lambda v: high - v)
        placed: list[list] = []  # pixels from the top, lines, colour, bold
        for text, (value, colour, bold) in ends.items():
            at = float(np.clip(spans[1](max(value, low if log else value)) / spans[0], 0, 1)) * height
            text = "\n".join(fitted(each, narrow) for each in text.split("\n"))
            off = "↑" if value > high * (1 + 1e-9) else "↓" if value < low * (1 - 1e-9) else ""
            text = f"{text} {off}" if log and off else text
            twin = next((each for each in placed if abs(each[0] - at) < _SAME and not each[3] and "\n" not in text), None)
            if self.share and twin and not bold:
                twin[1].append(f"= {text}")
            else:
                placed.append([at, text.split("\n"), colour, bold, float(np.clip(value, low, high))])
        heights = [LINE * len(lines) for _, lines, *_ in placed]
        tops = placed_apart([at for at, *_ in placed], heights, height + LINE / 2)
        rows = [  # relative to the curve's end, so right even before a browser has measured the frame
            {"x": self.figure.x_range.end, "y": y, "dx": 10, "dy": top - at - LINE / 2 + 2, "text": "\n".join(lines),
             "colour": colour, "style": "bold" if bold else "normal"}
            for top, (at, lines, colour, bold, y) in zip(tops, placed, strict=True)
        ]  # fmt: skip
        nothing = {"x": np.nan, "y": np.nan, "dx": 0, "dy": 0, "text": "", "colour": "#000000", "style": "normal"}
        fill(self.source, rows + [nothing] * (self.most - len(rows)))
