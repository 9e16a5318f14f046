"""Small classifiers, one per criterion: a logistic regression and trees, learned from labelled problems."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from soliloquy.runtime.failure import Failure
from soliloquy.v1.conversation_pb2 import Opinion
from soliloquy_papers.mathwell.criteria.evidence import NAMES, Evidence, evidence_vector
from soliloquy_papers.mathwell.criteria.features import SIZE, Array, Vector, vector
from soliloquy_papers.mathwell.criteria.forest import Forest
from soliloquy_papers.mathwell.criteria.scale import chances_on
from soliloquy_papers.mathwell.criteria.scoring import JUDGES, WEIGHING
from soliloquy_papers.mathwell.criteria.verdicts import Criterion, WordProblem, opinion


@dataclass(frozen=True, slots=True)
class Scale:
    """From the scores, and the evidence if there is any, to a probability."""

    # A weight of each, then the offset. If all weights are zero, nothing was learned.
    line: Array
    # The least probability for a yes.
    threshold: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Classifier:
    weights: Vector
    forest: Forest
    # For problems that were only read, and for those that were examined too, if it learned from such.
    read: Scale
    examined: Scale | None = None

    def scores(self, features: Vector) -> list[float]:
        return [float(self.weights @ features), float(self.forest.scores(features[None, :])[0])]


@dataclass(frozen=True, kw_only=True, slots=True)
class Classifiers:
    by_criterion: Mapping[Criterion, Classifier]

    @property
    def weighs_evidence(self) -> bool:
        return all(classifier.examined for classifier in self.by_criterion.values())

    def opinions(self, problem: WordProblem, evidence: Evidence | None = None) -> Iterator[Opinion]:
        features = vector(problem)
        for criterion, classifier in self.by_criterion.items():
            found, scale = classifier.scores(features), classifier.read
            if evidence and classifier.examined:
                found, scale = [*found, *evidence_vector(evidence, problem.answer)], classifier.examined
            if not scale.line[:-1].any():
                yield opinion(criterion, meets=None, judge=WEIGHING, because="it could not learn to tell them apart")
                continue
            likely = float(chances_on(np.array(found), scale.line))
            told = f"{likely:.0%} of problems like this one are {criterion}; {scale.threshold:.0%} are wanted"
            yield opinion(criterion, meets=likely >= scale.threshold, judge=WEIGHING, because=told)


def save(classifiers: Classifiers, path: Path) -> None:
    """Writes plain arrays, which execute no code when loaded."""
    arrays = {
        f"{criterion}/{name}": value
        for criterion, one in classifiers.by_criterion.items()
        for name, value in (
            *(("weights", one.weights), ("scale", _joined(one.read)), ("examined", _joined(one.examined))),
            *one.forest._asdict().items(),
        )
    }
    with path.open("wb") as file:
        np.savez_compressed(file, allow_pickle=False, rules=np.array(JUDGES), evidence=np.array(NAMES), **arrays)


def _joined(scale: Scale | None) -> Array:
    return np.array([*scale.line, scale.threshold] if scale else [])


def _scale(array: Array) -> Scale:
    return Scale(np.asarray(array[:-1], dtype=float), float(array[-1]))


def load(path: Path) -> Classifiers:
    try:
        with np.load(path, allow_pickle=False) as arrays:
            weighed = {str(name) for name in (*arrays["rules"], *arrays["evidence"])}
            found = {
                criterion: Classifier(
                    weights=arrays[f"{criterion}/weights"],
                    forest=Forest(*(arrays[f"{criterion}/{name}"] for name in Forest._fields)),
                    read=_scale(arrays[f"{criterion}/scale"]),
                    examined=_scale(examined) if len(examined := arrays[f"{criterion}/examined"]) else None,
                )
                for criterion in Criterion
                if f"{criterion}/weights" in arrays
            }
    except (OSError, ValueError, KeyError, IndexError, EOFError) as error:
        raise Failure(f"{path} holds no classifiers: use a file of soliloquy problems calibrate") from error
    if changed := sorted(weighed.symmetric_difference((*JUDGES, *NAMES))):
        raise Failure(f"{path} was made under other rules, which differ in {', '.join(changed[:3])}; calibrate again")
    if not found or any(one.weights.shape != (SIZE,) for one in found.values()):
        raise Failure(f"{path} holds no classifiers of {SIZE} features; calibrate again")
    return Classifiers(by_criterion=found)
