"""Small classifiers, one per criterion: trees, learned from labelled problems, and a line to a probability."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from soliloquy.runtime.failure import Failure
from soliloquy.v1.conversation_pb2 import Opinion
from soliloquy_papers.mathwell.criteria.features import SIZE, Array, vector
from soliloquy_papers.mathwell.criteria.forest import Forest
from soliloquy_papers.mathwell.criteria.scoring import JUDGES, WEIGHING
from soliloquy_papers.mathwell.criteria.verdicts import (
    NAMES,
    Criterion,
    Evidence,
    WordProblem,
    evidence_vector,
    opinion,
)

# All that a file of classifiers weighs: another version's rules or evidence would be read as these.
_WEIGHED = (*JUDGES, *NAMES, f"{SIZE} features")


@dataclass(frozen=True, slots=True)
class Scale:
    """From the score, and the evidence if there is any, to a probability."""

    # A weight of each, then the offset. If all weights are zero, nothing was learned.
    line: Array
    # The least probability for a yes.
    threshold: float = 0.0

    def chances(self, columns: Array) -> Array:
        return np.asarray(1 / (1 + np.exp(-np.clip(columns @ self.line[:-1] + self.line[-1], -30, 30))))


@dataclass(frozen=True, kw_only=True, slots=True)
class Classifier:
    forest: Forest
    # For problems that were only read, and for those that were examined too, if it learned from such.
    read: Scale
    examined: Scale | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Classifiers:
    by_criterion: Mapping[Criterion, Classifier]

    @property
    def weighs_evidence(self) -> bool:
        return all(classifier.examined for classifier in self.by_criterion.values())

    def opinions(self, problem: WordProblem, evidence: Evidence | None = None) -> Iterator[Opinion]:
        features = vector(problem)[None, :]
        for criterion, classifier in self.by_criterion.items():
            found, scale = classifier.forest.scores(features), classifier.read
            if evidence and classifier.examined:
                found, scale = np.append(found, evidence_vector(evidence, problem.answer)), classifier.examined
            if not scale.line[:-1].any():
                yield opinion(criterion, meets=None, judge=WEIGHING, because="it could not learn to tell them apart")
                continue
            likely = float(scale.chances(found))
            told = f"{likely:.0%} of problems like this one are {criterion}; {scale.threshold:.0%} are wanted"
            yield opinion(criterion, meets=likely >= scale.threshold, judge=WEIGHING, because=told)


def save(classifiers: Classifiers, path: Path) -> None:
    """Writes plain arrays, which execute no code when loaded."""
    arrays: dict[str, Array] = {}
    for criterion, one in classifiers.by_criterion.items():
        found = {**one.forest._asdict(), "read": _joined(one.read), "examined": _joined(one.examined)}
        arrays |= {f"{criterion}/{name}": value for name, value in found.items()}
    with path.open("wb") as file:
        np.savez_compressed(file, allow_pickle=False, weighed=np.array(_WEIGHED), **arrays)


def _joined(scale: Scale | None) -> Array:
    return np.array([*scale.line, scale.threshold] if scale else [])


def load(path: Path) -> Classifiers:
    try:
        with np.load(path, allow_pickle=False) as arrays:
            weighed = set(map(str, arrays["weighed"]))
            found = {
                criterion: Classifier(
                    forest=Forest(*(arrays[f"{criterion}/{name}"] for name in Forest._fields)),
                    read=_scale(arrays[f"{criterion}/read"]),
                    examined=_scale(examined) if len(examined := arrays[f"{criterion}/examined"]) else None,
                )
                for criterion in Criterion
                if f"{criterion}/read" in arrays
            }
    except (OSError, ValueError, KeyError, IndexError, EOFError) as error:
        raise Failure(f"{path} holds no classifiers: use a file of soliloquy problems calibrate") from error
    if changed := sorted(weighed.symmetric_difference(_WEIGHED)):
        raise Failure(f"{path} was made under other rules, which differ in {', '.join(changed[:3])}; calibrate again")
    return Classifiers(by_criterion=found)


def _scale(array: Array) -> Scale:
    return Scale(np.asarray(array[:-1], dtype=float), float(array[-1]))
