"""The colophon: the paper, how to cite it and the software, its version and licence."""

from html import escape
from typing import Any

import panel as pn

from zoexplore import __version__, paper
from zoexplore.views.panels.toolbar import copier
from zoexplore.views.style import theme

_WORDS = f"""<p>Mechanism and hidden-state theorem: {", ".join(paper.AUTHORS)},
<a href="{paper.URL}" target="_blank" rel="noopener"><i>{escape(paper.TITLE)}</i></a>, {paper.VENUE}, {paper.ARXIV}.
The sharper bound, the proofs and the errata are zoexplore's own: they open under Theory.</p>
<p>zoexplore {__version__}, {paper.LICENCE}.</p>
<details><summary>How to cite</summary><pre tabindex="0" aria-label="BibTeX">{escape(paper.BIBTEX)}</pre></details>"""


class Colophon(pn.viewable.Viewer):
    """A few lines at the end of the page."""

    def __init__(self, **params: Any) -> None:
        super().__init__(**params)
        self.words = pn.pane.HTML(_WORDS, stylesheets=[theme.css("text", "colophon")], **theme.STRETCH)
        self.copy = copier("Copy BibTeX", paper.BIBTEX)

    def __panel__(self) -> pn.viewable.Viewable:
        return pn.Column(self.words, self.copy, css_classes=["zx-colophon"], stylesheets=[theme.root("foot")], **theme.STRETCH)
