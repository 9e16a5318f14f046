"""Every importer, with every kind of bad input: each bad row is a line with file, row and field; good rows are kept."""

import csv
import io
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from soliloquy.cli.exchange import import_
from soliloquy.cli.problems.files import import_ as import_problems
from soliloquy.problems.files.reading.rows import LONGEST_LINE
from soliloquy.runtime.failure import Failure

Row = dict[str, Any]
# In place of it, each row has a text of its own.
OWN = "café"
SAID = [{"from": "human", "value": OWN}, {"from": "gpt", "value": "It is."}]
STATES = [{"from": "student", "value": OWN}, {"from": "initial_state", "value": {"Tutorbot Response": "Yes."}}]
CHAT = [{"role": "user", "content": OWN}, {"role": "assistant", "content": "Yes."}]
DECISION = json.dumps({"Use Python": "n", "Description": ""})
LOG = [
    ["USER", "Why?"],
    ["ASSISTANT", f"Now the conversation is beginning: USER: Why? ASSISTANT: {DECISION}</s>ASSISTANT: {OWN}"],
]
PROGRAM = "def solution():\n    pens = 2\n    return pens + 3"
SUBPROBLEM = {"Question": "What is 2 + 3?", "Answer": "5", "Hint": "Add.", "Feedback": "No."}
CLASS = json.dumps({"Problem": OWN, "SubProblems": [SUBPROBLEM]}, ensure_ascii=False)


@dataclass(frozen=True)
class Importer:
    command: str
    form: str
    suffix: str
    row: Row
    # The column without which a row cannot be used.
    needed: str
    # The column of the id, if the format has one.
    id: str = ""

    def rows(self, **fields: str) -> list[Row]:
        text = json.dumps(self.row | fields, ensure_ascii=False)
        return [json.loads(text.replace(OWN, f"{OWN} {number}")) for number in range(3)]

    def text(self, rows: list[Row] | None = None, end: str = "\n") -> str:
        rows = rows or self.rows()
        if self.suffix == ".csv":
            text = io.StringIO()
            writer = csv.DictWriter(text, list(rows[0]), lineterminator=end)
            writer.writeheader()
            writer.writerows(rows)
            return text.getvalue()
        lines = [json.dumps(row, ensure_ascii=False) for row in rows]
        if self.suffix == ".json":
            return f"[{end}" + f",{end}".join(lines) + f"{end}]{end}"
        return "".join(line + end for line in lines)

    def text_with(self, **second: Any) -> str:
        """Returns the text with other fields in the second row."""
        rows = self.rows()
        rows[1] |= second
        return self.text(rows)


IMPORTERS = [
    Importer("problems", "csv", ".csv", {"question": OWN, "solution": "2 + 3 = 5"}, "solution", "id"),
    Importer("problems", "jsonl", ".jsonl", {"question": OWN, "solution": "2 + 3 = 5"}, "solution", "id"),
    Importer("problems", "gsm8k", ".jsonl", {"question": OWN, "answer": "<<2+3=5>>5\n#### 5"}, "answer"),
    Importer("problems", "mathdial", ".csv", {"question": OWN, "ground_truth": "2 + 3 = 5\n 5"}, "question", "qid"),
    Importer("problems", "sgsm", ".csv", {"question": OWN, "solution": PROGRAM, "answer": "5"}, "solution"),
    Importer("problems", "bigmath", ".jsonl", {"problem": OWN, "answer": "5"}, "problem"),
    Importer("problems", "class", ".csv", {"section_name": "Sums", "problems": CLASS}, "problems"),
    Importer("problems", "physics", ".json", {"Question": OWN, "Original Solution": "2 m + 3 m = 5 m"}, "Question"),
    Importer("import", "openai", ".jsonl", {"messages": CHAT}, "messages"),
    Importer("import", "sharegpt", ".json", {"conversations": SAID}, "conversations", "id"),
    Importer("import", "fastchat", ".json", {"conversations": SAID}, "conversations", "id"),
    Importer("import", "mathdial", ".csv", {"conversation": f"Ana: {OWN}", "question": "Why?"}, "conversation"),
    Importer("import", "alpaca", ".jsonl", {"output": f"Question: {OWN}\nSolution:\n{PROGRAM}"}, "output"),
    Importer("import", "sgsm", ".csv", {"question": OWN, "solution": PROGRAM}, "question"),
    Importer("import", "soliloquies", ".json", {"conversations": STATES}, "conversations", "id"),
    Importer("import", "transcripts", ".json", {"messages": LOG}, "messages"),
]


