"""All bounds, in the order in which a page lists them. To add a bound, write a module beside this
one and an entry here.
"""

from zoexplore.bounds.composition import COMPOSITION
from zoexplore.bounds.corollary import COROLLARY
from zoexplore.bounds.noisy_gd import NOISY_GD
from zoexplore.bounds.output_perturbation import OUTPUT_PERTURBATION
from zoexplore.bounds.sharp import SHARP
from zoexplore.bounds.theorem import THEOREM

BOUNDS = {
    bound.id: bound
    for bound in (COMPOSITION, OUTPUT_PERTURBATION, COROLLARY, THEOREM, SHARP, NOISY_GD)
}
