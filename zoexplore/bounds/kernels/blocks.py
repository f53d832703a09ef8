"""Runs of up to 2^53 steps cut into blocks, and a recursion over one of them (docs/sharp.md,
"Blocks").

A run is cut, counted from its end, into single steps and then blocks that grow with their distance
from the end. They shrink again towards a start from distance 0, where distances build up.
"""

from numpy import int64

from zoexplore.bounds.kernels.compiling import kernel

MORE = 12  # blocks that a cool-down may add
# single steps at the end; the largest share of its distance to the end that a block takes
SINGLES, GROWTH = 12.0, 0.26


@kernel()
def _length(at, most, far):
    """The length of the block that begins `at` steps before the end: a power of two, so that sums
    over it go by doubling.
    """
    if at < SINGLES:
        return 1.0
    reach = 0.5 * GROWTH * at if far else min(GROWTH * at, 0.5 * (most - at))
    length = 1.0
    while 2.0 * length <= reach:
        length *= 2.0
    return length


@kernel()
def cut_into(most, far, cooled, edges):
    """The number of a run's blocks; `edges` become the steps to its end at which they begin, and
    last all its steps. One begins where the last `cooled` steps do.
    """
    count, edges[0] = 0, 0.0
    while edges[count] < most:
        at = edges[count]
        after = min(most, at + _length(at, most, far))
        edges[count + 1] = cooled if at < cooled < after else after
        count += 1
    return count


@kernel()
def blocks_of(most, far):
    """Room for the blocks of any run of `most` steps, shape (rows,): as many as it is cut into, and
    what a cool-down may add.
    """
    largest = int64(0)
    for i in range(most.size):
        count, at = int64(0), 0.0
        while at < most[i]:
            at += _length(at, most[i], far)
            count += 1
        largest = max(largest, count)
    return largest + MORE


@kernel()
def affine(A, C, x, L):
    """After L steps of x <- A x + C: (x, the sum of x over the steps' starts), by doubling, without
    a cancellation.

    After k steps: lost = 1 - A^k, sums = 1 + A + ... + A^(k-1), twice = the sum of `sums` over the
    first k steps. Where little is kept, `power` = A^k has its digits: with a factor raised by a
    rounding it is not below the true one, however large L is.
    """
    steps = int(L)
    bit = steps
    while bit & (bit - 1):  # the highest bit of all
        bit &= bit - 1
    bit //= 2
    k, lost, power, sums, twice = 1.0, 1.0 - A, A, 1.0, 0.0
    while bit > 0:
        kept = 1.0 - lost
        twice = twice * (1.0 + kept) + k * sums
        sums *= 1.0 + kept
        lost *= 1.0 + kept
        power *= power
        k *= 2.0
        if steps & bit:
            twice += sums
            kept = 1.0 - lost
            sums += kept
            lost += kept * (1.0 - A)
            power *= A
            k += 1.0
        bit //= 2
    return (1.0 - lost if lost < 0.5 else power) * x + C * sums, x * sums + C * twice
