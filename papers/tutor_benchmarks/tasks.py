"""The tasks of MathTutorBench: what each asks, how its answers are read, and what is right."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from soliloquy.runtime.failure import Failure, one_line
from soliloquy_papers.tutor_benchmarks import TASKS
from soliloquy_papers.tutor_benchmarks.local_copy import TaskConfig, gsm8k_rows, json_rows

# Two numbers are the same up to this.
_SAME = 1e-6
_NUMBER = re.compile(r"-?\d*\.?\d+")
_MONEY = re.compile(r"\$?([-,\d]*\.?\d+)")
_FINAL = re.compile(r"Final Answer:\s*\$?([-,\d]*\.?\d+)")

Answer = float | bool | str | None


@dataclass(frozen=True, kw_only=True, slots=True)
class BenchmarkCase:
    id: str
    task: str
    text: str
    stop: Sequence[str]
    # The right answer, the gold questions, or the teacher's reply.
    target: Any
    # The row that it was made of, for the reward model.
    row: Mapping[str, Any] = field(default_factory=dict)


# The slots of a row's prompt with what is right.
Drawn = tuple[Mapping[str, str], Any, Mapping[str, Any]]


def task_cases(task: str, config: TaskConfig, folder: Path) -> Iterator[BenchmarkCase]:
    """Raises Failure, but FileNotFoundError if the data of the task are missing."""
    try:
        for number, (slots, target, row) in enumerate(_DRAWN[task](config, folder)):
            text = config.filled(slots)
            yield BenchmarkCase(id=f"{task}/{number}", task=task, text=text, stop=config.stop, target=target, row=row)
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        raise Failure(f"{config.data}: it has other rows than the task {task} reads ({one_line(error)})") from error


def _solving(config: TaskConfig, folder: Path) -> Iterator[Drawn]:
    for row in gsm8k_rows(folder, "main"):
        yield {"question": row["question"]}, _plain_number(row["answer"].rpartition("###")[2]), {}


def _questioning(config: TaskConfig, folder: Path) -> Iterator[Drawn]:
    for row in gsm8k_rows(folder, "socratic"):
        questions = [line.partition("**")[0].strip() for line in row["answer"].splitlines() if "**" in line]
        yield {"question": row["question"]}, questions, {}


def _solutions(config: TaskConfig, folder: Path, target: Callable[[Mapping[str, Any], bool], Any]) -> Iterator[Drawn]:
    """Yields each problem with the student's wrong solution, and with the right one."""
    for row in json_rows(folder / config.data):
        history = row.get("dialog_history", [])
        said = next(place for place, one in enumerate(history) if one["user"] == "Student")
        shared = {
            "question": row["problem"],
            "dialog_history": "\n".join(f"Teacher: {one['text']}" for one in history[:said]),
        }
        wrong, right = row["student_incorrect_solution"], row["reference_solution"].split("\n")
        chats = history[said]["text"], row["student_correct_response"]
        for steps, chat, is_wrong in ((wrong, chats[0], True), (right, chats[1], False)):
            # The last line of either is the bare result.
            lines = (f"Step {number} - {step}" for number, step in enumerate(steps[:-1], start=1))
            slots = {**shared, "student_solution": "\\n".join(lines), "student_chat_solution": chat}
            yield slots, target(row, is_wrong), {}


def _first_error(row: Mapping[str, Any], is_wrong: bool) -> int:
    return int(row["incorrect_index"]) + 1 if is_wrong else 0


def _right_result(row: Mapping[str, Any], is_wrong: bool) -> float:
    return _plain_number(row["reference_solution"].split("\n")[-1])


def _replying(config: TaskConfig, folder: Path) -> Iterator[Drawn]:
    for row in json_rows(folder / config.data):
        *before, last = row["dialog_history"]
        lines = [f"{'Student' if one['user'] == 'Student' else 'Teacher'}: {one['text']}" for one in before]
        slots = {"question": row["problem"], "dialog_history": "\n".join(lines or [f"Teacher: {last['text']}"])}
        yield slots, last["text"], {**row, "dialog_history": before}


REPLIES = ("scaffolding_generation", "pedagogy_following", "scaffolding_generation_hard", "pedagogy_following_hard")
_DRAWN: Mapping[str, Callable[[TaskConfig, Path], Iterator[Drawn]]] = {
    "gsm8k": _solving,
    "socratic_questioning": _questioning,
    "solution_correctness": partial(_solutions, target=lambda row, is_wrong: is_wrong),
    "mistake_location": partial(_solutions, target=_first_error),
    "mistake_correction": partial(_solutions, target=_right_result),
    **dict.fromkeys(REPLIES, _replying),
}
assert [*_DRAWN] == [*TASKS]


def read_answer(task: str, text: str) -> Answer:
    """Reads an answer as the benchmark does; None if it finds none."""
    match task:
        case "gsm8k":
            found = _NUMBER.findall(text)
            return float(found[-1]) if found else None
        case "solution_correctness":
            # Neither word counts as incorrect.
            return "yes" in text.lower() or "no" not in text.lower()
        case "mistake_location":
            first = re.search(r"\d+", text)
            return float(first[0]) if first else 0.0
        case "mistake_correction":
            final = _FINAL.search(text)
            numbers = [final[1]] if final else _MONEY.findall(text)[-1:]
            return _number(numbers[0]) if numbers else None
        case _:
            return text


def is_right(answer: Answer, target: Any) -> bool:
    return answer is not None and abs(float(answer) - float(target)) < _SAME


def _number(text: str) -> float | None:
    try:
        return float(text.replace(",", ""))
    except ValueError:
        return None


def _plain_number(text: str) -> float:
    return float(text.replace(",", "").strip())
