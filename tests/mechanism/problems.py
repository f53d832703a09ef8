"""Small problems to train on: logistic regression as a function of a vector, and modules."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.convention import DEMONSTRATION
from zoexplore.mechanism import Declared, NoisyZOGD, Sources
from zoexplore.mechanism.noise import deviations
from zoexplore.mechanism.rng import normal, words

N, D = 24, 6
SETTING = DEMONSTRATION.replace(n=N, d=D, K=3, T=8, sigma=0.4, beta=0.5, R=3.0, clip=1.0, M=0.75, m=0.5, ridge=0.5)
DECLARED = Declared("strongly-convex", M=0.75, m=0.5, lipschitz=1.0)


def data(n=N, d=D):
    """Rows of length 1 and labels -1 or 1."""
    generator = torch.Generator().manual_seed(11)
    X = F.normalize(torch.randn(n, d, generator=generator, dtype=torch.float64))
    return X, torch.where(X[:, 0] + 0.3 * torch.randn(n, generator=generator) > 0, 1.0, -1.0).double()


def logistic(w, batch):
    X, y = batch
    return F.softplus(-y * (X @ w))


def optimiser(setting=SETTING, *, seeds=(1, 2), sources=None, start=None, loss=logistic, **options):
    start = torch.zeros(setting.d, dtype=torch.float64) if start is None else start
    return NoisyZOGD(start, loss, setting, sources=sources or Sources(*seeds), **options)


def noise_of(U, sigma, beta, eta, sources):
    """A step's: K numbers along the directions, and one in every coordinate by a generator whose key is drawn next."""
    (d, K), (along, across) = U.shape, deviations(sigma, beta, eta, *U.shape)
    moved = U @ (along * normal(sources.noise, (K,)))
    if across == 0:
        return moved
    return moved + across * normal(sources.keyed(words(sources.noise).tolist()), (d,))


def run(made, steps, batch=None):
    """Some steps on the full data, or on the batches that are drawn."""
    dataset = data() if batch is None else batch
    for _ in range(steps):
        made.step(made.batch(dataset))
    return made


def network():
    """Three outputs from six inputs, 51 parameters."""
    torch.manual_seed(5)
    return nn.Sequential(nn.Linear(6, 4), nn.Tanh(), nn.LayerNorm(4), nn.Linear(4, 3)).double()


class ReadElsewhere(nn.Module):
    """Uses a layer's parameters without calling the layer, so that nothing can be lent to it and they have to be moved."""

    def __init__(self):
        super().__init__()
        self.layers = network()

    def forward(self, X):
        first, *rest = self.layers
        X = F.linear(X, first.weight, first.bias)
        for layer in rest:
            X = layer(X)
        return X


def cross_entropy(outputs, targets):
    return F.cross_entropy(outputs, targets, reduction="none")


def classes(n=N):
    X, _ = data(n)
    return X, torch.arange(n) % 3
