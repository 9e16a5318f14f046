"""An ordinary user without shared memory gets from each command what root gets."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.runs import command, dataset, grown
from tests.integration.executor import nobody
from tests.integration.executor.support import needs_runsc

CONVERSATIONS = 6
SECONDS = 300
_COMMAND = "from soliloquy.cli.main import main; main()"
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
    _as_nobody(*command(made, conversations=CONVERSATIONS, workers=2)[1:])
    return made


def test_the_user_has_no_shared_memory() -> None:
    ran = nobody.run(nobody.python(), "-c", _NO_SHARED_MEMORY, shared_memory=False)
    assert (ran.stdout, ran.stderr) == ("Permission denied\n", "")


def test_a_run_is_the_same_to_the_byte(out: Path, tmp_path: Path) -> None:
    grown(tmp_path / "of-root", conversations=CONVERSATIONS)
    assert dataset(out) == dataset(tmp_path / "of-root")


@pytest.mark.parametrize(
    "arguments",
    [
        ("verify",),
        ("check",),
        ("report",),
        ("show",),
        ("export", "--format", "openai", "--out", "chats.jsonl"),
        ("export", "--format", "hf", "--out", "hub"),
    ],
    ids=lambda arguments: " ".join(arguments[:3]),
)
def test_a_dataset_is_read_checked_and_exported(out: Path, arguments: tuple[str, ...]) -> None:
    named = [str(out.parent / each) if each in ("chats.jsonl", "hub") else each for each in arguments]
    _as_nobody(named[0], str(out), *named[1:])


def _as_nobody(*arguments: str) -> None:
    ran = nobody.run(nobody.python(), "-c", _COMMAND, *arguments, shared_memory=False, seconds=SECONDS)
    assert ran.returncode == 0, ran.stderr
    assert "Traceback" not in ran.stderr
