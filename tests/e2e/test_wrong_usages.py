"""Checks what a person reads after a command line that cannot work; `pytest -s` prints the table.

`wrong_usages.toml` holds the command lines, with their exit status and message.
"""

import re
import shlex
import shutil
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.runs import SOLILOQUY, grown, said

_TABLE = tomllib.loads(Path(__file__).with_name("wrong_usages.toml").read_text("utf-8"))
USAGES: list[Mapping[str, Any]] = _TABLE["usage"]
_PROBLEM = '{"question": "How far does a walker get in 2 h at 5 km/h?", "solution": "Step 1) 2 * 5 = 10 km"}\n'
# The files of the folder in which the commands run.
_FILES = {
    "notes/thesis.txt": b"my thesis\n",
    "good.jsonl": _PROBLEM.encode(),
    "torn.jsonl": _PROBLEM.encode() + b'{"question": "Half a row\n',
    "columns.jsonl": b'{"text": "no question"}\n',
    "latin.jsonl": b'{"question": "caf\xe9", "solution": "x"}\n',
    "empty.jsonl": b"",
    "table.csv": b"question,answer\nWhat is 2 + 2?,4\n",
    "torn.parquet": b"PAR1 and no more",
    "torn.toml": b"endpoints = [",
    "models.toml": b"endpoints = 3\n",
    "misspelt.toml": b"sede = 3\n",
    "lists.toml": b"seed = [3]\n",
    "wordy.toml": b"""problems = "physics"\nconversations = 5\nseed = "three"\nout = "first"\n""",
    "of-models.toml": b"""problems = "physics"\nconversations = 5\n[models]\nendpoint = "none"\n""",
    "prompts/student.txt": b"[user]\nHello $nobody\n",
    "snippet.py": b"print(1)\n",
    "torn/manifest.json": b"{",
    "old/manifest.json": b'{"format": 1, "counts": {}}',
}
# The words of Python and its libraries, which tell a person nothing.
_FOREIGN_WORDS = re.compile(r"Errno|Traceback|Error\(|integer range|float range|<class|NoneType|pickle|last error")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("usages")
    for name, content in _FILES.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(content)
    (folder / "empty").mkdir()
    grown(folder / "dataset", conversations=1)
    return folder


def files_of(folder: Path) -> set[Path]:
    return set(folder.rglob("*"))


@pytest.mark.parametrize("usage", USAGES, ids=lambda usage: usage["run"])
def test_a_wrong_usage_is_answered_in_one_line_that_says_what_to_do(
    place: Path, monkeypatch: pytest.MonkeyPatch, usage: Mapping[str, Any]
) -> None:
    monkeypatch.chdir(place)
    for command in ("runs", "sandbox"):
        monkeypatch.setattr(f"soliloquy.cli.{command}._ANSWER_SECONDS", 0.5)
    before = files_of(place)
    done = said([SOLILOQUY, *shlex.split(usage["run"])])
    left = files_of(place) - before
    for path in left:
        shutil.rmtree(path, ignore_errors=True)
    status, message = done.returncode, done.stderr.strip()
    print(f"\nsoliloquy {usage['run']}\n  [{status}] {message}")
    assert status == usage.get("status", 2)
    assert done.stdout == ""
    assert re.fullmatch(re.escape(usage["says"]).replace(r"\.\.\.", ".+"), message.removeprefix("soliloquy: "))
    assert not _FOREIGN_WORDS.search(message)
    assert not left, "a command that was refused left files behind"


def test_there_are_a_hundred_usages_of_all_kinds_of_commands() -> None:
    runs = [usage["run"] for usage in USAGES]
    assert len(runs) == len(set(runs)) >= 100
    assert len({run.split()[0] for run in runs}) >= 25
