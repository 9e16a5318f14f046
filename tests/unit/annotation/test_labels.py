"""The labels on which people agree stand in the dataset, beside the messages that they are of."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from soliloquy.annotation.labels import apply, consensus
from soliloquy.annotation.rows import Annotation
from soliloquy.annotation.scheme import Scheme, scheme_of
from soliloquy.dataset.exports.exporting import export
from soliloquy.dataset.exports.format import ExportOptions
from soliloquy.dataset.exports.formats.hf import read
from soliloquy.dataset.reading import Dataset
from soliloquy.dataset.verify import findings_at
from soliloquy.runtime.failure import Failure
from soliloquy.v1.conversation_pb2 import Conversation, HumanLabel
from tests.unit.training.growing import conversations, dataset

YES = {"usage": "yes", "non_usage": "none", "compilation": "yes", "verification": "yes"}
NO = YES | {"verification": "no"}


def said(item: str, *values: dict[str, Any], decided: dict[str, Any] | None = None) -> list[Annotation]:
    first = [
        Annotation(item=item, annotator=name, scheme="soliloquy", values=of)
        for name, of in zip(("ada", "ben", "eve"), values, strict=False)
    ]
    last = [Annotation(item=item, annotator="zoe", scheme="soliloquy", values=decided or {}, round="adjudication")]
    return first + (last if decided else [])


def verdicts(labels: Sequence[HumanLabel]) -> list[tuple[str, int, int, bool]]:
    return [
        (one.value, one.agreeing, one.annotators, one.adjudicated) for one in labels if one.question == "verification"
    ]


def test_what_most_say_counts_unless_somebody_has_decided() -> None:
    given = [*said("1", YES, NO, YES), *said("2", YES, NO), *said("3", YES, YES, decided=NO)]
    given += [*said("4", NO), *said("4", YES)]
    found = consensus(given, scheme_of("soliloquy"))
    assert verdicts(found["1"]) == [("yes", 2, 3, False)]
    assert verdicts(found["2"]) == []
    assert verdicts(found["3"]) == [("no", 0, 2, True)]
    assert verdicts(found["4"]) == [("yes", 1, 1, False)]


def test_of_several_labels_each_is_held_or_not() -> None:
    labels = [{"name": name, "title": name} for name in ("rude", "long")]
    question = {"name": "faults", "title": "f", "asks": "?", "kind": "label", "several": True, "labels": labels}
    scheme = Scheme.model_validate({"name": "own", "title": "t", "unit": "turn", "guide": "g", "questions": [question]})
    given = [
        Annotation(item="1", annotator=str(number), scheme="own", values={"faults": names})
        for number, names in enumerate((["rude"], ["rude", "long"], ["rude"]))
    ]
    assert [(one.question, one.value, one.agreeing) for one in consensus(given, scheme)["1"]] == [
        ("faults.rude", "yes", 3),
        ("faults.long", "no", 2),
    ]


def test_labels_stand_with_their_turns_and_a_later_round_replaces_them(tmp_path: Path) -> None:
    grown = conversations(3)
    source, item = dataset(tmp_path / "source", grown), f"{grown[1].id}#2"
    scheme, once, twice = scheme_of("soliloquy"), tmp_path / "once", tmp_path / "twice"
    counts = apply(Dataset(source), [*said(item, YES, YES), *said("elsewhere#1", YES, YES)], scheme, once)
    assert counts == {"items": 1, "labels": 4, "unknown_items": 1}
    assert not list(findings_at(str(once)))
    assert [conversation.id for conversation in Dataset(once)] == [one.id for one in grown]
    [annotated] = Dataset(once).manifest["run"]["annotated"]
    assert (annotated["scheme"], annotated["items"], annotated["annotators"]) == ("soliloquy", 1, 2)
    apply(Dataset(once), said(item, NO, NO, NO), scheme, twice)
    labelled = {
        f"{conversation.id}#{turn.number}": verdicts(turn.human_labels)
        for conversation in Dataset(twice)
        for turn in conversation.turns
        if turn.human_labels
    }
    assert labelled == {item: [("no", 3, 3, False)]}
    assert len(Dataset(twice).manifest["run"]["annotated"]) == 1
    export(Dataset(twice), "hf", tmp_path / "hf", choice=ExportOptions())
    exported = [*map(Conversation.FromString, read(tmp_path / "hf"))]
    assert verdicts(exported[1].turns[1].human_labels) == [("no", 3, 3, False)]


def test_labels_of_another_dataset_are_refused(tmp_path: Path) -> None:
    source = dataset(tmp_path / "source", conversations(1))
    with pytest.raises(Failure, match="has none of the 1 labelled items: use the dataset they came from"):
        apply(Dataset(source), said("elsewhere#1", YES, YES), scheme_of("soliloquy"), tmp_path / "out")
