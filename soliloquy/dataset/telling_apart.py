"""Tells two sets of conversations apart by how they are written: a linear model with named features.

Keeps figures of each conversation only, never its text.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt

from soliloquy.dataset.manner import SPEAKERS, Talk
from soliloquy.runtime.files import table_beside
from soliloquy.texts.utterances import words

Array = npt.NDArray[np.float64]

FOLDS = 5
# Few rows, many features.
DECAY = 0.02
RATE = 0.5
ROUNDS = 400
# The least number of conversations of each kind.
LEAST = 20

_TABLE = table_beside(__file__, "telling_apart.toml")
_WORDS = {name: frozenset(words) for name, words in _TABLE["words"].items()}
_MARKS = {name: re.compile(pattern) for name, pattern in _TABLE["marks"].items()}


@dataclass(frozen=True, kw_only=True, slots=True)
class Feature:
    name: str
    weight: float
    # Means over the conversations of each set.
    ours: float
    theirs: float


@dataclass(frozen=True, kw_only=True, slots=True)
class ToldApart:
    """How well conversations are told apart that the model has not seen, and what tells them apart."""

    rows: tuple[int, int]
    # The mean of both shares that are told right, and the chance that one of ours ranks above one of theirs.
    accuracy: float
    auc: float
    # The heaviest first.
    features: Sequence[Feature]


def tell_apart(ours: Sequence[Talk], theirs: Sequence[Talk]) -> ToldApart | None:
    """Returns None for too few conversations."""
    if min(len(ours), len(theirs)) < LEAST:
        return None
    raw = np.array([list(features(talk).values()) for talk in (*ours, *theirs)])
    labels = np.array([1.0] * len(ours) + [0.0] * len(theirs))
    folds = np.array([*(np.arange(len(ours)) % FOLDS), *(np.arange(len(theirs)) % FOLDS)])
    scores = np.zeros(len(labels))
    for fold in range(FOLDS):
        inside = folds == fold
        middle, spread = raw[~inside].mean(0), raw[~inside].std(0) + 1e-9
        weights = _weights((raw[~inside] - middle) / spread, labels[~inside])
        scores[inside] = (raw[inside] - middle) / spread @ weights[:-1] + weights[-1]
    weights = _weights((raw - raw.mean(0)) / (raw.std(0) + 1e-9), labels)
    said, is_ours = scores > 0, labels == 1
    means = (raw[of].mean(0).tolist() for of in (is_ours, ~is_ours))
    found = (
        Feature(name=name, weight=weight, ours=mean, theirs=other)
        for name, weight, mean, other in zip(features(ours[0]), weights[:-1].tolist(), *means, strict=True)
    )
    return ToldApart(
        rows=(len(ours), len(theirs)),
        accuracy=float((said[is_ours].mean() + (~said[~is_ours]).mean()) / 2),
        auc=_auc(scores[is_ours], scores[~is_ours]),
        features=sorted(found, key=lambda one: -abs(one.weight)),
    )


def features(talk: Talk) -> Mapping[str, float]:
    found: dict[str, float] = {"turns": float(len(talk.turns))}
    for speaker in SPEAKERS:
        found |= {f"{speaker}: {name}": value for name, value in _of_speaker(list(talk.said(speaker)))}
    taken = list(talk.uptakes())
    found["tutor: words taken up"] = sum(taken) / max(len(taken), 1)
    return found


def _of_speaker(texts: Sequence[str]) -> Iterator[tuple[str, float]]:
    said = [words(text) for text in texts]
    sizes = [len(one) for one in said] or [0]
    every, messages = max(sum(sizes), 1), max(len(texts), 1)
    yield "words a message", sum(sizes) / len(sizes)
    yield "spread of words a message", float(np.std(sizes))
    yield "different words of the first hundred", float(len({*list(chain.from_iterable(said))[:100]}))
    yield "letters a word", sum(len(word) for one in said for word in one) / every
    for name, mark in _MARKS.items():
        yield f"{name} in 100 words", 100 * sum(len(mark.findall(text)) for text in texts) / every
    for name, wanted in _WORDS.items():
        yield f"{name} in 100 words", 100 * sum(word in wanted for one in said for word in one) / every
    for name, holds in _ENDS.items():
        yield f"messages that {name}", sum(map(holds, texts)) / messages


_ENDS: Mapping[str, Callable[[str], bool]] = {
    "begin with a capital": lambda text: text[:1].isupper(),
    "end with a question": lambda text: text.rstrip().endswith("?"),
    "end without a mark": lambda text: text.rstrip()[-1:].isalnum(),
}


def _weights(rows: Array, labels: Array) -> Array:
    """Fits a logistic model; both labels have the same total weight, and the last weight is the offset."""
    filled = np.column_stack([rows, np.ones(len(rows))])
    share = np.where(labels == 1, 0.5 / labels.mean(), 0.5 / (1 - labels.mean())) / len(labels)
    weights = np.zeros(filled.shape[1])
    keeps = np.append(np.full(rows.shape[1], DECAY), 0.0)
    for _ in range(ROUNDS):
        chance = 1 / (1 + np.exp(-np.clip(filled @ weights, -30, 30)))
        weights -= RATE * (filled.T @ (share * (chance - labels)) + keeps * weights)
    return weights


def _auc(ours: Array, theirs: Array) -> float:
    above: npt.NDArray[Any] = ours[:, None] > theirs[None, :]
    return float((above + 0.5 * (ours[:, None] == theirs[None, :])).mean())
