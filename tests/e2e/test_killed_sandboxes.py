"""A run whose sandboxes are killed ends with the same bytes."""

from pathlib import Path

import pytest

from tests.e2e.runs import command, dataset, journal_frames, killed_at_end, wait_for_frames
from tests.integration.executor.support import kill_all, needs_runsc, runsc_pids

pytestmark = pytest.mark.thorough

CONVERSATIONS = 8
FEWEST_KILLS = 5


@needs_runsc
def test_a_run_whose_sandboxes_are_killed_again_and_again_ends_with_the_same_bytes(
    reference: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    out, kills = tmp_path / "out", 0
    with killed_at_end(command(out, conversations=CONVERSATIONS, latency="100ms", in_flight=4)) as process:
        while process.poll() is None:
            wait_for_frames(out, journal_frames(out) + 1, process, seconds=120)
            kills += bool(runsc_pids(tmp_path))
            kill_all(tmp_path)
        _, errors = process.communicate()
    assert process.returncode == 0, errors
    assert kills >= FEWEST_KILLS
    assert dataset(out) == dataset(reference)
    assert runsc_pids(tmp_path) == []
