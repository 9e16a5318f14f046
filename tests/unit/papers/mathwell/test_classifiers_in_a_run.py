"""Classifiers that a run names judge along with its rules and its model, and all of them have to agree."""

import asyncio
from pathlib import Path

import numpy as np
import pytest

from soliloquy.recipes.judges import Judges
from soliloquy.recipes.recipe import load_judges
from soliloquy.runtime.retry import Refused
from soliloquy_papers.mathwell.commissions import authorship_of
from soliloquy_papers.mathwell.criteria.classifiers import Classifier, Classifiers, Scale, save
from soliloquy_papers.mathwell.criteria.verdicts import Criterion
from soliloquy_papers.mathwell.recipe import RECIPE
from tests.unit.papers.mathwell.labelled import NO_TREES
from tests.unit.papers.mathwell.writing import Says, commissioned, made


def loaded(folder: Path, *, likely: float) -> Judges:
    """Returns classifiers that find every problem equally likely to meet each criterion."""
    offset = float(np.log(likely / (1 - likely)))
    one = Classifier(forest=NO_TREES, read=Scale(np.array([1.0, offset]), 0.5))
    path = folder / f"{likely}.npz"
    save(Classifiers(by_criterion=dict.fromkeys(Criterion, one)), path)
    return load_judges(path)


def test_what_rules_classifiers_and_the_model_let_pass_is_kept(tmp_path: Path) -> None:
    judges = loaded(tmp_path, likely=0.9)
    [digest] = judges.by_digest
    agreed = asyncio.run(made(commissioned(), model := Says(), classifiers=digest, judges=judges))
    assert {one.judge for one in authorship_of(agreed.problem).opinions} == {"rules", "classifier", "model"}
    assert RECIPE.faults(agreed) == []
    assert len(model.asked) == 2


def test_a_classifier_that_disagrees_is_a_no_with_its_reason_and_no_model_is_asked_any_more(tmp_path: Path) -> None:
    judges = loaded(tmp_path, likely=0.2)
    [digest] = judges.by_digest
    one = asyncio.run(made(commissioned(), model := Says(), classifiers=digest, judges=judges))
    assert [request.prompt for request in model.asked] == ["mathwell/writing"]
    assert RECIPE.faults(one) == [
        f"{criterion}: classifier: 20% of problems like this one are {criterion}; 50% are wanted"
        for criterion in Criterion
    ]


def test_a_problem_whose_classifiers_the_composer_lacks_is_refused_with_what_to_do(tmp_path: Path) -> None:
    judges = loaded(tmp_path, likely=0.5)
    with pytest.raises(Refused, match=r"the run wants the classifiers 0123456789ab, .*: start it with --classifiers"):
        asyncio.run(made(commissioned(), Says(), classifiers="0123456789abcdef", judges=judges))
