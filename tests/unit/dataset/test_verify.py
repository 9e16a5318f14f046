"""Whatever is changed behind a manifest's back is found, in one line that names it."""

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from soliloquy.dataset.manifest import MANIFEST, UnreadableManifest, read_manifest
from soliloquy.dataset.reading import Dataset, NoDataset
from soliloquy.dataset.storage import Storage
from soliloquy.dataset.verify import findings
from soliloquy_services.collector.dataset import write_dataset
from soliloquy_services.collector.journal import Journal
from tests.cases import each_case
from tests.datasets import changed, rewritten
from tests.unit.collector.collecting import numbered

ACCEPTED, REJECTED, TIMED = (f"{kind}/00000.parquet" for kind in ("accepted", "rejected", "timings"))


@pytest.fixture
async def folder(tmp_path: Path) -> Path:
    with Journal(tmp_path / "journal") as journal:
        for ordinal in range(5):
            await journal.add(numbered(ordinal), ["fault"] if ordinal == 3 else [])
        run = {"conversations": 4}
        place = Storage(tmp_path)
        prompts = {"one.txt": "One.\n", "two.txt": "Two.\n"}
        write_dataset(place, tmp_path / ".run", journal, run=run, cost=lambda _: {}, topics={}, prompts=prompts)
    return tmp_path


def found(folder: Path) -> list[str]:
    return list(findings(Storage(folder)))


def test_what_was_written_has_no_finding(folder: Path) -> None:
    assert found(folder) == []


def _flip_a_byte(folder: Path) -> None:
    content = bytearray((folder / ACCEPTED).read_bytes())
    content[len(content) // 2] ^= 1
    (folder / ACCEPTED).write_bytes(content)


@pytest.mark.parametrize(
    ("change", "line"),
    [
        (_flip_a_byte, f"{ACCEPTED} does not match the checksum in the manifest"),
        (
            lambda folder: (folder / "accepted" / "00001.parquet").write_bytes((folder / ACCEPTED).read_bytes()),
            "accepted/00001.parquet is not in the manifest",
        ),
        (
            lambda folder: rewritten(folder, REJECTED, lambda table: table.set_column(0, "id", pa.array(["id-0-0"]))),
            f"{REJECTED} holds id-0-0 again",
        ),
        (
            lambda folder: rewritten(folder, ACCEPTED, lambda table: table.append_column("more", pa.array([1] * 4))),
            f"{ACCEPTED} has columns that differ from the contract",
        ),
        (
            lambda folder: changed(folder, lambda manifest: manifest["counts"].update(turns=7)),
            "the manifest counts 7 turns; there are 15",
        ),
    ],
    ids=["a byte", "a shard that nobody named", "accepted and rejected", "other columns", "a count"],
)
def test_what_was_changed_is_found(folder: Path, change: Callable[[Path], object], line: str) -> None:
    change(folder)
    assert line in found(folder)


def test_a_shard_that_is_cut_off_or_gone_is_found(folder: Path) -> None:
    path = folder / ACCEPTED
    path.write_bytes(path.read_bytes()[:-100])
    assert any(line.startswith(f"{ACCEPTED} cannot be read") for line in found(folder))
    path.unlink()
    assert f"{ACCEPTED} is missing" in found(folder)


def test_rows_twice_missing_and_out_of_order_are_found(folder: Path) -> None:
    rewritten(folder, ACCEPTED, lambda table: pa.concat_tables([table, table.slice(0, 1)]))
    assert f"{ACCEPTED} holds id-0-0 again" in found(folder)
    assert f"{ACCEPTED} holds id-0-0 out of order" in found(folder)
    assert f"{ACCEPTED} has 5 rows; the manifest says 4" in found(folder)
    assert "5 are accepted; the run asked for 4" in found(folder)
    rewritten(folder, ACCEPTED, lambda table: table.slice(1, 2))
    assert f"{TIMED} times id-0-0, which the dataset does not hold" in found(folder)
    assert "the manifest counts 4 accepted; there are 2" in found(folder)


def test_verdicts_that_another_version_counted_are_no_finding(folder: Path) -> None:
    changed(folder, lambda manifest: manifest["counts"].update(verdicts={"agree": 7, "contradict": 0}))
    assert len(found(folder)) == 1
    changed(folder, lambda manifest: manifest["run"].update(protos_sha256={}))
    assert found(folder) == []


@each_case
def test_a_manifest_of_another_version_or_none_at_all_is_one_line(folder: Path, content: str, complaint: str) -> None:
    (folder / MANIFEST).write_text(content, "latin-1")
    [line] = found(folder)
    assert complaint in line
    with pytest.raises(UnreadableManifest):
        read_manifest(Storage(folder))


def test_a_folder_without_a_manifest_is_one_line(tmp_path: Path) -> None:
    assert found(tmp_path) == [f"{tmp_path} holds no {MANIFEST}: use the folder or URL of a dataset"]


def test_a_prompt_that_is_changed_missing_or_added_is_named(folder: Path) -> None:
    (folder / "prompts" / "one.txt").write_text("Oné.", "utf-8")
    (folder / "prompts" / "two.txt").unlink()
    (folder / "prompts" / "three.txt").touch()
    assert found(folder) == [
        "prompts/three.txt is not in the manifest",
        "prompts/one.txt does not match the checksum in the manifest",
        "prompts/two.txt is missing",
    ]
    with pytest.raises(NoDataset, match=r"the manifest lists prompts/two\.txt, but it is not there"):
        _ = Dataset(folder).prompts
