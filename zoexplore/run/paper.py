"""The citation of the paper behind the mechanism and its theorem, as in `CITATION.cff`."""

from zoexplore import __version__

TITLE = (
    "Privacy Amplification in Differentially Private Zeroth-Order Optimization with Hidden States"
)
AUTHORS = ("Eli Chien", "Wei-Ning Chen", "Pan Li")
VENUE = "ICML 2026"
SHORT = f"Chien et al., {VENUE}"
URL = "https://arxiv.org/abs/2506.00158v3"
ARXIV = "arXiv:2506.00158v3"
LICENCE = "MIT licence"

BIBTEX = f"""@inproceedings{{chien2026hidden,
  title     = {{{TITLE}}},
  author    = {{{" and ".join(", ".join(reversed(name.rsplit(" ", 1))) for name in AUTHORS)}}},
  booktitle = {{International Conference on Machine Learning (ICML)}},
  year      = {{2026}},
  url       = {{{URL}}}
}}
@software{{zoexplore,
  title     = {{zoexplore: hidden-state privacy accounting for differentially private zeroth-order training}},
  author    = {{{{zoexplore contributors}}}},
  version   = {{{__version__}}},
  year      = {{2026}}
}}"""
