"""Sources of any size for an import, and the most memory that it takes."""

import csv
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from tests.e2e.runs import run

# As many characters as a dialogue may have that is kept with its problem.
LINE = f"Teacher: {'Well, ' * 30}\n"
LONG = LINE * 5_000
# A batch of Arrow's holds 256 rows.
SHORT = LINE * 80

NAMES = ["qid", "question", "ground_truth", "conversation"]


def peak_of_import(source: Path, as_format: str) -> tuple[int, subprocess.CompletedProcess[str]]:
    """The most memory that the process had, in KiB; its output ends with that line."""
    code = (
        "import sys\n"
        "from soliloquy.cli.main import main\n"
        "try:\n"
        "    main()\n"
        "finally:\n"
        # Not getrusage, which still counts the memory of whoever started the process.
        "    print(next(line for line in open('/proc/self/status') if line.startswith('VmHWM')).split()[1])\n"
    )
    out = source.with_name("mine.jsonl")
    arguments = ["problems", "import", str(source), "--as", as_format, "--out", str(out), "--json"]
    result = run([sys.executable, "-c", code, *arguments])
    # Some rows are bad in some of the sources.
    assert result.returncode in (0, 1), result.stderr
    return int(result.stdout.splitlines()[-1]), result


def _rows(size: int, text: str) -> Iterator[dict[str, str]]:
    for number in range(-(-size // len(text))):
        question = f"How much is {number} + 1?"
        yield {"qid": str(number), "question": question, "ground_truth": "Add one.", "conversation": text}


def as_jsonl(path: Path, size: int) -> None:
    with path.open("w", encoding="utf-8") as file:
        file.writelines(f"{json.dumps(row)}\n" for row in _rows(size, LONG))


def as_array(path: Path, size: int) -> None:
    with path.open("w", encoding="utf-8") as file:
        file.write("[")
        file.writelines(f"{json.dumps(row)},\n" for row in _rows(size, LONG))
        file.write(f"{json.dumps(dict.fromkeys(NAMES, 'The last'))}]")


def as_csv(path: Path, size: int) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        table = csv.DictWriter(file, NAMES)
        table.writeheader()
        table.writerows(_rows(size, LONG))


def as_parquet(path: Path, size: int) -> None:
    with pq.ParquetWriter(
        path, pa.schema([(name, pa.string()) for name in NAMES]), use_dictionary=False, compression="none"
    ) as writer:
        rows = list(_rows(size, SHORT))
        for start in range(0, len(rows), 4_096):
            writer.write_table(pa.Table.from_pylist(rows[start : start + 4_096]))


# How a source of about so many bytes is written, by its ending.
WRITERS: dict[str, Callable[[Path, int], None]] = {
    ".jsonl": as_jsonl,
    ".json": as_array,
    ".csv": as_csv,
    ".parquet": as_parquet,
}
