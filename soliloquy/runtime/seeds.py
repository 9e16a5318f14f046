"""Derives ids and random draws from their purpose, so that a rerun repeats them."""

import hashlib
import random


def digest(*parts: object) -> str:
    """Returns a short, stable id of its parts."""
    return hashlib.blake2b(_joined(parts), digest_size=12).hexdigest()


def seed(*parts: object) -> int:
    return int.from_bytes(hashlib.blake2b(_joined(parts), digest_size=8).digest(), "big")


def draw(*parts: object) -> random.Random:
    """Returns the generator for a random choice: the same parts draw the same values anywhere, in any order."""
    return random.Random(seed(*parts))


def _joined(parts: tuple[object, ...]) -> bytes:
    return "\x1f".join(map(str, parts)).encode()
