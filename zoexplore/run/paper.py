"""The paper behind mechanism and theorem: its citation, as in `CITATION.cff`, and its misprints."""

from typing import NamedTuple

from zoexplore import __version__

TITLE = "Privacy Amplification in Differentially Private Zeroth-Order Optimization with Hidden States"
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


class Erratum(NamedTuple):
    """One misprint, derived in docs/bounds.md, "What is misprinted in the paper".

    `errs`: "understates" (a reported loss is too small), "overstates", or "no number".
    """

    where: str
    printed: str
    meant: str
    errs: str


ERRATA = (
    Erratum("Theorem, recursion", "z_{t−1} = (z_t + a_t − c₂)/c̄₁", "z_t = (z_{t+1} + a_t − c₂)/c̄₁", "no number"),
    Erratum("Its proof, event G_t", "P(G_t) ≤ δ_f/(T − τ)", "of the complement", "no number"),
    Erratum("Baseline's proof", "sensitivity Δ/n", "2Δ/n for a replaced record: ρ is four times larger", "understates"),
    Erratum(
        "Output perturbation", "(2R)² after the last update", "the last update moves the iterates first", "understates"
    ),
    Erratum("Corollary's proof, minimum", "8αΔR√(2d)/(ηnσ²)", "16: both equal terms count", "understates"),
    Erratum("The same, the 4 before (2R)²", "4", "2", "overstates"),
    Erratum("Corollary, ξ", "ξ ≤ 2Δ/(nηM√(2d))", "ξ ≤ 2Δ/(nM√(2d)): η cancels", "too strict for η > 1, too weak for η < 1"),
    Erratum(
        "The same, letters", "2Cτ/√K, (a′ − c₂)², MR…/(Kη…)", "2ηΔτ/√K, (a′ + c₂)², either M/K or 1/η", "no number"
    ),
    Erratum(
        "Mini-batch theorem", "no ϑ in c̄₁ and δ_f; K·S_α, and its order", "ϑ as with full batches; one shared batch",
        "understates",
    ),
    Erratum(
        "Strongly convex and Δ-Lipschitz", "no condition", "(m − ridge)(R + ξ) ≤ Δ, a ridge outside the clip",
        "understates, where it does not hold",
    ),
    Erratum("Comparison with noisy gradient descent", "σ² becomes σ²/√d", "σ²/d", "another mechanism's number"),
    Erratum("Independent directions", "a bound", "shown by simulation only", "understates"),
    Erratum("Closed-form trade-off", "constant 64", "follows from the corollary's; a term is dropped", "understates"),
)  # fmt: skip
