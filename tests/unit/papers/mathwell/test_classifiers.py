"""Classifiers learn from labelled problems, say how sure they are, and cannot be had from a foreign file."""

import re
from pathlib import Path

import numpy as np
import pytest

from soliloquy.annotation.measured import Measured
from soliloquy.runtime.failure import Failure
from soliloquy.v1.conversation_pb2 import Ruling
from soliloquy_papers.mathwell.criteria import classifiers
from soliloquy_papers.mathwell.criteria.classifiers import Classifier, Classifiers, Scale
from soliloquy_papers.mathwell.criteria.features import SIZE
from soliloquy_papers.mathwell.criteria.learning import calibrate
from soliloquy_papers.mathwell.criteria.scoring import JUDGES
from soliloquy_papers.mathwell.criteria.verdicts import NAMES, Criterion, Evidence, Labelled
from tests.unit.papers.mathwell.labelled import NO_TREES, labelled


@pytest.fixture(scope="module")
def trained() -> tuple[Classifiers, list[Measured]]:
    rows = [one._replace(writer="ab"[number % 2]) for number, one in enumerate(labelled("made_with"))]
    return calibrate(rows, 0.85, 0)


def balanced_accuracy(trained: Classifiers, criterion: Criterion) -> float:
    said = {True: [0, 0], False: [0, 0]}
    for problem, labels, _ in labelled("held_out"):
        for opinion in trained.opinions(problem):
            if opinion.criterion == criterion and criterion in labels:
                ruling = Ruling.RULING_YES if labels[criterion] else Ruling.RULING_NO
                said[labels[criterion]][opinion.ruling == ruling] += 1
    return sum(right / (wrong + right) for wrong, right in said.values()) / 2


@pytest.mark.parametrize("criterion", Criterion)
def test_what_was_learned_holds_for_problems_that_nobody_learned_from(
    trained: tuple[Classifiers, list[Measured]], criterion: Criterion
) -> None:
    assert balanced_accuracy(trained[0], criterion) > 0.6
    [both] = [one for one in trained[1] if (one.subject, one.judge) == (criterion, "both")]
    assert both.roc_auc is not None
    assert both.roc_auc > 0.7
    assert 0 < both.interval < 0.15


def test_writers_are_measured_each(trained: tuple[Classifiers, list[Measured]]) -> None:
    assert {one.subject for one in trained[1]} == {*Criterion, "all", "a", "b"}
    assert sum(len(one.met) for one in trained[1] if one.subject in ("a", "b")) == 2 * len(labelled("made_with"))


def test_as_many_good_problems_are_kept_as_was_asked(trained: tuple[Classifiers, list[Measured]]) -> None:
    [both] = [one for one in trained[1] if (one.subject, one.judge) == ("all", "both")]
    assert both.recall.value == pytest.approx(0.85, abs=0.08)
    assert all(0 < one.read.threshold < 1 for one in trained[0].by_criterion.values())


def test_an_opinion_says_how_likely_it_is_and_how_much_is_wanted(
    trained: tuple[Classifiers, list[Measured]],
) -> None:
    [said, *_] = trained[0].opinions(labelled("held_out")[0].problem)
    assert re.fullmatch(r"\d+% of problems like this one are solvable; \d+% are wanted", said.because)


def test_a_classifier_that_tells_nothing_apart_has_no_opinion() -> None:
    flat = Classifier(forest=NO_TREES, read=Scale(np.zeros(2), 0.5))
    [said] = Classifiers(by_criterion={Criterion.ACCURATE: flat}).opinions(labelled("held_out")[0].problem)
    assert said.ruling == Ruling.RULING_UNDECIDED


def test_classifiers_come_back_from_their_file_as_they_were(
    trained: tuple[Classifiers, list[Measured]], tmp_path: Path
) -> None:
    path = tmp_path / "criteria.npz"
    classifiers.save(trained[0], path)
    back = classifiers.load(path)
    for problem, *_ in labelled("held_out")[:5]:
        assert list(back.opinions(problem)) == list(trained[0].opinions(problem))


def test_a_file_that_holds_something_else_is_refused(tmp_path: Path) -> None:
    np.savez(tmp_path / "pickled.npz", np.array([object()], dtype=object))
    (tmp_path / "text.npz").write_text("no arrays")
    for name in ("pickled.npz", "text.npz", "missing.npz"):
        with pytest.raises(Failure, match=name):
            classifiers.load(tmp_path / name)


def test_a_file_of_other_rules_is_refused_by_their_names(tmp_path: Path) -> None:
    np.savez(tmp_path / "other.npz", weighed=["rule new", *JUDGES[1:], *NAMES, f"{SIZE} features"])
    with pytest.raises(Failure, match=f"{JUDGES[0]}, rule new; calibrate again"):
        classifiers.load(tmp_path / "other.npz")


def test_too_few_rows_of_one_label_are_refused() -> None:
    with pytest.raises(Failure, match="at least 10 rows of each label are required; there are 40 yes, 0 no"):
        calibrate([one for one in labelled("made_with") if one.labels[Criterion.SOLVABLE]][:40], 0.85, 0)


def examined(rows: list[Labelled]) -> list[Evidence]:
    """Returns evidence that tells accurate problems in nine of ten cases, and nothing of the other criteria."""
    found = []
    for number, (problem, labels, _) in enumerate(rows):
        right = labels.get(Criterion.ACCURATE, False) is (number % 10 != 0)
        value = problem.answer if right or problem.answer is None else problem.answer + 1
        found.append(Evidence(values=[value] * 3))
    return found


def test_evidence_counts_for_as_much_as_it_tells(trained: tuple[Classifiers, list[Measured]], tmp_path: Path) -> None:
    rows = labelled("made_with")
    learned, measured = calibrate(rows, 0.85, 0, examined(rows))
    found = {(one.subject, one.judge): one.balanced_accuracy for one in measured}
    assert found["accurate", "programs"] > 0.85
    assert found["accurate", "all"] > found["accurate", "both"]
    assert abs(found["appropriate", "programs"] - 0.5) < 0.2
    assert found["all", "all"] > found["all", "both"]
    # A problem that nobody examined is judged as by classifiers that never saw evidence.
    problem = labelled("held_out")[0].problem
    assert list(learned.opinions(problem)) == list(trained[0].opinions(problem))
    classifiers.save(learned, tmp_path / "criteria.npz")
    back = classifiers.load(tmp_path / "criteria.npz")
    assert back.weighs_evidence
    assert not trained[0].weighs_evidence
    agreeing, other = (
        list(back.opinions(problem, Evidence(values=[problem.answer and problem.answer + more] * 3))) for more in (0, 1)
    )
    assert agreeing != other
