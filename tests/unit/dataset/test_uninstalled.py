"""A dataset whose recipe is not installed is read, verified, counted, shown and exported in the contract's fields."""

from pathlib import Path
from typing import cast

import pytest

from soliloquy.cli.report import report
from soliloquy.dataset import labelling, recipe_counts, rows
from soliloquy.dataset.exports import replies
from soliloquy.dataset.exports.exporting import export
from soliloquy.dataset.exports.format import NAMES, ExportOptions
from soliloquy.dataset.layout import ShardLimits
from soliloquy.dataset.manifest import versions, write_manifest
from soliloquy.dataset.reading import Dataset
from soliloquy.dataset.shards import DatasetWriter
from soliloquy.dataset.statistics import Statistics
from soliloquy.dataset.storage import Storage
from soliloquy.dataset.tally import Tally
from soliloquy.dataset.verify import findings
from soliloquy.dataset.view import conversation_view
from soliloquy.recipes import packages
from soliloquy.recipes.labels import columns_of, labels_of
from soliloquy.recipes.recipe import find
from soliloquy.runtime.failure import Failure
from soliloquy.v1.conversation_pb2 import Conversation, Evaluation
from soliloquy.v1.dataset_pb2 import Collected
from tests.datasets import RUN
from tests.unit.dataset.exports.test_exporting import SUFFIXES
from tests.unit.dataset.labelled import labelled, places
from tests.unit.dataset.test_statistics import conversation

AWAY = "away"


@pytest.fixture(params=["mathdial", "mathwell"])
def conversations(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> list[Conversation]:
    """What the recipe `away` made while it was installed: two that were accepted and one that was rejected."""
    installed = cast("dict[str, list[str]]", packages.RECIPES.claims)
    monkeypatch.setitem(installed, AWAY, [packages.package(request.param)])
    _forget()
    made = [labelled(conversation(), request.param) for _ in range(3)]
    for number, one in enumerate(made):
        one.id, one.ordinal, one.run.recipe = f"c{number}", number, AWAY
        one.problem.question = "How hot?"
        one.turns[1].tutor.evaluation = Evaluation.EVALUATION_INCORRECT
    return made


@pytest.fixture
def folder(tmp_path: Path, conversations: list[Conversation], monkeypatch: pytest.MonkeyPatch) -> Path:
    """Their dataset, after the recipe was removed."""
    out = tmp_path / "dataset"
    tally = Tally()
    writer = DatasetWriter(Storage(out), out / ".run", (), ShardLimits(), tally)
    for one in conversations:
        reasons = ["verdict: turn 2"] if one.id == "c2" else []
        writer.add(Collected(conversation=one.SerializeToString(), recipe=AWAY, reasons=reasons))
    shards = writer.close()
    run = RUN | {"recipe": AWAY} | versions()
    write_manifest(Storage(out), {"run": run, "counts": tally.as_json(), "cost": {}, "arrival": {}}, shards)
    assert list(Dataset(out)) == conversations[:2]
    assert list(findings(Storage(out))) == []
    monkeypatch.delitem(cast("dict[str, list[str]]", packages.RECIPES.claims), AWAY)
    _forget()
    return out


def _forget() -> None:
    """Looks recipes up again, as another process does."""
    cached = (find, labels_of, columns_of, labelling.installed, rows._rows, recipe_counts.recipe_counts, replies._keys)
    for remembered in (*cached, replies._with_labels):
        remembered.cache_clear()


def without_labels(made: Conversation) -> Conversation:
    bare = Conversation.FromString(made.SerializeToString())
    for place in places(bare):
        place.ClearField("labels")
    return bare


def test_its_conversations_are_read_without_labels(folder: Path, conversations: list[Conversation]) -> None:
    dataset = Dataset(folder)
    accepted, rejected = [without_labels(one) for one in conversations[:2]], without_labels(conversations[2])
    assert list(dataset) == accepted
    assert list(dataset.conversations(rejected=True)) == [rejected]
    assert dataset.find("c1") == accepted[1]
    assert (dataset.recipe, dataset.count()) == (AWAY, 2)
    [batch] = dataset.batches(["id", "turns.tutor"], where=[("id", "==", "c1")])
    assert [turn["tutor"]["text"] for turn in batch["turns"].to_pylist()[0] if turn["tutor"]] == [
        "Try it, try it, try it!",
        "Not quite.",
    ]


def test_it_is_verified_as_far_as_the_contract_goes(folder: Path) -> None:
    assert list(findings(Storage(folder))) == []
    shard = folder / "accepted" / "00000.parquet"
    shard.write_bytes(shard.read_bytes()[:-100])
    assert any(line.startswith("accepted/00000.parquet cannot be read") for line in findings(Storage(folder)))


def test_it_is_counted_without_labels(folder: Path) -> None:
    statistics = Statistics()
    for batch in Dataset(folder).batches():
        statistics.add(batch)
    assert (statistics.conversations, statistics.turns, statistics.recipes) == (2, 6, {AWAY: 2})
    assert statistics.verdicts == {("incorrect", "wrong"): 2}
    assert (statistics.labels, statistics.responses) == ({}, {})


def test_it_has_a_card_and_a_report(folder: Path) -> None:
    report.main([str(folder)], standalone_mode=False)
    text = (folder / "README.md").read_text("utf-8")
    assert "| conversations | 2 |" in text.splitlines()
    assert "## Labels" not in text
    page = (folder / "report.html").read_text("utf-8")
    assert page.endswith("</body>\n</html>\n")
    # Only the recipe says which evaluations agree with a verdict.
    assert not [shown for shown in (text, page) if "agree with" in shown]


def test_its_conversations_are_shown_without_labels(folder: Path) -> None:
    for one in Dataset(folder):
        view = conversation_view(one)
        assert (view["parts"], view["persona"]) == (None, "terse")
        assert [turn["student"] for turn in view["turns"]] == ["how do i begin", "  5 J ", "and now?"]
        assert [turn["drawn"] for turn in view["turns"]] == ["opening", "meant wrong", ""]
        assert [turn["labels"] for turn in view["turns"]] == [None] * 3


@pytest.mark.parametrize(
    "name", [name for name in NAMES if name not in ("soliloquies", "transcripts", "sgsm", "alpaca", "preferences")]
)
def test_it_is_exported_with_what_was_said(folder: Path, tmp_path: Path, name: str) -> None:
    out = tmp_path / f"out{SUFFIXES.get(name, '.json')}"
    counts = export(Dataset(folder), name, out, choice=ExportOptions())
    assert counts.written.total() == 2
    files = [out] if out.is_file() else list(out.rglob("*.arrow"))
    assert b"Try it, try it, try it!" in b"".join(file.read_bytes() for file in files)


def test_a_format_of_one_recipe_says_that_it_holds_no_other(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(Failure, match="conversation c0 has the recipe 'away'; this format holds only"):
        export(Dataset(folder), "soliloquies", tmp_path / "out.json", choice=ExportOptions())
