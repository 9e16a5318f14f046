"""Small classifiers, one per criterion: logistic regressions learned from labelled problems."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from soliloquy.recipes.mathwell.criteria.features import SIZE, Vector, vector
from soliloquy.recipes.mathwell.criteria.scoring import JUDGES, WEIGHING
from soliloquy.recipes.mathwell.criteria.verdicts import Criterion, WordProblem, opinion
from soliloquy.runtime.failure import Failure
from soliloquy.v1.conversation_pb2 import Opinion


@dataclass(frozen=True, slots=True)
class Classifier:
    weights: Vector
    # Calibration from raw score to probability. A slope of zero means that nothing was learned.
    slope: float
    offset: float
    # The least probability for a yes.
    threshold: float

    def probability(self, features: Vector) -> float:
        score = self.slope * float(self.weights @ features) + self.offset
        return 1 / (1 + math.exp(-max(-30.0, min(30.0, score))))


@dataclass(frozen=True, kw_only=True, slots=True)
class Classifiers:
    by_criterion: Mapping[Criterion, Classifier]

    def opinions(self, problem: WordProblem) -> Iterator[Opinion]:
        features = vector(problem)
        for criterion, classifier in self.by_criterion.items():
            if not classifier.slope:
                yield opinion(criterion, meets=None, judge=WEIGHING, because="it could not learn to tell them apart")
                continue
            likely = classifier.probability(features)
            told = f"{likely:.0%} of problems like this one are {criterion}; {classifier.threshold:.0%} are wanted"
            yield opinion(criterion, meets=likely >= classifier.threshold, judge=WEIGHING, because=told)


def save(classifiers: Classifiers, path: Path) -> None:
    """Writes plain arrays, which execute no code when loaded."""
    arrays = {
        f"{criterion}/{name}": value
        for criterion, one in classifiers.by_criterion.items()
        for name, value in (("weights", one.weights), ("scale", np.array([one.slope, one.offset, one.threshold])))
    }
    with path.open("wb") as file:
        np.savez_compressed(file, allow_pickle=False, rules=np.array(JUDGES), **arrays)


def load(path: Path) -> Classifiers:
    try:
        with np.load(path, allow_pickle=False) as arrays:
            weighed = {str(rule) for rule in arrays["rules"]}
            found = {
                criterion: Classifier(arrays[f"{criterion}/weights"], *map(float, arrays[f"{criterion}/scale"]))
                for criterion in Criterion
                if f"{criterion}/weights" in arrays
            }
    except (OSError, ValueError, KeyError, EOFError) as error:
        raise Failure(f"{path} holds no classifiers: use a file of soliloquy problems calibrate") from error
    if changed := sorted(weighed.symmetric_difference(JUDGES)):
        raise Failure(f"{path} was made under other rules, which differ in {', '.join(changed[:3])}; calibrate again")
    if not found or any(one.weights.shape != (SIZE,) for one in found.values()):
        raise Failure(f"{path} holds no classifiers of {SIZE} features; calibrate again")
    return Classifiers(by_criterion=found)
