"""A dataset until 0.2, whose labels are fields of the contract, reads as if it were written today."""

from pathlib import Path

import pyarrow as pa
import pytest

from soliloquy.dataset.contract import inlined, row_handler
from soliloquy.dataset.exports.exporting import export
from soliloquy.dataset.exports.format import ExportOptions
from soliloquy.dataset.exports.formats import hf
from soliloquy.dataset.reading import Dataset
from soliloquy.dataset.rows import REASONS, recipe_of, schema
from soliloquy.dataset.statistics import Statistics
from soliloquy.dataset.storage import Storage
from soliloquy.dataset.verify import findings
from soliloquy.dataset.view import columns
from soliloquy.recipes.labels import labels_of
from soliloquy.v1.conversation_pb2 import Conversation, RejectedTry
from tests.datasets import accepted_rows, written
from tests.unit.dataset.labelled import RECIPES, labelled, places
from tests.unit.dataset.small import small


def earlier_rows(conversations: list[Conversation]) -> pa.RecordBatch:
    """Rows of one recipe as 0.2 wrote them."""
    kind = inlined(labels_of(conversations[0].run.recipe))
    handler = row_handler(kind, "Conversation")
    batch: pa.RecordBatch = handler.list_to_record_batch([unlabelled(one) for one in conversations])
    return batch


def unlabelled(conversation: Conversation) -> bytes:
    """Returns the message with the fields of its labels in the places of the labels."""
    made = Conversation.FromString(conversation.SerializeToString())
    for place in places(made):
        labels = place.labels
        place.ClearField("labels")
        place.MergeFromString(labels)
    for turn in made.turns:
        for one in turn.rejected:
            was = RejectedTry(text=one.text, because=one.because).SerializeToString()
            turn.student.MergeFromString(b"\x3a" + bytes([len(was)]) + was)
        turn.ClearField("rejected")
    return made.SerializeToString()


@pytest.fixture(params=["mathdial", "soliloquy"])
def conversations(request: pytest.FixtureRequest) -> list[Conversation]:
    told = [labelled(small(number), request.param) for number in range(3)]
    sent_back = RejectedTry(
        role="student", prompt="soliloquy/student", rule="state", calls=[0], text="Hm?", because="No."
    )
    told[1].turns[0].rejected.append(sent_back)
    return told


@pytest.fixture
def folder(tmp_path: Path, conversations: list[Conversation]) -> Path:
    batch = earlier_rows(conversations)
    rejected = batch.slice(2).append_column(REASONS, pa.array([["verdict: turn 1"]], REASONS.type))
    return written(tmp_path, [("accepted/00000.parquet", batch.slice(0, 2)), ("rejected/00000.parquet", rejected)])


def test_a_dataset_of_0_2_is_read_as_conversations_with_labels(folder: Path, conversations: list[Conversation]) -> None:
    dataset = Dataset(folder)
    assert list(dataset) == conversations[:2]
    assert list(dataset.conversations(rejected=True)) == conversations[2:]
    assert dataset.find("c1") == conversations[1]
    assert dataset.recipe == conversations[0].run.recipe


def test_rows_of_0_2_come_with_the_columns_of_today(folder: Path, conversations: list[Conversation]) -> None:
    accepted, *_ = Dataset(folder).batches()
    assert recipe_of(accepted) == conversations[0].run.recipe
    assert accepted.schema.equals(schema(recipe_of(accepted)))
    assert accepted.to_pylist() == accepted_rows(conversations[:2]).to_pylist()
    [rejected] = Dataset(folder).batches(rejected=True, where=[("problem.topic", "==", "motion")])
    assert rejected["reasons"].to_pylist() == [["verdict: turn 1"]]
    assert rejected.drop_columns(["reasons"]).to_pylist() == accepted_rows(conversations[2:]).to_pylist()


def test_labels_of_0_2_are_counted_and_shown(folder: Path, conversations: list[Conversation]) -> None:
    [batch] = Dataset(folder).batches()
    earlier, today = Statistics(), Statistics()
    earlier.add(batch)
    today.add(accepted_rows(conversations[:2]))
    assert earlier == today
    assert columns(batch) == columns(accepted_rows(conversations[:2]))


def test_a_dataset_of_0_2_is_verified(folder: Path) -> None:
    assert list(findings(Storage(folder))) == []


@pytest.fixture
def mixed(tmp_path: Path) -> tuple[Path, list[Conversation]]:
    """A shard of 0.2 in which the conversations of all recipes follow each other."""
    told = [labelled(small(number), recipe) for number, recipe in enumerate([*RECIPES, *RECIPES])]
    batches = [earlier_rows([one]) for one in told]
    # The contract of 0.2 had the fields of every recipe.
    fields = pa.unify_schemas([batch.schema for batch in batches], promote_options="permissive")
    kind = pa.schema([field.with_type(nullable(field.type)).with_nullable(True) for field in fields])
    rows = pa.RecordBatch.from_pylist([row for batch in batches for row in batch.to_pylist()], schema=kind)
    return written(tmp_path / "mixed", [("accepted/00000.parquet", rows)], conversations=len(told)), told


def nullable(kind: pa.DataType) -> pa.DataType:
    """Returns the type with fields that need not be set."""
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(nullable(field.type)).with_nullable(True) for field in kind])
    return pa.list_(nullable(kind.value_type)) if pa.types.is_list(kind) else kind


def test_a_shard_of_0_2_may_mix_recipes(mixed: tuple[Path, list[Conversation]]) -> None:
    folder, told = mixed
    dataset = Dataset(folder)
    assert list(dataset) == told
    assert [recipe_of(batch) for batch in dataset.batches()] == [*RECIPES, *RECIPES]
    after = {one.id: place for place, one in dataset.placed()}
    assert [one for _, one in dataset.placed(after=after["c2"])] == told[3:]
    assert dataset.whole("c5") == told[5]
    assert list(findings(Storage(str(folder)))) == []


def test_hidden_columns_of_0_2_are_left_out_of_a_folder_for_datasets(folder: Path, tmp_path: Path) -> None:
    export(Dataset(folder), "hf", tmp_path / "out", choice=ExportOptions(leave_out=frozenset({"hidden"})))
    with pa.ipc.open_stream(tmp_path / "out" / "train" / hf.DATA) as stream:
        table = stream.read_all()
    assert {"calculation", "calls"}.isdisjoint(field.name for field in table.schema.field("turns").type.value_type)
