"""The counter-based generator's words are those that its authors print, and its numbers are normal to their last digits."""

import numpy as np
import pytest

from zoexplore.mechanism import rng as philox

ONES = 2**32 - 1


@pytest.mark.parametrize(
    ("counter", "key", "words"),
    [
        ((0, 0, 0, 0), (0, 0), "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
        ((ONES,) * 4, (ONES,) * 2, "408f276d 41c83b0e a20bc7c6 6d5451fd"),
        (
            (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
            (0xA4093822, 0x299F31D0),
            "d16cfe09 94fdcceb 5001e420 24126ea1",
        ),
    ],
)
def test_words_are_those_of_random123(counter, key, words):
    bits = np.empty(4, np.uint32)
    philox._philox(bits, np.uint64(counter[0]), np.uint64(counter[1]), np.array([*key, *counter[2:]], np.uint64))
    assert " ".join(f"{word:08x}" for word in bits) == words


def test_pairs_are_box_and_mullers_to_the_digits_of_single_precision():
    draws = np.random.default_rng(0)
    ends = np.float32([2.0**-54, 2.0**-32, 0.5, 1 - 2.0**-24, 1.0])
    radius = np.concatenate([ends, draws.random(100_000, np.float32) + np.float32(2.0**-32)]).clip(max=1)
    angle = np.concatenate([np.float32([-(2.0**31), -(2.0**30), 0, 2.0**30, 2.0**31]), draws.integers(-(2**31), 2**31, 100_000)])
    angle = angle.astype(np.float32)
    length, turned = np.sqrt(-2 * np.log(radius.astype(float))), angle.astype(float) * np.pi / 2**31
    philox.box_muller(radius, angle)
    np.testing.assert_allclose(radius, length * np.cos(turned), rtol=0, atol=1.2e-6)
    np.testing.assert_allclose(angle, length * np.sin(turned), rtol=0, atol=1.2e-6)


def test_a_stretch_begins_alike_however_long_and_no_two_are_the_same():
    key = np.arange(4, dtype=np.uint64)
    made = {}
    for length, stretch in ((3, 0), (philox.AT_ONCE + 5, 0), (3 * philox.AT_ONCE, 0), (3 * philox.AT_ONCE, 1)):
        philox.normals(out := np.empty(length, np.float32), key, np.uint64(stretch))
        made[length, stretch] = out
    longest = made[3 * philox.AT_ONCE, 0]
    assert all(np.array_equal(out, longest[:length]) for (length, stretch), out in made.items() if stretch == 0)
    together = np.concatenate([longest, made[3 * philox.AT_ONCE, 1]])
    assert len(np.unique(together)) > 0.999 * len(together)
