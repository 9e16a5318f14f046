"""An ordinary user without shared memory gets from each command what root gets."""

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.runs import command, dataset, grown
from tests.integration.executor import nobody
from tests.integration.executor.support import needs_runsc

CONVERSATIONS = 2
SECONDS = 300
# Runs each command of a JSON list, as the shell's would, in one process.
_COMMANDS = """
import json, sys
from soliloquy.cli.main import main
for command in json.loads(sys.argv[1]):
    sys.argv = ["soliloquy", *command]
    try:
        main()
    except SystemExit as ended:
        assert not ended.code, command
"""
_NO_SHARED_MEMORY = """
import multiprocessing
try:
    multiprocessing.Lock()
except OSError as error:
    print(error.strerror)
"""

pytestmark = [needs_runsc, nobody.only_root_can, pytest.mark.timeout(2 * SECONDS)]


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    """A folder that everybody can write; those of pytest are root's alone."""
    with tempfile.TemporaryDirectory() as made:
        Path(made).chmod(0o777)
        yield Path(made)


@pytest.fixture(scope="module")
def out(folder: Path) -> Path:
    made = folder / "dataset"
    _as_nobody(command(made, conversations=CONVERSATIONS, workers=2)[1:])
    return made


def test_the_user_has_no_shared_memory() -> None:
    ran = nobody.run(nobody.python(), "-c", _NO_SHARED_MEMORY, shared_memory=False)
    assert (ran.stdout, ran.stderr) == ("Permission denied\n", "")


@pytest.mark.thorough
def test_a_run_is_the_same_to_the_byte(out: Path, tmp_path: Path) -> None:
    grown(tmp_path / "of-root", conversations=CONVERSATIONS)
    assert dataset(out) == dataset(tmp_path / "of-root")


def test_a_dataset_is_read_checked_and_exported(out: Path) -> None:
    chats, hub = str(out.parent / "chats.jsonl"), str(out.parent / "hub")
    reading = [[name, str(out)] for name in ("verify", "check", "report", "show")]
    _as_nobody(
        *reading,
        ["export", str(out), "--format", "openai", "--out", chats],
        ["export", str(out), "--format", "hf", "--out", hub],
    )


def _as_nobody(*commands: list[str]) -> None:
    ran = nobody.run(nobody.python(), "-c", _COMMANDS, json.dumps(commands), shared_memory=False, seconds=SECONDS)
    assert ran.returncode == 0, ran.stderr
    assert "Traceback" not in ran.stderr
