"""Short texts: names of languages, places, scripts and currencies, and a small transformer that was trained on other languages.

The names are those of the Unicode CLDR, which Babel carries. The transformer reads letters. It is trained here, in seconds, on
languages that no task asks for, so that it may be taken as public, as a model would be that somebody downloads. A task trains
low-rank adapters of its attention and a new last layer (Hu et al. 2021, doi:10.48550/arXiv.2106.09685).
"""

from collections import Counter
from functools import cache
from math import sqrt
from unicodedata import normalize

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, layer_norm, pad, softmax

PRIVATE = ("nl", "fr", "es", "fi", "pl", "tr")  # the languages to tell apart
PUBLIC = ("de", "it", "sv", "hu", "cs", "id", "ro", "da")  # those that the transformer has seen
LENGTH, WIDTH, HIDDEN, RANK = 20, 32, 128, 4  # letters of a text; numbers a letter; units of a layer; of an adapter
NEAR = 3  # letters that are seen at a place: the one before, its own, the one after
ALPHABET = " abcdefghijklmnopqrstuvwxyz"
STEPS, AT_ONCE, RATE = 400, 256, 3e-3  # of the training on public languages


def names(languages: tuple[str, ...]) -> tuple[list[str], np.ndarray]:
    """The names that one of these languages alone uses, in plain lower-case letters, and which language it is.

    Raises:
        ValueError: the package that carries them is missing.
    """
    try:
        from babel import Locale
    except ImportError:
        raise ValueError("the package babel carries these data and is not installed: pip install 'zoexplore[tasks]'") from None

    found = []
    for place, language in enumerate(languages):
        known = Locale.parse(language)
        texts = {t for part in (known.languages, known.territories, known.scripts, known.currencies) for t in part.values()}
        found += [(text, place) for text in sorted({_plain(text) for text in texts}) if len(text) > 2]
    times = Counter(text for text, _ in found)
    alone = [(text, place) for text, place in found if times[text] == 1]
    return [text for text, _ in alone], np.array([place for _, place in alone])


def _plain(text: str) -> str:
    letters = "".join(c for c in normalize("NFKD", text.lower()) if c in ALPHABET)
    return " ".join(letters.split())[:LENGTH]


def codes(texts: list[str]) -> np.ndarray:
    """Letters as numbers from 1 on, 0 where a text has ended, shape (texts, LENGTH)."""
    found = np.zeros((len(texts), LENGTH), np.int64)
    for row, text in zip(found, texts, strict=True):
        row[: len(text)] = [1 + ALPHABET.index(c) for c in text]
    return found


class Transformer(nn.Module):
    """One block of attention and a layer of units, the mean over the letters, and scores. Adapters start at nothing.

    Args:
        classes: how many scores.
        base: the frozen part, by name; it is drawn anew, and trained, where None.
    """

    letters: Tensor
    places: Tensor
    query: Tensor
    key: Tensor
    value: Tensor
    out: Tensor
    inner: Tensor
    outer: Tensor
    FROZEN = ("letters", "places", "query", "key", "value", "out", "inner", "outer")

    def __init__(self, classes: int, base: dict[str, Tensor] | None = None) -> None:
        super().__init__()
        shapes = {
            "letters": (NEAR, 1 + len(ALPHABET), WIDTH), "places": (LENGTH, WIDTH),
            "inner": (HIDDEN, WIDTH), "outer": (WIDTH, HIDDEN),
            **dict.fromkeys(("query", "key", "value", "out"), (WIDTH, WIDTH)),
        }  # fmt: skip
        for name in self.FROZEN:
            if base is None:
                self.register_parameter(name, nn.Parameter(torch.randn(shapes[name]) / sqrt(WIDTH)))
            else:
                self.register_buffer(name, base[name])
        if base is not None:
            self.query_down, self.query_up = nn.Linear(WIDTH, RANK, bias=False), nn.Linear(RANK, WIDTH, bias=False)
            self.value_down, self.value_up = nn.Linear(WIDTH, RANK, bias=False), nn.Linear(RANK, WIDTH, bias=False)
        self.head = nn.Linear(WIDTH, classes)

    def embed(self, letters: Tensor) -> Tensor:
        """Letters by number, shape (n, LENGTH), to rows of LENGTH times WIDTH numbers; zeros after a text's end."""
        around = pad(letters, (1, 1)).unfold(1, NEAR, 1)  # shape (n, LENGTH, NEAR)
        near = sum(table[around[..., i]] for i, table in enumerate(self.letters))
        return ((near + self.places) * (letters > 0).unsqueeze(-1)).flatten(1)

    def forward(self, rows: Tensor) -> Tensor:
        """Scores, shape (n, classes), of embedded texts of any length other than 0."""
        x = rows.unflatten(-1, (LENGTH, WIDTH))
        there = x.abs().sum(-1) > 0
        x = layer_norm(x, (WIDTH,))
        q, k, v = x @ self.query.T, x @ self.key.T, x @ self.value.T
        if hasattr(self, "query_down"):
            q, v = q + self.query_up(self.query_down(x)), v + self.value_up(self.value_down(x))
        weights = softmax((q @ k.transpose(-1, -2) / sqrt(WIDTH)).masked_fill(~there.unsqueeze(-2), -1e9), -1)
        x = x + (weights @ v) @ self.out.T
        x = x + torch.relu(layer_norm(x, (WIDTH,)) @ self.inner.T) @ self.outer.T
        share = there.to(x.dtype) / there.sum(-1, keepdim=True).clamp(min=1)
        return self.head(layer_norm((x * share.unsqueeze(-1)).sum(-2), (WIDTH,)))


@cache
def base() -> dict[str, Tensor]:
    """The frozen part, trained on the public languages from seed 0."""
    texts, labels = names(PUBLIC)
    letters, y = torch.from_numpy(codes(texts)), torch.from_numpy(labels)
    with torch.random.fork_rng(), torch.enable_grad():
        torch.manual_seed(0)
        module = Transformer(len(PUBLIC))
        descent = torch.optim.Adam(module.parameters(), lr=RATE)
        for _ in range(STEPS):
            rows = torch.randint(len(y), (AT_ONCE,))
            descent.zero_grad()
            cross_entropy(module(module.embed(letters[rows])), y[rows]).backward()
            descent.step()
    return {name: getattr(module, name).detach() for name in Transformer.FROZEN}


def embedded(texts: list[str]) -> np.ndarray:
    """Texts as rows of numbers, by the frozen part."""
    with torch.no_grad():
        return Transformer(2, base()).embed(torch.from_numpy(codes(texts))).double().numpy()
