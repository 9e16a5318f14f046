"""Turns texts into hashes of their runs of words, the same in every process."""

import hashlib
import re
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import numpy.typing as npt

Hashes = npt.NDArray[np.uint64]

# Words, numbers, and arithmetic signs; a hyphen inside a word is not a sign.
_TOKEN = re.compile(
    r"(?P<number>\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?|\.\d+)|[^\W\d_]+"
    r"|[+*/^=<>√±×÷·%]|(?<![^\W\d_])[-−]|[-−](?![^\W\d_])"
)
# A vocabulary; numbers never end.
_REMEMBERED = 200_000


def tokens(text: str) -> list[str]:
    """Returns the words, signs and numbers of a text; "1,000.0" and "1000" are the same number."""
    return [
        match.group() if match["number"] is None else f"{float(match['number'].replace(',', '')):.10g}"
        for match in _TOKEN.finditer(text.casefold())
    ]


def is_number(token: str) -> bool:
    return token[0].isdigit()


def hashes_of(words: Sequence[str]) -> Hashes:
    return np.fromiter(map(_hash_of, words), np.uint64, len(words))


def runs(words: Hashes, size: int) -> Hashes:
    """Returns the sorted hashes of the different runs of so many words; of all words if there are fewer."""
    size = min(size, len(words))
    # Sums and products are taken modulo 2**64.
    found = np.zeros(len(words) - size + 1 if size else 0, np.uint64)
    for place, factor in enumerate(_factors(size)):
        found += words[place : place + len(found)] * factor
    # Faster than np.unique, which looks for more.
    found.sort()
    return found[np.append(True, found[1:] != found[:-1])] if size else found


@lru_cache(_REMEMBERED)
def _hash_of(word: str) -> int:
    return int.from_bytes(hashlib.blake2b(word.encode(), digest_size=8).digest(), "big")


@lru_cache
def _factors(size: int) -> Hashes:
    return hashes_of([f"place {place}" for place in range(size)]) | np.uint64(1)
