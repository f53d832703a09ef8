"""A streamed frame is a frame like any other: orthonormal, uniform, and the same each time it is
made.
"""

import pytest
import torch
from scipy import stats

from tests.effort import proof
from zoexplore.mechanism import Sources
from zoexplore.mechanism.directions import Dense, Streamed, is_streamed
from zoexplore.mechanism.parameters import Parameters, add
from zoexplore.mechanism.perturbation import InPlace
from zoexplore.mechanism.rng import Replay


def parameters(*sizes, kind=torch.float64, block=7):
    torch.manual_seed(0)
    return Parameters([torch.randn(size, dtype=kind) for size in sizes], block)


def matrix(frame):
    return torch.stack(
        [
            torch.cat([x.clone() for x in frame.combined(torch.eye(frame.K)[k])])
            for k in range(frame.K)
        ],
        1,
    )


@pytest.mark.parametrize("K", [1, 2, 9])
@pytest.mark.parametrize(
    "kind, near", [(torch.float64, 1e-12), proof(torch.float32, 1e-5), (torch.bfloat16, 1e-5)]
)
def test_columns_are_orthonormal_whatever_the_blocks(K, kind, near):
    for block in (3, 7, 1000):
        U = matrix(
            Streamed(parameters(10, 1, 16, kind=kind, block=block), K, Sources(1, 2).directions)
        )
        assert U.shape == (27, K)
        assert (U.T @ U - torch.eye(K)).abs().max() < near


@pytest.mark.parametrize("K", [1, 4])
def test_it_is_uniform_on_the_manifold(K):
    frames = torch.stack(
        [matrix(Streamed(parameters(9), K, Sources(i, 10**6).directions)) for i in range(300)]
    )
    for row in (0, 8):
        assert (
            stats.kstest(frames[:, row].square().sum(-1), stats.beta(K / 2, (9 - K) / 2).cdf).pvalue
            > 1e-3
        )
    left = torch.from_numpy(stats.ortho_group.rvs(9, random_state=3))
    turned = left @ frames[:150]
    for statistic in (lambda U: U[:, 0, 0], lambda U: U[:, -1, -1], lambda U: U.sum((-1, -2))):
        assert stats.ks_2samp(statistic(turned), statistic(frames[150:])).pvalue > 1e-3


@pytest.mark.parametrize("make", [Dense, Streamed])
def test_what_it_does_is_what_its_matrix_does(make):
    p = parameters(10, 17)
    frame, w = make(p, 4, Sources(1, 2).directions), p.vector()
    U, probes = matrix(frame), torch.stack([frame.probe(k) for k in range(4)], 1)
    assert torch.allclose(probes.norm(dim=0), torch.ones(4, dtype=torch.float64))
    assert torch.allclose(frame.coordinates(), w @ U)
    gradient = torch.randn(5, 27, dtype=torch.float64)
    assert torch.allclose(frame.resolve(gradient @ probes), gradient @ U)
    assert torch.linalg.matrix_norm(
        frame.resolve(torch.eye(4, dtype=torch.float64)), 2
    ) <= frame.xi_factor * (1 + 1e-12)
    moved = torch.cat([x.clone() for x in frame.combined(torch.arange(4.0))])
    assert torch.allclose(moved, U @ torch.arange(4.0).double())
    frame.add(0, 2.0)
    frame.add(3, -1.0)
    assert torch.allclose(p.vector(), w + 2 * probes[:, 0] - probes[:, 3])


@pytest.mark.parametrize("kind", [torch.float64, torch.float32, torch.bfloat16])
def test_parameters_are_moved_there_and_come_back_exactly(kind):
    p = parameters(10, 17, kind=kind)
    frame, w = Streamed(p, 3, Sources(1, 2).directions), p.vector()
    probes = torch.stack([frame.probe(k) for k in range(3)], 1)
    perturbed = InPlace(p, frame)
    for k in range(3):
        for sign in (1, -1):
            perturbed.to(k, sign * 0.3)
            assert torch.allclose(
                p.vector(),
                (w + sign * 0.3 * probes[:, k]).to(kind),
                atol=16 * torch.finfo(kind).eps,
            )
    perturbed.back()
    assert torch.equal(p.vector(), w)


@pytest.mark.parametrize(
    "d, K, streamed",
    [
        (6, 3, False),
        (6, 6, False),
        (2**19, 1, False),
        (2**19 + 1, 1, True),
        (2**16, 64, True),
        (2**16, 2**15 + 1, False),
    ],
)
def test_frames_are_dense_where_that_is_faster_and_possible(d, K, streamed):
    p = parameters(d, block=d)
    assert is_streamed("auto", p, K) == streamed
    assert not is_streamed("dense", p, K)


