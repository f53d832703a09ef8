"""Cut runs of up to 2^53 steps into blocks, and follow a recursion over one block (docs/sharp.md,
"Blocks").

The last steps of a run are blocks of their own. Earlier blocks grow with their distance from the
end. If the run starts from distance 0, they shrink again towards its start, where distances build
up.
"""

from numpy import int64

from zoexplore.bounds.kernels.compiling import kernel

MORE = 12  # blocks that a cool-down may add
# SINGLES: the last steps, which are blocks of their own. GROWTH: the largest length of a block, as
# a share of its distance to the end.
SINGLES, GROWTH = 12.0, 0.26


@kernel()
def _length(at, most, far):
    """Return the length of the block that begins `at` steps before the end. The length is a power
    of two, so that sums over the block are taken by doubling.
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
    """Cut a run of `most` steps into blocks, and return their number. Fill `edges` with the steps
    to the run's end at which blocks begin, from 0 to `most`. One block begins where the last
    `cooled` steps begin.
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
    """Count the blocks that arrays need room for: the largest number that a run of `most` steps,
    shape (rows,), is cut into, and what a cool-down may add.
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
    """Return (x, sum) after L steps of x <- A x + C, where `sum` adds up x before each step. The
    steps are taken by doubling, so that no digits cancel.

    After k steps, `lost` is 1 - A^k, `sums` is 1 + A + ... + A^(k-1), and `twice` adds up `sums`
    over the earlier k' < k. If A^k is small, `power` = A^k keeps digits that 1 - `lost` loses. If A
    is rounded up by enough, `power` is not below the true A^k, however large L is.
    """
    steps = int(L)
    bit = steps
    while bit & (bit - 1):  # clears every bit but the highest
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
