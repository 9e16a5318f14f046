"""`soliloquy curate` with Ray on this machine: what it writes, and what is left when it is stopped."""

import json
import subprocess
import sys
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from soliloquy.cli.main import commands
from soliloquy.curation.choosing import Choice
from soliloquy.curation.curating import FATES, curate
from soliloquy.dataset.reading import Dataset
from soliloquy.dataset.storage import Storage
from soliloquy.dataset.verify import findings
from soliloquy.v1.conversation_pb2 import Conversation
from tests.datasets import changed
from tests.models import needs_ray
from tests.unit.curation.test_choosing import LONG, STORY, benchmark, talk
from tests.unit.dataset.small import dataset
from tests.waiting import wait_until

# Ray does not wait for the processes that it has ended.
pytestmark = [needs_ray, pytest.mark.filterwarnings("ignore:subprocess .* is still running:ResourceWarning")]
_COMMAND = [sys.executable, "-c", "from soliloquy.cli.main import main; main()", "curate"]


def source(folder: Path) -> tuple[Path, list[Conversation]]:
    """A dataset of two shards with a duplicate, a contamination and a conversation that a judge would not keep."""
    talks = [talk(number, problem=f"p{number % 12}") for number in range(40)]
    talks += [talk(40, said=LONG), talk(41, said=LONG), talk(42, STORY.format("1200", "40", "9"))]
    made = dataset(folder / "source", talks[:25], talks[25:])
    changed(made, lambda manifest: manifest["run"].update(recipe="soliloquy", conversations=43, seed=1))
    return made, talks


def rows(out: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = pq.read_table(out / FATES).to_pylist()
    return found


def test_a_curated_dataset_is_one_by_parts_that_share_no_problem_and_each_row_has_its_fate(tmp_path: Path) -> None:
    folder, talks = source(tmp_path)
    # Sockets have no longer paths than 107 characters.
    out = tmp_path / ("long" * 20) / "out"
    out.parent.mkdir()
    held = benchmark(tmp_path, STORY.format("1,200.0", "40", "9"))
    options = ["--out", str(out), "--benchmark", str(held), "--splits", "train=0.6,test=0.4", "--json"]
    result = CliRunner().invoke(commands, ["curate", str(folder), *options])
    assert (result.exit_code, result.stderr) == (0, ""), result.exception
    told = json.loads(result.stdout)
    assert told["dropped"] == {"contaminated": 1, "exact duplicate": 1}
    fates = rows(out)
    assert [row["id"] for row in fates] == [one.id for one in talks]
    assert Counter(row["fate"] for row in fates) == {"kept": 41, "contaminated": 1, "exact duplicate": 1}
    assert fates[41]["duplicate_of"] == "c40"
    assert fates[42]["because"].startswith("benchmark.jsonl:1: 100%")
    parts = {part: [*Dataset(out / part)] for part in ("train", "test")}
    for part, kept in parts.items():
        assert [*findings(Storage(out / part))] == []
        assert [one.id for one in kept] == [row["id"] for row in fates if row["kept"] and row["split"] == part]
        assert all(one == talks[one.ordinal] for one in kept)
    problems = [{one.problem.id for one in kept} for kept in parts.values()]
    assert all(problems)
    assert not set.intersection(*problems)
    # Nothing else is left.
    assert [path.name for path in out.parent.iterdir()] == ["out"]
    assert {path.name for path in out.iterdir()} == {FATES, "train", "test"}
    # It passes for no finished run, which a later command would extend.
    assert "conversations" not in Dataset(out / "train").manifest["run"]


class Interrupted(Exception):
    """Ctrl-C."""


def test_a_second_run_takes_what_a_stopped_one_has_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("soliloquy.curation.job.TASK_ROWS", 10)
    folder, talks = source(tmp_path)
    out, work = tmp_path / "out", tmp_path / ".out.curating"

    def interrupt(stage: str, done: int) -> None:
        if done:
            raise Interrupted

    with pytest.raises(Interrupted):
        curate(Dataset(folder), out, [], Choice(), None, interrupt)
    [read] = work.glob("*/*.parquet")
    assert not out.exists()
    # A second run would not write this by itself.
    marked = pq.read_table(read)
    reasons = pa.array([f"marked {id}" for id in marked["id"].to_pylist()])
    pq.write_table(marked.set_column(marked.schema.get_field_index("fault"), "fault", reasons), read)
    result = CliRunner().invoke(commands, ["curate", str(folder), "--out", str(out)])
    assert result.exit_code == 0, result.stderr
    fates = rows(out)
    assert {row["because"] for row in fates if row["fate"] == "faulty"} == {*reasons.to_pylist()}
    assert len(fates) == len(talks)
    assert not work.exists()


@pytest.mark.thorough
def test_a_killed_run_leaves_no_process_and_the_same_command_ends_it(tmp_path: Path) -> None:
    folder, _ = source(tmp_path)
    command = [*_COMMAND, str(folder), "--out", str(tmp_path / "out")]
    with subprocess.Popen(command) as process:
        wait_until(lambda: any(b"raylet" in line for line in processes_of(process.pid)))
        process.kill()
    wait_until(lambda: not processes_of(process.pid))
    assert subprocess.run(command, check=False).returncode == 0
    assert {path.name for path in tmp_path.iterdir()} == {"source", "out"}
    assert [*findings(Storage(tmp_path / "out"))] == []


def processes_of(pid: int) -> list[bytes]:
    """Returns the command lines of Ray's processes that write to the folder of a driver."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            found.append(path.read_bytes())
    return [line for line in found if f"/proc/{pid}/fd/".encode() in line]


def test_a_cluster_that_does_not_answer_is_named_and_nothing_is_left(tmp_path: Path) -> None:
    folder, _ = source(tmp_path)
    options = ["--out", str(tmp_path / "out"), "--ray", "127.0.0.1:1"]
    result = CliRunner().invoke(commands, ["curate", str(folder), *options])
    assert result.exit_code == 2
    assert "no Ray cluster answers at 127.0.0.1:1: start its head with ray start --head" in result.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["source"]
