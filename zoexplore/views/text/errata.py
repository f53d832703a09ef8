"""What is misprinted in the paper, and which way each misprint errs (derived in docs/bounds.md, section 9)."""

from typing import NamedTuple


class Erratum(NamedTuple):
    """One misprint. `errs`: "understates" (a reported loss is too small), "overstates", or "no number"."""

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
    Erratum("Corollary, ξ", "ξ ≤ 2Δ/(nηM√(2d))", "ξ ≤ 2Δ/(nM√(2d)): η cancels", "either way, as η is below or above 1"),
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
