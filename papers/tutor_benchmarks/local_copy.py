"""Reads a copy of MathTutorBench's repository: prompts, data, and the instruction of the reward model."""

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from soliloquy.runtime.extensions import check_installed
from soliloquy.runtime.failure import Failure, one_line
from soliloquy.runtime.files import read_json, read_regular_text

_MOST_BYTES = 256 * 1024**2
_SLOT = re.compile(r"\{\{\s*(\w+)\s*\}\}")
_RATING = "reward_model/compute_scaffolding_score.py"
_INSTRUCTION = "SYSTEM_PROMPT"


@dataclass(frozen=True, kw_only=True, slots=True)
class TaskConfig:
    """The configuration of one task, as the repository writes it."""

    file: Path
    prompt: str
    shots: str
    stop: Sequence[str]
    # A JSON file of the copy, or the name of a dataset on the hub.
    data: str

    def filled(self, slots: Mapping[str, str]) -> str:
        known = {**slots, "shots": self.shots}

        def value(found: re.Match[str]) -> str:
            if found[1] not in known:
                raise Failure(f"{self.file}: its prompt has the unknown slot {found[1]!r}")
            return known[found[1]]

        return _SLOT.sub(value, self.prompt)


def configs(folder: Path) -> dict[str, TaskConfig]:
    """Returns the configurations by the names of their tasks; raises Failure."""
    check_installed("train", "yaml")
    import yaml

    found = {}
    for file in sorted((folder / "configs").glob("*.yaml")):
        try:
            table = yaml.safe_load(read_regular_text(file))
            found[str(table["name"])] = TaskConfig(
                file=file,
                prompt=str(table["system_prompt"]),
                shots=str(table.get("few_shot_samples") or ""),
                stop=[*map(str, table.get("stop") or [])],
                data=str(table["dataset_path"]),
            )
        except (yaml.YAMLError, OSError, UnicodeError, KeyError, TypeError, AttributeError) as error:
            raise Failure(f"{file} is no configuration of MathTutorBench ({one_line(error)})") from error
    if not found:
        raise Failure(f"{folder} holds no copy of MathTutorBench: it has no configs/*.yaml")
    return found


def json_rows(file: Path) -> list[dict[str, Any]]:
    """Raises Failure, but FileNotFoundError for a file that is missing."""
    try:
        rows = read_json(file, _MOST_BYTES)
    except FileNotFoundError:
        raise
    except (OSError, ValueError) as error:
        raise Failure(f"{file} cannot be read ({one_line(error)})") from error
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise Failure(f"{file} is no list of objects")
    return rows


def gsm8k_rows(folder: Path, part: str) -> Iterator[dict[str, str]]:
    """Yields the test rows of a part of GSM8K, which lies in the copy as the hub has it."""
    import pyarrow.parquet as pq

    files = sorted((folder / "gsm8k" / part).glob("test*.parquet"))
    if not files:
        raise FileNotFoundError(folder / "gsm8k" / part / "test-00000-of-00001.parquet")
    for file in files:
        try:
            yield from pq.read_table(file, columns=["question", "answer"]).to_pylist()
        except (OSError, ValueError, KeyError) as error:
            raise Failure(f"{file} cannot be read ({one_line(error)})") from error


def rating_instruction(folder: Path) -> str:
    """Returns the instruction of the reward model, out of the program that rates with it; raises Failure."""
    file = folder / _RATING
    try:
        for line in ast.parse(read_regular_text(file)).body:
            if isinstance(line, ast.Assign) and ast.unparse(line.targets[0]) == _INSTRUCTION:
                return str(ast.literal_eval(line.value))
    except (OSError, UnicodeError, SyntaxError, ValueError) as error:
        raise Failure(f"{file} cannot be read ({one_line(error)})") from error
    raise Failure(f"{file} has no {_INSTRUCTION}: take another version of the repository")
