"""Imports foreign files: other spellings mean the same, and garbage is named and leaves nothing."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from soliloquy.cli.exchange import import_
from soliloquy.dataset.reading import Dataset
from soliloquy.runtime.failure import Failure

ROW: dict[str, Any] = {"messages": [{"role": "user", "content": "Grüezi"}, {"role": "assistant", "content": "Hi."}]}
LINE = json.dumps(ROW, ensure_ascii=False).encode()


def imported(source: Path, status: int = 0) -> Path:
    out = source.with_name("imported")
    told = import_.main([str(source), "--format", "openai", "--out", str(out)], standalone_mode=False)
    assert told == status
    return out


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (LINE[:-9], r"chats\.jsonl:1: .*not JSON"),
        (b"[" * 100_000, r"chats\.jsonl:1: .*not JSON"),
        (LINE.replace("ü".encode(), b"\\ud800"), r"chats\.jsonl:1: .*not JSON"),
        (LINE.replace("ü".encode(), b"\xfc"), r"chats\.jsonl:1: .*0xFC, which is not UTF-8"),
        (LINE.replace("ü".encode(), b"u" * 2_000_000), r"chats\.jsonl:1: .*longer than 1,048,576 characters"),
        (b"[1, 2]", r"chats\.jsonl:1: .*expected a JSON object"),
        (b'{"messages": "Hi."}', r"chats\.jsonl:1: `messages` is missing"),
        (b"\x00" * 4096, r"chats\.jsonl:1: "),
        (b"", ""),
    ],
    ids=["cut off", "deep", "surrogate", "Latin-1", "long", "a list", "of another shape", "zeros", "empty"],
)
def test_garbage_is_one_line_and_leaves_nothing(
    tmp_path: Path, content: bytes, complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    source = tmp_path / "chats.jsonl"
    source.write_bytes(content)
    with pytest.raises(Failure, match=r"chats\.jsonl holds no conversation") as failure:
        imported(source)
    assert "\n" not in str(failure.value)
    told = capsys.readouterr().err.splitlines()
    assert [line for line in told if re.match(complaint, line)] == told
    assert [path.name for path in tmp_path.iterdir()] == ["chats.jsonl"]


def test_all_files_of_a_folder_are_read_in_their_order(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "chats"
    folder.mkdir()
    for name in ("10.json", "9.json", "2.jsonl"):
        row = {"messages": [{"role": "user", "content": name}, *ROW["messages"][1:]]}
        (folder / name).write_text(json.dumps(row, indent=2 if name.endswith("json") else None), "utf-8")
    (folder / "3.json").write_text('{\n  "messages": [', "utf-8")
    (folder / "notes.md").write_text("Not a chat.", "utf-8")
    assert [one.turns[0].student.text for one in Dataset(imported(folder, status=1))] == [
        "2.jsonl",
        "9.json",
        "10.json",
    ]
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith("3.json: text: not JSON")
