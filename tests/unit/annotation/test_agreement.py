"""Kappas and alphas are those of well-kept libraries, to the last digit."""

import json
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
from click.testing import CliRunner

from soliloquy.annotation.agreement import (
    Level,
    Table,
    cohens_kappa,
    estimate,
    fleiss_kappa,
    krippendorffs_alpha,
    observed,
)
from soliloquy.annotation.report import agreement
from soliloquy.annotation.rows import Annotation, read_annotations, written
from soliloquy.annotation.scheme import scheme_of
from soliloquy.cli.main import commands
from soliloquy.runtime.failure import Failure

NONE = np.nan
JUDGED: Table = np.array(
    [
        [1, 1, NONE, 1],
        [2, 2, 3, 2],
        [3, 3, 3, 3],
        [3, 3, 3, 3],
        [2, 2, 2, 2],
        [1, 2, 3, 4],
        [4, 4, 4, 4],
        [1, 1, 2, 1],
        [2, 2, 2, 2],
        [NONE, 5, 5, 5],
        [NONE, NONE, 1, 1],
        [NONE, NONE, 3, NONE],
    ]
)
WHOLE = JUDGED[1:9]


# By krippendorff 0.9.0.
@pytest.mark.parametrize(
    ("level", "alpha"),
    [("nominal", 0.743421052631579), ("ordinal", 0.8153875037548814), ("interval", 0.8491071428571428)],
)
def test_alpha_is_that_of_the_library_though_judgements_are_missing(level: Level, alpha: float) -> None:
    assert krippendorffs_alpha(JUDGED, level) == pytest.approx(alpha, abs=1e-14)


def test_fleiss_kappa_is_that_of_statsmodels() -> None:
    # By statsmodels 0.15.0.
    assert fleiss_kappa(WHOLE) == pytest.approx(0.6414565826330533, abs=1e-14)


# By scikit-learn 1.9.1.
@pytest.mark.parametrize(
    ("weights", "kappa"), [("none", 0.4782608695652174), ("linear", 0.5), ("quadratic", 0.5384615384615384)]
)
def test_cohens_kappa_is_that_of_scikit_learn(weights: Literal["none", "linear", "quadratic"], kappa: float) -> None:
    assert cohens_kappa(WHOLE[:, [0, 2]], weights) == pytest.approx(kappa, abs=1e-14)


def test_an_interval_holds_its_value_and_shrinks_with_the_items() -> None:
    few, many = estimate(JUDGED, krippendorffs_alpha), estimate(np.tile(JUDGED, (20, 1)), krippendorffs_alpha)
    for found in (few, many):
        assert found.low is not None
        assert found.high is not None
        assert found.value is not None
        assert found.low < found.value < found.high
    assert many.high - many.low < (few.high - few.low) / 3  # type: ignore[operator]
    assert (few.items, many.items) == (11, 220)
    assert estimate(JUDGED, krippendorffs_alpha) == few


@pytest.mark.parametrize(
    ("judged", "why"),
    [
        (JUDGED[:, :1], "one annotator"),
        (np.array([[1, NONE], [NONE, 2]]), "no item in common"),
        (np.ones((5, 2)), "one label for all"),
    ],
)
def test_a_coefficient_without_a_value_says_why(judged: Table, why: str) -> None:
    found = estimate(judged, krippendorffs_alpha)
    assert (found.value, found.why) == (None, why)
    assert estimate(np.ones((5, 2)), observed).value == 1


def annotation(item: str, annotator: str, **differing: Any) -> Annotation:
    values = {"solvable": "yes", "accurate": "yes", "appropriate": "yes"} | differing.pop("values", {})
    return Annotation(item=item, annotator=annotator, scheme="mathwell", values=values, **differing)


def test_a_report_says_how_each_annotator_agrees_with_the_others(tmp_path: Path) -> None:
    no = {"values": {"accurate": "no"}}
    given = [annotation(str(item), name, **(no if item < 5 else {})) for item in range(10) for name in ("ada", "ben")]
    given += [annotation(str(item), "eve", **(no if item % 2 else {})) for item in range(10)]
    found = agreement(given, scheme_of("mathwell"))
    accurate = found["questions"]["accurate"]
    assert accurate["cohen_kappa"]["ada, ben"]["value"] == 1
    assert accurate["annotators"]["eve"]["value"] < accurate["annotators"]["ada"]["value"]
    assert found["questions"]["solvable"]["krippendorff_alpha"]["value"] is None
    file = tmp_path / "given.jsonl"
    file.write_text("".join(written(given)), "utf-8")
    assert read_annotations(file) == given
    # As the gateway answers.
    answer = tmp_path / "answer.json"
    answer.write_text(json.dumps({"annotations": [one.model_dump() for one in given], "gold": {}}), "utf-8")
    assert read_annotations(answer) == given
    command = ["annotations", "agreement", str(file), "--scheme", "mathwell"]
    assert json.loads(CliRunner().invoke(commands, [*command, "--json"]).stdout) == found
    assert "one label" in CliRunner().invoke(commands, command).stdout


def test_values_that_the_scheme_does_not_know_are_named() -> None:
    bad = [annotation("7", "ada", values={"accurate": "perhaps"})]
    with pytest.raises(Failure, match="7 by ada: accurate: 'perhaps' is not one of yes, no"):
        agreement(bad, scheme_of("mathwell"))
