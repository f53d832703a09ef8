"""Short texts: names of languages, places, scripts and currencies, for a first language model.

The names are those of the Unicode CLDR, which Babel carries.
"""

from collections import Counter
from unicodedata import normalize

import numpy as np

PUBLIC = ("de", "it", "sv", "hu", "cs", "id", "ro", "da")  # languages for a model to begin with
LENGTH = 20  # letters of a text
ALPHABET = " abcdefghijklmnopqrstuvwxyz"


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
