"""A lesson as one HTML file that moves without a kernel, a server or a network: `python -m tools.lesson [bound] [file]`."""

import argparse
import re
from base64 import b64encode
from io import StringIO
from mimetypes import guess_type
from pathlib import Path

import panel as pn
from bokeh.resources import INLINE
from panel.io.resources import CDN_DIST, DIST_DIR

from zoexplore import guarantee, plots
from zoexplore.run.formatting import format_number
from zoexplore.run.presets import DEMONSTRATION
from zoexplore.run.saving import write
from zoexplore.views.style import theme

RUN = DEMONSTRATION.replace(T=40)  # as in the notebook
_TEXT = """
<h1>Why hidden state helps</h1>
<p>Two training runs differ in a single record and share all directions and all noise. The record pushes them apart at every
step, by a bounded length along the K = {K} random directions; each step also pulls them together. A third run starts with one
of them and ends with the other, its noise <i>shifted</i> a little at every step. An observer of the last iterate cannot tell
shifted noise from plain noise but for a price, the budget ρ, and the budget of a whole run is what becomes ε.</p>
<p>Drag the slider: {says}</p>
"""
_SAYS = {
    "sharp": "what lies along the directions and what lies across them are orthogonal, each is hidden by the noise it meets, and "
    "what is left of both is the next distance. Early steps hide nearly nothing, because later ones shrink it for free.",
    "theorem": "every step hides the record's data in full by the noise along the directions, and a length of the remaining "
    "distance by the noise in all directions. The distance starts at the ball's diameter.",
}
_END = """
<p>Here ρ = {rho}, so that ε = {epsilon} at δ = 10⁻⁵. Were every iterate public, the same {T} steps would cost {public}.
The whole lesson, with the formulas and exercises, is <code>notebooks/4-why-hidden-state-helps.ipynb</code>.</p>
"""


def page(bound: str) -> pn.Column:
    """The lesson for one bound: text, the figures with their slider, and a conclusion."""
    g, public = guarantee(RUN, bound), guarantee(RUN.replace(beta=1.0), "composition")
    end = _END.format(rho=format_number(g.rho), epsilon=format_number(g.epsilon), T=RUN.T, public=format_number(public.epsilon))
    text = {"sizing_mode": "stretch_width", "margin": 0, "styles": {"font-size": "16px", "line-height": "1.55"}}
    return pn.Column(
        pn.pane.HTML(_TEXT.format(K=RUN.K, says=_SAYS[bound]), **text),
        pn.panel(plots.replay(RUN, bound), widget_location="top"),
        pn.pane.HTML(end, **text),
        max_width=900, sizing_mode="stretch_width",
        styles={"margin": "24px auto", "padding": "0 16px", "font-family": theme.FONT, "box-sizing": "border-box"},
    )  # fmt: skip


def html(bound: str) -> str:
    """The lesson as HTML, with the state of every step embedded.

    Panel inlines its scripts but still links its style sheets and icons, so these are put in here.
    """
    out = StringIO()
    states = {"max_states": RUN.T + 1, "max_opts": RUN.T + 1}  # all of them
    page(bound).save(out, title="Why hidden state helps", resources=INLINE, embed=True, progress=False, **states)
    return linked_as_data(out.getvalue())


def linked_as_data(text: str) -> str:
    """A page with Panel's style sheets and icons put in."""
    linked = re.escape(CDN_DIST) + r"([\w./-]+\.(?:css|ico|png))(?:\?v=[\w.]+)?"
    return re.sub(linked, lambda found: _as_data(found[1]), text)


def _as_data(name: str) -> str:
    kind = guess_type(name)[0] or "image/x-icon"
    return f"data:{kind};base64,{b64encode((DIST_DIR / name).read_bytes()).decode()}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("bound", nargs="?", default="sharp", choices=list(_SAYS), help="the bound that is played")
    parser.add_argument("file", nargs="?", type=Path, help="where to write it; build/lesson-BOUND.html if not given")
    given = parser.parse_args()
    file = given.file or Path("build") / f"lesson-{given.bound}.html"
    file.parent.mkdir(parents=True, exist_ok=True)
    try:
        write(file, html(given.bound).encode())
    except OSError as error:
        raise SystemExit(f"lesson: {error.strerror}") from error
    print(f"{file}: open it in any browser")


if __name__ == "__main__":
    main()
