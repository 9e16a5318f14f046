"""Checks which run a folder belongs to."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from soliloquy.dataset.storage import Storage
from soliloquy.runs.folder import RunFolder
from soliloquy.runs.plan import Plan
from soliloquy.runtime.failure import Failure
from soliloquy.runtime.model.settings_file import shipped_models
from tests.unit.runs.test_plan import plan

PLAN = plan(shipped_models())
OTHER = replace(PLAN, seed=PLAN.seed + 1)


def _unreachable(made: Path) -> Failure:
    made.touch()
    return Failure("no broker")


def folder(out: Path, run: Plan = PLAN, work: Path | None = None) -> RunFolder:
    return RunFolder(Storage(out), run, work)


def test_a_run_without_conversations_leaves_its_folder_to_a_run_with_other_options(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with folder(tmp_path) as first:
        first.log.touch()
        first.journal.touch()
    with folder(tmp_path, OTHER) as second:
        assert not second.log.exists()
        assert json.loads((second.working / "run.json").read_text("utf-8"))["seed"] == OTHER.seed
    told = f"{tmp_path} held another run without a conversation (seed {PLAN.seed}, not {OTHER.seed}): it is replaced"
    assert caplog.messages == [told]


def test_a_run_that_fails_before_it_begins_leaves_no_folder(tmp_path: Path) -> None:
    out = tmp_path / "new" / "out"
    first = folder(out)
    with pytest.raises(Failure, match="no broker"), first:
        raise _unreachable(first.journal)
    assert list(tmp_path.iterdir()) == []


def test_a_run_that_fails_later_can_be_resumed(tmp_path: Path) -> None:
    first = folder(tmp_path / "out")
    with pytest.raises(Failure, match="no broker"), first:
        raise _unreachable(first.log)
    assert first.log.exists()


def test_a_folder_that_was_there_stays(tmp_path: Path) -> None:
    with pytest.raises(Failure, match="no broker"), folder(tmp_path):
        raise Failure("no broker")
    assert list(tmp_path.iterdir()) == []


def test_the_same_run_resumes_with_its_log(tmp_path: Path) -> None:
    with folder(tmp_path) as first:
        first.log.touch()
    with folder(tmp_path) as second:
        assert second.log.exists()


def test_a_run_with_a_conversation_keeps_its_folder(tmp_path: Path) -> None:
    with folder(tmp_path) as first:
        first.journal.write_bytes(b"a conversation")
    with pytest.raises(Failure, match="holds another run"), folder(tmp_path, OTHER):
        pass
    assert first.journal.read_bytes() == b"a conversation"


@pytest.mark.parametrize("option", ["--out", "--work"])
def test_folders_with_files_of_others_are_refused_and_left_alone(tmp_path: Path, option: str) -> None:
    theirs = tmp_path / option / "thesis.txt"
    theirs.parent.mkdir()
    theirs.touch()
    opened = folder(tmp_path / "--out", work=tmp_path / "--work")
    with pytest.raises(Failure, match=f"holds thesis.txt: choose another {option}"), opened:
        pass
    assert [*tmp_path.rglob("*.*")] == [theirs]
