"""Alpaca's instruction records: write a word problem about a topic, with the function that solves it."""

import re
from dataclasses import replace

from soliloquy.dataset.exports.dialogue import CannotConvert, Dialogue
from soliloquy.dataset.exports.format import ExportOptions, Row, text_of
from soliloquy_papers.mathwell.formats import sgsm

_ABOUT = "Write a word problem for school children on the topic below, and a commented Python function that solves it."
_ANY = "Write a word problem for school children, and a commented Python function that solves it."
_QUESTION, _SOLUTION = "Question: ", "\nSolution:\n"
# Other tools write these headings or others, and programs that are fenced or bare.
_PROGRAM = re.compile(r"(?:import \w+\s+)*+def solution\(", re.IGNORECASE)
_BEFORE_QUESTION = re.compile(r"\A(?:question|problem)\s*+:\s*+", re.IGNORECASE)
_BEFORE_PROGRAM = re.compile(r"(?:solution|answer|code)\s*+:\Z", re.IGNORECASE)
_FENCE = re.compile(r"```\w*+\Z")


def row(dialogue: Dialogue, choice: ExportOptions) -> Row | None:
    problem = sgsm.row(dialogue, choice)
    if problem is None:
        return None
    solution = f"{_SOLUTION}{problem['solution']}" if choice.solutions else ""
    return {
        "instruction": _ABOUT if dialogue.topic else _ANY,
        "input": dialogue.topic,
        "output": f"{_QUESTION}{problem['question']}{solution}",
    }


def dialogue(row: Row) -> Dialogue:
    output = row.get("output")
    if not isinstance(output, str):
        raise CannotConvert("`output` is not a text")
    question, solution = _parts(output)
    if not question.strip():
        raise CannotConvert("`output` holds no problem")
    return Dialogue(recipe=sgsm.RECIPE, question=question, solution=solution, topic=text_of(row, "input").strip())


def _parts(output: str) -> tuple[str, str]:
    """Returns the problem and its program, which is empty if there is none."""
    program = _PROGRAM.search(output)
    if program is None:
        return output.removeprefix(_QUESTION), ""
    before, code = output[: program.start()], output[program.start() :]
    if before.startswith(_QUESTION) and before.endswith(_SOLUTION):
        return before[len(_QUESTION) : -len(_SOLUTION)], code
    question = _BEFORE_PROGRAM.sub("", _FENCE.sub("", before.strip()).rstrip()).rstrip()
    return _BEFORE_QUESTION.sub("", question), code.rstrip().removesuffix("```").rstrip()


FORMAT = replace(
    sgsm.FORMAT,
    title="word problems and their programs as instruction records",
    suffixes=(".json", ".jsonl"),
    row=row,
    dialogue=dialogue,
    always=("instruction", "input"),
)
