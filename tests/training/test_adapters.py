"""The text task: what is frozen, what is trained, and each record's gradient."""

import numpy as np
import pytest
import torch

from zoexplore.training import frontier, texts
from zoexplore.training.adapters import Adapted
from zoexplore.training.data import prepare
from zoexplore.training.engine import problem_of
from zoexplore.training.models import MODELS
from zoexplore.training.tasks import Task

WORDS = ["hello", "world", "a longer name", "xyz", "noord", "zuid", "ouest", "est", "sud", "norte"] * 4


def few():
    """As many texts as a test has time for."""
    return prepare(texts.embedded(WORDS), np.arange(len(WORDS)) % 3, 3, bias=False)


@pytest.fixture(scope="module")
def task():
    """With a frozen part that was hardly trained."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(texts, "STEPS", 1)
        texts.base.cache_clear()
        made = Task("few", "Few", "For tests.", few, "adapters", ridge=0.0, R=50.0, K=5, T=3, sigmas=(1e-3,))
        assert made.data
        yield made
    texts.base.cache_clear()
    problem_of.cache_clear()


def test_names_belong_to_one_language_and_no_public_one_is_asked_for():
    found, labels = texts.names(("nl", "fi"))
    assert len(set(found)) == len(found) == len(labels) and set(labels) == {0, 1}
    assert set("".join(found)) <= set(texts.ALPHABET) and max(map(len, found)) <= texts.LENGTH
    assert not set(texts.PRIVATE) & set(texts.PUBLIC)


def test_adapters_and_the_last_layer_are_trained_and_begin_at_no_scores(task):
    problem = Adapted(task, MODELS["adapters"], torch.float64)
    assert task.d == sum(p.numel() for p in problem.module().parameters()) and not task.constants.m
    w = problem.start(torch.Generator().manual_seed(0))[None]
    assert w.shape == (1, task.d) and (w != 0).sum() == 2 * texts.RANK * texts.WIDTH
    assert problem.scores(w, problem.X).abs().max() == 0


def test_gradients_are_those_of_the_losses_and_clips_limit_them(task):
    problem = Adapted(task, MODELS["adapters"], torch.float64)
    w = torch.randn(1, task.d, dtype=torch.float64, generator=torch.Generator().manual_seed(1)) / 4
    U = torch.linalg.qr(torch.randn(task.d, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(2))).Q
    slopes = problem.quotients(w, U, 0.0, problem.X, problem.y)
    two_points = problem.quotients(w, U, 1e-4, problem.X, problem.y)
    assert torch.allclose(slopes, two_points, atol=1e-6) and slopes.abs().max() > 1e-2
    mean, longest = problem.gradient(w)
    assert torch.allclose(mean @ U, slopes.mean(0).T) and longest >= slopes.norm(dim=1).max()
    clip = torch.tensor([longest.item() / 50], dtype=torch.float64)
    limited, shortened = problem.jointly_clipped(w, U, clip, 0.0)
    lengths = slopes.norm(dim=1, keepdim=True)
    assert torch.allclose(limited, (slopes * (clip / lengths).clamp(max=1.0)).mean(0).T) and shortened > 0


def test_every_kind_of_method_trains_and_only_the_clip_is_counted(task):
    found = frontier(task=task, methods=("aggzo", "noisy-gd", "dp-sgd", "non-private"), epsilons=(4.0,), seeds=1)
    for point in found.points[:-1]:
        assert point.by == "composition" and "Lipschitz" not in point.counted["composition"]
        assert point.epsilon["composition"] == pytest.approx(4.0, rel=1e-6)
