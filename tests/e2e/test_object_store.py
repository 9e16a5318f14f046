"""A dataset in an object store is the one of a folder, byte for byte."""

from pathlib import Path

import pytest

from tests.e2e.runs import (
    SOLILOQUY,
    command,
    dataset,
    grown,
    kill_run,
    killed_at_end,
    one_line,
    paced,
    said,
    wait_for_end,
    wait_for_frames,
)


@pytest.mark.thorough
def test_a_run_into_an_object_store_is_killed_and_goes_on(bucket: str, reference: Path, tmp_path: Path) -> None:
    out, work = f"{bucket}/dataset", tmp_path / "work"
    with killed_at_end(paced(out, work=str(work))) as process:
        wait_for_frames(work, 3, process)
        wait_for_end(kill_run(process))
    elsewhere = said(command(out, conversations=8, work=str(tmp_path / "elsewhere")))
    assert (elsewhere.returncode, elsewhere.stdout) == (2, "")
    assert f"is writing {out} since" in elsewhere.stderr
    grown(out, conversations=8, work=str(work))
    assert dataset(out) == dataset(reference)
    verified = said([SOLILOQUY, "verify", out])
    assert (verified.returncode, verified.stderr) == (0, "")


def test_a_store_that_is_not_there_is_one_line(bucket: str, tmp_path: Path) -> None:
    line = one_line(said(command(f"{bucket}-without/dataset", work=str(tmp_path))))
    assert f"{bucket}-without/dataset failed (" in line
