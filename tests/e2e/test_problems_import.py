"""Problems of others, from their file to a dataset: by the command alone."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.large import WRITERS, peak_of_import
from tests.e2e.runs import SOLILOQUY, grown, one_line, run, said

TROLLEY = {
    "question": "A shopper pushes a trolley of 20 kg with 50 N. What is its acceleration?",
    "answer": "Divide force by mass: 50/20=<<50/20=2.5>>2.5 m/s^2.\n#### 2.5",
}
BROKEN = {"question": "And then?"}
# The most memory that an import needs, whatever it reads; some 40 MiB of it are Python and its libraries.
MOST_KIB = 120 * 1024


def jsonl(path: Path, *rows: Any) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path


def problems(*arguments: object) -> subprocess.CompletedProcess[str]:
    return said([SOLILOQUY, "problems", *map(str, arguments)])


def test_what_is_imported_can_be_tutored(tmp_path: Path) -> None:
    source = jsonl(tmp_path / "theirs.jsonl", TROLLEY)
    imported = problems("import", source, "--as", "gsm8k", "--out", tmp_path / "mine.jsonl")
    assert imported.returncode == 0, imported.stderr
    report = grown(tmp_path / "out", problems=tmp_path / "mine.jsonl", conversations=1)
    assert report["accepted"] == 1


@pytest.mark.parametrize(("name", "divider"), [("theirs.csv", ","), ("theirs.tsv", "\t"), ("theirs.CSV", ";")])
def test_the_suffix_of_a_table_says_its_format(tmp_path: Path, name: str, divider: str) -> None:
    source = tmp_path / name
    source.write_text(f"question{divider}solution\nHow much is 3 times 4?{divider}3 * 4 = 12\n", "utf-8")
    imported = problems("import", source, "--out", tmp_path / "mine.jsonl", "--json")
    assert json.loads(imported.stdout)["written"] == 1


def test_rows_that_cannot_be_used_are_reported_and_counted(tmp_path: Path) -> None:
    source = jsonl(tmp_path / "theirs.jsonl", BROKEN, TROLLEY, TROLLEY)
    result = problems("import", source, "--as", "gsm8k", "--out", tmp_path / "mine.jsonl", "--json")
    assert result.returncode == 1
    counts = {"read": 3, "written": 1, "refused": 1, "repeated": 1, "unread": 0, "text_answers": 0}
    assert json.loads(result.stdout) == counts
    assert result.stderr.splitlines() == [
        "theirs.jsonl:1: solution: no column 'answer'; there are: 'question'; "
        "--columns OURS=THEIRS,.. says which is which",
        "theirs.jsonl:3: question: the same as at theirs.jsonl:2",
    ]


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    source = jsonl(tmp_path / "theirs.jsonl", TROLLEY)
    assert "cannot be written" in one_line(
        problems("import", source, "--as", "gsm8k", "--out", tmp_path / "no" / "mine.jsonl")
    )


def test_a_line_of_50_mb_costs_one_line_and_no_memory(tmp_path: Path) -> None:
    source = tmp_path / "theirs.jsonl"
    with source.open("w", encoding="utf-8") as file:
        file.write('{"question": "')
        for _ in range(50):
            file.write("why " * 250_000)
        file.write(f'"}}\n{json.dumps(TROLLEY)}\n')
    memory, result = peak_of_import(source, "gsm8k")
    assert result.stderr == "theirs.jsonl:1: text: is longer than 1,048,576 characters\n"
    assert memory < MOST_KIB


@pytest.mark.parametrize("ending", [".json", ".csv"])
def test_a_large_source_is_read_row_by_row(tmp_path: Path, ending: str) -> None:
    source = tmp_path / f"theirs{ending}"
    # With Python itself it would be more.
    WRITERS[ending](source, 50 * 1024 * 1024)
    memory, result = peak_of_import(source, "mathdial")
    assert result.stderr == ""
    assert memory < MOST_KIB


def test_sifting_is_the_same_in_every_process(tmp_path: Path) -> None:
    rows = [
        {"question": f"{start} 30 litres of water of 20 °C in a copper pot over a flame{end}", "solution": "So."}
        for start in ("Ann heats", "Ben heats", "We heat", "One heats", "Carl has")
        for end in (" for 5 minutes.", " for five minutes.", " for five minutes only.", "!")
    ]
    source = jsonl(tmp_path / "all.jsonl", *rows)
    kept = []
    for hash_seed in ("1", "2"):
        out = tmp_path / f"kept{hash_seed}.jsonl"
        dedupe = [SOLILOQUY, "problems", "dedupe", str(source), "--out", str(out), "--json"]
        result = run(dedupe, environment={"PYTHONHASHSEED": hash_seed})
        assert result.returncode == 0, result.stderr
        assert 0 < json.loads(result.stdout)["dropped"] < len(rows)
        kept.append(out.read_bytes())
    assert kept[0] == kept[1]


def test_a_sample_that_cannot_be_had_is_said(tmp_path: Path) -> None:
    rows = [{"question": f"{n}?", "solution": "So.", "extra": {"solve_rate": 0.1}} for n in range(9)]
    source = jsonl(tmp_path / "all.jsonl", *rows)
    result = problems("split", source, "--out", tmp_path / "parts", "--sample", 10, "--by-solve-rate", "--json")
    assert result.returncode == 1
    assert json.loads(result.stdout)["sampled"] == 8
    assert "only 8 of 10 problems match" in result.stderr
    assert sorted(path.name for path in (tmp_path / "parts").iterdir()) == [
        "split.json",
        "test-unseen.jsonl",
        "train.jsonl",
    ]
