"""Classifiers learn from labelled problems, say how sure they are, and cannot be had from a foreign file."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from soliloquy.recipes.mathwell.criteria import classifiers
from soliloquy.recipes.mathwell.criteria.classifiers import Classifiers
from soliloquy.recipes.mathwell.criteria.features import SIZE
from soliloquy.recipes.mathwell.criteria.learning import Quality, learn_classifiers
from soliloquy.recipes.mathwell.criteria.verdicts import Criterion
from soliloquy.runtime.failure import Failure
from soliloquy.v1.conversation_pb2 import Ruling
from tests.unit.recipes.mathwell.labelled import labelled


@pytest.fixture(scope="module")
def trained() -> tuple[Classifiers, dict[Criterion, Quality]]:
    return learn_classifiers(labelled("made_with"), 0)


def balanced_accuracy(trained: Classifiers, criterion: Criterion) -> float:
    said = {True: [0, 0], False: [0, 0]}
    for problem, labels in labelled("held_out"):
        for opinion in trained.opinions(problem):
            if opinion.criterion == criterion and criterion in labels:
                ruling = Ruling.RULING_YES if labels[criterion] else Ruling.RULING_NO
                said[labels[criterion]][opinion.ruling == ruling] += 1
    return sum(right / (wrong + right) for wrong, right in said.values()) / 2


# So few problems are too few to learn accuracy from; the paper's 2,830 reached 0.54.
@pytest.mark.parametrize("criterion", [Criterion.SOLVABLE, Criterion.APPROPRIATE])
def test_what_was_learned_holds_for_problems_that_nobody_learned_from(
    trained: tuple[Classifiers, dict[Criterion, Quality]], criterion: Criterion
) -> None:
    assert balanced_accuracy(trained[0], criterion) > 0.7
    assert trained[1][criterion]["roc_auc"] > 0.7


def test_a_classifier_that_tells_nothing_apart_has_no_opinion(
    trained: tuple[Classifiers, dict[Criterion, Quality]],
) -> None:
    problem = labelled("held_out")[0].problem
    by_criterion = {Criterion(opinion.criterion): opinion for opinion in trained[0].opinions(problem)}
    assert trained[0].by_criterion[Criterion.ACCURATE].slope == 0
    assert by_criterion[Criterion.ACCURATE].ruling == Ruling.RULING_UNDECIDED
    assert by_criterion[Criterion.SOLVABLE].ruling == Ruling.RULING_NO
    assert "% of problems like this one are solvable" in by_criterion[Criterion.SOLVABLE].because


def test_classifiers_come_back_from_their_file_as_they_were(
    trained: tuple[Classifiers, dict[Criterion, Quality]], tmp_path: Path
) -> None:
    path = tmp_path / "criteria.npz"
    classifiers.save(trained[0], path)
    back = classifiers.load(path)
    for problem, _ in labelled("held_out")[:5]:
        assert list(back.opinions(problem)) == list(trained[0].opinions(problem))


def test_a_file_that_holds_something_else_is_refused(tmp_path: Path) -> None:
    pickled, short = tmp_path / "pickled.npz", tmp_path / "short.npz"
    contents: dict[Path, dict[str, Any]] = {
        pickled: {"solvable/weights": np.array([object()], dtype=object)},
        short: {"solvable/weights": np.zeros(SIZE // 2), "solvable/scale": np.zeros(3)},
    }
    for path, arrays in contents.items():
        np.savez(path, **arrays)
    (tmp_path / "text.npz").write_text("no arrays")
    for path in (pickled, short, tmp_path / "text.npz", tmp_path / "missing.npz"):
        with pytest.raises(Failure, match=path.name):
            classifiers.load(path)


def test_too_few_rows_of_one_label_are_refused() -> None:
    with pytest.raises(Failure, match="at least 10 rows of each label are required; there are 40 yes, 0 no"):
        learn_classifiers([one for one in labelled("made_with") if one.labels[Criterion.SOLVABLE]][:40], 0)
