"""A checksum changes with every bit, and is the same wherever it is made."""

import pytest
import torch

from zoexplore.mechanism import checksums


class TestChecksums:
    KINDS = (
        torch.float64,
        torch.float32,
        torch.bfloat16,
        torch.float16,
        torch.int64,
        torch.bool,
        torch.complex64,
    )

    @pytest.mark.parametrize("kind", KINDS, ids=str)
    @pytest.mark.parametrize("shape", [(), (1,), (7, 3), (2**14 + 5,), (3, 2**15), (2**18 + 3,)])
    def test_every_bit_counts_wherever_it_stands(self, shape, kind):
        x = (
            torch.randn(shape, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
            .mul(9)
            .to(kind)
        )
        words = checksums._words(x).view(1, -1)
        (before,) = checksums.checksums([x])
        some = words[:, : len(checksums.MULTIPLIERS)]
        products = some * checksums.MULTIPLIERS[: some.shape[1]]  # as on a GPU
        assert torch.equal(
            checksums._sums(some, checksums.MULTIPLIERS[: some.shape[1]]), products.sum(1)
        )
        for place in {0, words.numel() // 2, words.numel() - 1}:
            for bit in range(1 if kind == torch.bool else 8 * words.element_size()):
                other = x.clone()
                changed = checksums._words(other)
                changed[place] ^= torch.tensor(-(2**31) if bit == 31 else 1 << bit).to(
                    changed.dtype
                )
                assert checksums.checksums([other]) != [before]

    def test_places_count_and_so_do_strides(self):
        x = torch.arange(12.0).view(3, 4)
        assert (
            len(
                {
                    tuple(checksums.checksums([y]))
                    for y in (x, x.flip(0), -x, x.roll(1), x.t().contiguous())
                }
            )
            == 5
        )
        assert checksums.checksums([x[:, 1:3]]) == checksums.checksums([x[:, 1:3].clone()])
        assert checksums.checksums([]) == []

    def test_of_records(self):
        X, y = torch.randn(5, 3, 2), torch.tensor([1, 2, 1, 1, 1])
        X[3] = X[0]
        found = checksums.of_records({"X": X, "y": y}, 5)
        assert found[0] == found[3] and len(set(found.tolist())) == 4
        assert checksums.of_records((X[2:], y[2:]), 3).tolist() == found[2:].tolist()
