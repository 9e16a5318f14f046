"""Ids and random draws that follow from what they are for, so that a rerun repeats them."""

import hashlib
import random


def digest(*parts: object) -> str:
    """A short stable id of its parts."""
    return hashlib.blake2b(_joined(parts), digest_size=12).hexdigest()


def seed(*parts: object) -> int:
    return int.from_bytes(hashlib.blake2b(_joined(parts), digest_size=8).digest(), "big")


def draw(*parts: object) -> random.Random:
    """The source of every random choice: the same parts draw the same values, anywhere, in any order."""
    return random.Random(seed(*parts))


def _joined(parts: tuple[object, ...]) -> bytes:
    return "\x1f".join(str(part) for part in parts).encode()