def never_closed(importer: Importer) -> str:
    """Adds a row with more lines than anybody would read complaints."""
    whole, lines = (
        importer.text(),
        ("x" * 200 if importer.suffix == ".jsonl" else "x" * 199 + "\n") * (LONGEST_LINE // 200 + 1),
    )
    if importer.suffix == ".csv":
        return whole + '"' + lines + '"' + ',""' * (len(importer.row) - 1) + "\n"
    return whole.removesuffix("\n]\n") + (",\n" if importer.suffix == ".json" else "") + '{"x": "' + lines


def long_row(importer: Importer) -> str:
    return importer.text().replace(f"{OWN} 1", "long " * LONGEST_LINE)


def another_encoding(importer: Importer) -> bytes:
    return importer.text().encode().replace(f"{OWN} 1".encode(), f"{OWN} 1".encode("latin-1"))


def cut_off(importer: Importer) -> str:
    return importer.text().partition(f"{OWN} 2")[0] + OWN


READABLE: dict[str, Callable[[Importer], bytes]] = {
    "UTF-8": lambda one: one.text().encode(),
    "a byte order mark": lambda one: one.text().encode("utf-8-sig"),
    "Windows line ends": lambda one: one.text(end="\r\n").encode(),
    "UTF-16": lambda one: one.text().encode("utf-16"),
}
# With the number of rows that are kept, and what is said of the others.
BAD: dict[str, tuple[Callable[[Importer], bytes | str], int, str]] = {
    "another encoding": (another_encoding, 2, "holds the byte 0xE9, which is not UTF-8"),
    "a long row": (long_row, 2, "is longer than|has more than|not closed within"),
    "a row that never ends": (never_closed, 3, "not closed within|is longer than|never closed|cut off|not JSON"),
    "cut off": (cut_off, 2, "not JSON|never closed|cells, but there are"),
    "an empty column": (lambda one: one.text_with(**{one.needed: ""}), 2, "is empty|is missing|is not a list|holds no"),
    "another type": (
        lambda one: one.text_with(**{one.needed: [[7]]}),
        2,
        "is not a|is missing|must speak|unexpected|not what|holds no",
    ),
}
CASES = [
    pytest.param(importer, kind, id=f"{importer.command} {importer.form}: {kind}")
    for importer in IMPORTERS
    for kind in BAD
    # A cell of CSV is a text, and MathDial has dialogues in which nobody spoke.
    if (importer.suffix, kind) != (".csv", "another type")
    and (importer.command, importer.form, kind) != ("import", "mathdial", "an empty column")
]
ids = "{0.command} {0.form}".format


def imported(
    importer: Importer, content: bytes | str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> tuple[int, int, list[str]]:
    """Returns the exit status, the number of rows that are kept, and the complaints."""
    source = folder / f"source{importer.suffix}"
    source.write_bytes(content if isinstance(content, bytes) else content.encode())
    command, option = (import_problems, "--as") if importer.command == "problems" else (import_, "--format")
    status = command.main(
        [str(source), option, importer.form, "--out", str(folder / "out.jsonl")], standalone_mode=False
    )
    told = capsys.readouterr()
    found = re.search(r"(\d+) (?:problems|conversations) in", told.out)
    return status, int(found[1]) if found else 0, [line for line in told.err.splitlines() if "unverified" not in line]


@pytest.mark.parametrize("how", READABLE)
@pytest.mark.parametrize(
    "importer", [one for one in IMPORTERS if one.form in ("mathdial", "openai", "physics")], ids=ids
)
def test_rows_are_read_however_their_text_was_saved(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], importer: Importer, how: str
) -> None:
    assert imported(importer, READABLE[how](importer), tmp_path, capsys) == (0, 3, [])


@pytest.mark.parametrize(("importer", "kind"), CASES)
def test_a_bad_row_is_named_and_good_rows_are_kept(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], importer: Importer, kind: str
) -> None:
    content, kept, complaint = BAD[kind]
    status, count, complaints = imported(importer, content(importer), tmp_path, capsys)
    assert (status, count) == (1, kept)
    assert 1 <= len(complaints) <= 3
    assert re.match(rf"source\{importer.suffix}(:\d+| item \d+): .*({complaint})", complaints[0])
    assert len(complaints[0]) < 300


@pytest.mark.parametrize("importer", IMPORTERS, ids=ids)
def test_a_renamed_column_is_named_and_leaves_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], importer: Importer
) -> None:
    content = importer.text([{f"{name}s": value for name, value in row.items()} for row in importer.rows()])
    try:
        status, count, complaints = imported(importer, content, tmp_path, capsys)
    except Failure as failure:
        status, count, complaints = 1, 0, [*capsys.readouterr().err.splitlines(), str(failure)]
    assert (status, count) == (1, 0)
    assert "source" in complaints[0]
    assert f"{importer.needed}" in complaints[0]


@pytest.mark.parametrize("importer", [one for one in IMPORTERS if one.id], ids=ids)
def test_an_id_that_comes_twice_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], importer: Importer
) -> None:
    status, count, complaints = imported(importer, importer.text(importer.rows(**{importer.id: "7"})), tmp_path, capsys)
    # A conversation gets an id of its own; a problem's id says which problem it is.
    assert (status, count, len(complaints)) == (1, 1 if importer.command == "problems" else 3, 2)
    assert all("id: the same as at source" in one for one in complaints)