def test_half_the_dimension_at_most_is_streamed():
    with pytest.raises(ValueError, match="'streamed' is not allowed for K = 5 of d = 9"):
        is_streamed("streamed", parameters(9), 5)


@pytest.mark.parametrize("kind", [torch.float32, torch.float64])
def test_numbers_of_a_column_are_normal_independent_and_come_again(kind):
    source, sizes, device = Sources(1, 2).directions, (100_000, 100_001), torch.device("cpu")
    replay = Replay(source, sizes, device)
    first = torch.cat(
        [replay.fill(i, torch.empty(size, dtype=kind)) for i, size in enumerate(sizes)]
    )
    # in another order
    second = torch.cat([replay.fill(i, torch.empty(sizes[i], dtype=kind)) for i in (1, 0)][::-1])
    assert torch.equal(first, second)
    assert first.norm() == pytest.approx(1, abs=1e-6)
    first *= len(first) ** 0.5
    assert stats.kstest(first.double(), "norm").pvalue > 1e-3
    assert first.abs().max() > 4
    half = len(first) // 2
    assert (
        abs(float(torch.corrcoef(torch.stack([first[:half], first[half : 2 * half]]))[0, 1]))
        < 5 / half**0.5
    )
    assert (
        abs(
            float(
                torch.corrcoef(
                    torch.stack([first[:half] ** 2, first[half + 1 : 2 * half + 1] ** 2])
                )[0, 1]
            )
        )
        < 5 / half**0.5
    )
    assert not torch.equal(
        Replay(source, sizes, device).fill(0, torch.empty(sizes[0], dtype=kind)), second[: sizes[0]]
    )


def test_lengths_of_a_columns_blocks_have_the_beta_law():
    """Of a block of b numbers of d: its squared length is Beta(b/2, (d-b)/2), and its own numbers
    are uniform on their sphere.
    """
    generator, sizes = Sources(1, 2).directions, (1, 3, 5)
    columns = [Replay(generator, sizes, torch.device("cpu")) for _ in range(3000)]
    empty = [torch.empty(size, dtype=torch.float64) for size in sizes]
    blocks = [
        torch.stack([column.fill(i, out).clone() for column in columns])
        for i, out in enumerate(empty)
    ]
    assert torch.cat(blocks, 1).norm(dim=1) == pytest.approx(1)
    for size, block in zip(sizes, blocks, strict=True):
        squares = block.square().sum(1)
        assert stats.kstest(squares, stats.beta(size / 2, (9 - size) / 2).cdf).pvalue > 1e-3
        own = block[:, 0].square() / squares
        assert size == 1 or stats.kstest(own, stats.beta(0.5, (size - 1) / 2).cdf).pvalue > 1e-3
        assert abs(float(torch.corrcoef(torch.stack([own, squares]))[0, 1])) < 0.08 or size == 1


def test_half_precision_is_rounded_by_chance_so_that_small_updates_count_on_average():
    for kind in (torch.bfloat16, torch.float16):
        block = torch.tensor([1.0, -1.0, 0.0, 2.0], dtype=kind).repeat_interleave(50_000)
        before, update = block.double(), torch.full((200_000,), 1e-4)
        add(block, update, torch.Generator().manual_seed(0))
        moved = (block.double() - before).view(4, -1)
        spread = moved.std(1) / 50_000**0.5
        assert ((moved.mean(1) - 1e-4).abs() <= 5 * spread + 1e-8).all()
        assert (moved[:2].unique().numel() <= 4) and moved[0].unique().numel() == 2
    # 6e-8 from their neighbours
    tiny = torch.tensor([3e-6, -3e-6, 0.0], dtype=torch.float16).repeat_interleave(50_000)
    before = tiny.double()
    add(tiny, torch.full((150_000,), 5e-9), torch.Generator().manual_seed(0))
    moved = (tiny.double() - before).view(3, -1)
    assert ((moved.mean(1) - 5e-9).abs() <= 5 * moved.std(1) / 50_000**0.5).all()
    assert all(len(row.unique()) == 2 for row in moved)


def test_tensors_that_cannot_be_seen_flat_are_refused():
    last = torch.randn(2, 3, 4, 5).to(memory_format=torch.channels_last)
    for wrong, words in (
        (torch.zeros(4, 6)[:, ::2], "contiguous"),
        (last, "contiguous"),
        (torch.zeros(3, device="meta"), "meta"),
    ):
        with pytest.raises(ValueError, match=words):
            Parameters([wrong])
    with pytest.raises(
        ValueError,
        match=r"parameters of cpu, meta, torch\.float32, sparse or sharded ones are not allowed",
    ):
        Parameters([torch.zeros(3), torch.zeros(3, device="meta")])
