"""Small problems to train on: logistic regression as a function of a vector, and modules."""

from math import inf

import torch
import torch.nn.functional as F
from torch import nn

from tests.convention import DEMONSTRATION
from zoexplore.mechanism import Declared, NoisyZOGD, Sources
from zoexplore.mechanism.noise import deviations
from zoexplore.mechanism.rng import normal, words

N, D = 24, 6
SETTING = DEMONSTRATION.replace(
    n=N, d=D, K=3, T=8, sigma=0.4, beta=0.5, R=3.0, clip=1.0, M=0.75, m=0.5, ridge=0.5
)
# nothing is supposed of the loss
FREE = SETTING.replace(sigma=2.0, R=inf, m=0, ridge=0, regime="convex")
MIXES = "a loss must depend on its own record alone"
DECLARED = Declared("strongly-convex", M=0.75, m=0.5, lipschitz=1.0)


def data(n=N, d=D):
    """Rows of length 1 and labels -1 or 1."""
    generator = torch.Generator().manual_seed(11)
    X = F.normalize(torch.randn(n, d, generator=generator, dtype=torch.float64))
    return X, torch.where(
        X[:, 0] + 0.3 * torch.randn(n, generator=generator) > 0, 1.0, -1.0
    ).double()


def logistic(w, batch):
    X, y = batch
    return F.softplus(-y * (X @ w))


def optimiser(setting=SETTING, *, seeds=(1, 2), sources=None, start=None, loss=logistic, **options):
    start = torch.zeros(setting.d, dtype=torch.float64) if start is None else start
    return NoisyZOGD(start, loss, setting, sources=sources or Sources(*seeds), **options)


def noise_of(U, sigma, beta, eta, sources):
    """A step's: K numbers along the directions, and one in every coordinate by a generator whose
    key is drawn next.
    """
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
    """Uses a layer's parameters without calling the layer."""

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


def over(module, loss=cross_entropy, *, xi=1e-3, T=8, sources=None, **options):
    """An optimiser of all of a module that requires a gradient."""
    d = sum(p.numel() for p in module.parameters() if p.requires_grad)
    return NoisyZOGD(
        module, loss, FREE.replace(d=d, xi=xi, T=T), sources=sources or Sources(1, 2), **options
    )


def learn(module, parameters=None, lr=5e-6):
    """A step of somebody else's."""
    other = torch.optim.AdamW(module.parameters() if parameters is None else parameters, lr=lr)
    cross_entropy(module(classes()[0]), classes()[1]).mean().backward()
    other.step()


def composed(made):
    return made.privacy_report(released="all").epsilon


def says_nothing(made, words):
    report = made.privacy_report()
    assert all(
        words in g.reason for g in report.guarantees.values()
    ) and "[not met] Nothing was found" in repr(report)
    return report.epsilon == inf


def centred(strength):
    """A loss less some of the batch's mean."""

    def loss(w, batch):
        own = logistic(w, batch)
        return own - strength * own.mean()

    return loss
