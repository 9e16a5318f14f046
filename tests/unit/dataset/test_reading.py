"""A dataset is read in its order, only as far as it is asked for, and says in a line what is wrong with it."""

import contextlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import fsspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from soliloquy.client import Dataset, NoDataset, place_after
from soliloquy.dataset.storage import Storage
from soliloquy.dataset.verify import findings
from soliloquy.recipes.soliloquy.labels_pb2 import TutorLabels
from soliloquy.v1.conversation_pb2 import Conversation
from tests.cases import each_case
from tests.datasets import rewritten
from tests.unit.dataset.iceberg.catalogs import catalog_in, commit
from tests.unit.dataset.small import dataset, small


def read(number: int) -> Conversation:
    made = small(number)
    made.run.id = "read"
    return made


TWENTY_FIVE = [read(number) for number in range(25)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return dataset(tmp_path_factory.mktemp("read"), TWENTY_FIVE, [read(25), read(26)], rejected=[read(90)])


@pytest.fixture(scope="module", params=["folder", "table"])
def stored(request: pytest.FixtureRequest, folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The same dataset in a folder, and in a table that several commits brought out of order."""
    if request.param == "folder":
        yield str(folder)
        return
    with pytest.MonkeyPatch.context() as monkeypatch:
        location = catalog_in(tmp_path_factory.mktemp("catalog"), monkeypatch)
        shuffled = [*TWENTY_FIVE, read(25), read(26)]
        Random(7).shuffle(shuffled)
        commit(location, [read(90)], ["repeated: turn 2"])
        commit(location, shuffled[:11])
        yield commit(location, shuffled[11:])


def test_conversations_come_back_as_they_were(stored: str) -> None:
    assert list(Dataset(stored)) == [*TWENTY_FIVE, read(25), read(26)]
    assert list(Dataset(stored).conversations(rejected=True)) == [read(90)]
    assert Dataset(stored).count() == 27
    assert Dataset(stored).rejections() == {"c90": ["repeated: turn 2"]}
    assert Dataset(stored).recipes() == Dataset(stored).recipes(rejected=True) == ["soliloquy"]


def test_only_the_columns_asked_for_are_read(stored: str) -> None:
    batch = next(Dataset(stored).batches(["problem.topic", "turns.student.text"]))
    assert batch.schema.names == ["problem", "turns"]
    assert batch["problem"][0].as_py() == {"topic": "motion"}
    assert batch["turns"][0].as_py() == [
        {"student": {"text": 'It\'s "12" m/s'}},
        {"student": {"text": "s by t, so 3 m/s"}},
    ]


def test_a_dataset_from_before_some_columns_were_there_reads_as_if_they_were_unset(tmp_path: Path) -> None:
    folder = dataset(tmp_path, [stepless(1), stepless(2)], rejected=[stepless(3)])
    whole = list(Dataset(folder).batches())
    for kind in ("accepted", "rejected"):
        rewritten(folder, f"{kind}/00000.parquet", _without_later_columns)
    older = Dataset(folder)
    assert list(older) == [stepless(1), stepless(2)]
    assert [batch.to_pylist() for batch in older.batches()] == [batch.to_pylist() for batch in whole]
    [rejected] = older.batches(["id", "resolution"], rejected=True, where=[("problem.topic", "==", "motion")])
    assert rejected["reasons"].to_pylist() == [["repeated: turn 2"]]


def stepless(number: int) -> Conversation:
    """A conversation whose tutor counts no steps."""
    made = small(number)
    for turn in made.turns:
        labels = TutorLabels.FromString(turn.tutor.labels)
        labels.ClearField("step")
        turn.tutor.labels = labels.SerializeToString()
    return made


def _without_later_columns(table: pa.Table) -> pa.Table:
    before = pa.schema(_before(list(table.schema), "step", "resolution"), table.schema.metadata)
    return table.select(before.names).cast(before)


def _before(columns: list[pa.Field], *later: str) -> list[pa.Field]:
    return [column.with_type(_without(column.type, *later)) for column in columns if column.name not in later]


def _without(kind: pa.DataType, *later: str) -> pa.DataType:
    if pa.types.is_struct(kind):
        return pa.struct(_before(list(kind), *later))
    return pa.list_(kind.value_field.with_type(_without(kind.value_type, *later))) if pa.types.is_list(kind) else kind


def test_rejected_rows_have_their_reasons(stored: str) -> None:
    [batch] = Dataset(stored).batches(["id", "reasons"], rejected=True)
    assert batch.to_pylist() == [{"id": "c90", "reasons": ["repeated: turn 2"]}]


def test_a_filter_leaves_what_it_describes(stored: str) -> None:
    where = [("ordinal", ">=", 12), ("ordinal", "<", 15), ("problem.topic", "==", "motion")]
    ids = [one for batch in Dataset(stored).batches(["id"], where=where) for one in batch["id"].to_pylist()]
    assert ids == ["c12", "c13", "c14"]


def test_row_groups_that_cannot_match_are_not_read(folder: Path) -> None:
    """Damaged where it is not looked at, a shard can still be read."""
    shard = folder / "accepted" / "00000.parquet"
    whole = shard.read_bytes()
    try:
        shard.write_bytes(b"\0" * 2_000 + whole[2_000:])
        found = Dataset(folder).batches(where=[("ordinal", "==", 22)])
        assert [batch["id"].to_pylist() for batch in found] == [["c22"]]
        with pytest.raises(NoDataset, match=r"accepted/00000\.parquet is damaged"):
            list(Dataset(folder))
    finally:
        shard.write_bytes(whole)


@pytest.mark.parametrize("before", [0, 3, 10, 24, 25, 26, 27])
def test_reading_goes_on_after_a_place(stored: str, before: int) -> None:
    places = [None, *(place for place, _ in Dataset(stored).placed())]
    left = [one for batch in Dataset(stored).batches(["id"], after=places[before]) for one in batch["id"].to_pylist()]
    assert left == [f"c{number}" for number in range(before, 27)]


def test_a_batch_tells_its_place(folder: Path) -> None:
    places = [place_after(batch) for batch in Dataset(folder).batches(["id"])]
    assert places[-2:] == ["accepted/00000.parquet:25", "accepted/00001.parquet:2"]


def test_a_conversation_is_found_by_how_its_id_begins(stored: str) -> None:
    assert Dataset(stored).find("c24") == read(24)
    with pytest.raises(NoDataset, match="11 accepted conversations have an id that begins with 'c1'"):
        Dataset(stored).find("c1")
    assert Dataset(stored).whole("c24") == read(24)
    assert Dataset(stored).whole("c90") is None


def test_an_object_store_is_read_like_a_folder(folder: Path) -> None:
    store = fsspec.filesystem("memory")
    store.put(str(folder), "/datasets/read", recursive=True)
    there = Dataset("memory://datasets/read")
    assert list(there) == list(Dataset(folder))
    assert there.find("c24") == read(24)
    assert [batch["id"].to_pylist() for batch in there.batches(["id"], where=[("id", "==", "c26")])] == [["c26"]]


def test_what_is_no_dataset_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(NoDataset, match=r"holds no conversations: generate a dataset with soliloquy generate --out"):
        Dataset(tmp_path)
    with pytest.raises(NoDataset, match=r"does not exist: generate a dataset"):
        Dataset(tmp_path / "nothing")
    with pytest.raises(NoDataset, match="is not a folder or URL of a known kind"):
        Dataset("nonsense://x")
    for manifest, said in [
        ("{", "manifest.json cannot be read"),
        ('{"format": 7}', r"has format 7; this version reads formats 2 and 3: update soliloquy"),
        ('{"format": 1}', "which this version cannot read"),
        ("[]", "cannot be read"),
    ]:
        (tmp_path / "manifest.json").write_text(manifest, "utf-8")
        with pytest.raises(NoDataset, match=said):
            Dataset(tmp_path)


def test_a_shard_that_is_gone_or_damaged_is_named(tmp_path: Path) -> None:
    folder = dataset(tmp_path, [small()])
    shard = folder / "accepted" / "00000.parquet"
    shard.write_bytes(b"PAR1" + b"x" * 100)
    with pytest.raises(NoDataset, match=r"accepted/00000\.parquet is damaged"):
        list(Dataset(folder))
    shard.unlink()
    with pytest.raises(NoDataset, match=r"lists accepted/00000\.parquet, but it is not there"):
        list(Dataset(folder))


def test_what_is_asked_wrongly_is_named(stored: str) -> None:
    with pytest.raises(NoDataset, match=r"'problem\.colour' is not a column"):
        list(Dataset(stored).batches(["problem.colour"]))
    with pytest.raises(NoDataset, match="is not a place in"):
        list(Dataset(stored).batches(after="accepted/00009.parquet:1"))
    with pytest.raises(NoDataset, match="is a list"):
        list(Dataset(stored).batches(["id"], where=[("turns.student.text", "==", "hi")]))


@each_case
def test_a_condition_that_cannot_be_asked_is_no_damage(folder: Path, condition: list[Any], complaint: str) -> None:
    with pytest.raises(NoDataset) as caught:
        list(Dataset(folder).batches(["id"], where=[(condition[0], condition[1], condition[2])]))
    assert str(caught.value) == complaint


def test_a_manifest_without_shards_is_no_end_of_the_world(tmp_path: Path) -> None:
    assert list(Dataset(dataset(tmp_path))) == []


@pytest.mark.parametrize(
    "name",
    [
        *("accepted/../../outside.parquet", "/accepted/0.parquet", "accepted/..", "accepted/a/b", "accepted/\0"),
        *("accepted", "other/0.parquet", "accepted/\x1b[2J", 7, None),
    ],
)
def test_a_shard_outside_of_the_dataset_is_refused_by_its_name(tmp_path: Path, name: object) -> None:
    folder = dataset(tmp_path / "dataset", [small()])
    pq.write_table(pa.table({"id": ["c"]}), tmp_path / "outside.parquet")
    manifest = json.loads((folder / "manifest.json").read_bytes())
    manifest["shards"][0]["name"] = name
    (folder / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(NoDataset, match="cannot be read as the manifest of a dataset"):
        Dataset(folder)
    assert "cannot be read as the manifest of a dataset" in next(findings(Storage(folder)))


@each_case
def test_a_manifest_of_other_types_is_refused(tmp_path: Path, part: str, value: object) -> None:
    folder = dataset(tmp_path / "dataset", [small()])
    manifest = json.loads((folder / "manifest.json").read_bytes()) | {part: value}
    (folder / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(NoDataset, match="cannot be read as the manifest of a dataset"):
        Dataset(folder)


def test_a_pipe_or_a_device_in_the_place_of_a_file_is_refused(tmp_path: Path) -> None:
    folder = dataset(tmp_path / "dataset", [small()])
    for name in ("accepted/00000.parquet", "manifest.json"):
        for replace in (os.mkfifo, lambda path: path.symlink_to("/dev/zero"), Path.mkdir):
            (folder / name).rename(tmp_path / "kept")
            replace(folder / name)
            with pytest.raises(NoDataset, match=r"it is a (pipe or a device|folder): save its content as a file"):
                list(Dataset(folder))
            if (folder / name).is_dir():
                (folder / name).rmdir()
            else:
                (folder / name).unlink()
            (tmp_path / "kept").rename(folder / name)
    assert len(list(Dataset(folder))) == 1


@each_case
def test_a_shard_of_other_columns_is_refused(tmp_path: Path, rows: dict[str, list[object]]) -> None:
    folder = dataset(tmp_path / "dataset", [small()])
    rewritten(folder, "accepted/00000.parquet", lambda _: pa.table(rows))
    with contextlib.suppress(NoDataset):
        assert Dataset(folder).recipe
    with contextlib.suppress(NoDataset):
        list(Dataset(folder).batches(["id"]))
    with pytest.raises(NoDataset, match="holds no rows of a dataset"):
        list(Dataset(folder))
    assert any("cannot be read" in line for line in findings(Storage(folder)))


def test_a_language_that_nobody_reads_is_told(tmp_path: Path) -> None:
    foreign = small(1)
    foreign.problem.language = "xq"
    with pytest.raises(NoDataset, match="'c1' is in the language 'xq': use one of en, de"):
        list(Dataset(dataset(tmp_path, [foreign])))
