"""Checks which folders a command may write into."""

from pathlib import Path

import pytest

from soliloquy.runtime.failure import Failure
from soliloquy.runtime.foreign import refuse_foreign


@pytest.mark.parametrize("names", [[], [".hidden"], ["lost+found"], ["lock"], ["mark.json", "a", "b"]], ids=str)
def test_a_folder_that_is_empty_or_ours_is_taken(tmp_path: Path, names: list[str]) -> None:
    for name in names:
        (tmp_path / name).touch()
    refuse_foreign(tmp_path, "mark.json")
    refuse_foreign(tmp_path / "missing", "mark.json")


def test_a_folder_with_files_of_others_is_refused_by_one_of_their_names(tmp_path: Path) -> None:
    for name in ("thesis.txt", "notes.md", "lock"):
        (tmp_path / name).touch()
    with pytest.raises(Failure, match=r"is not empty: it holds notes\.md and 1 more: choose another --data"):
        refuse_foreign(tmp_path, "mark.json", option="--data")
