"""Short texts for a first language model: names of languages, places, scripts and currencies, from Babel's Unicode CLDR."""

from collections import Counter
from unicodedata import normalize

import numpy as np

PUBLIC = ("de", "it", "sv", "hu", "cs", "id", "ro", "da")  # for a first model
LENGTH = 20  # letters per text, at most
ALPHABET = " abcdefghijklmnopqrstuvwxyz"


def names(languages: tuple[str, ...]) -> tuple[list[str], np.ndarray]:
    """Names that only one of these languages uses, in lower-case letters, and their languages.

    Raises:
        ValueError: the package with the names is missing.
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
    """Letters as numbers from 1 on, padded with 0, shape (texts, LENGTH)."""
    found = np.zeros((len(texts), LENGTH), np.int64)
    for row, text in zip(found, texts, strict=True):
        row[: len(text)] = [1 + ALPHABET.index(c) for c in text]
    return found
