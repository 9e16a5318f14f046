"""Alpaca's instruction records: write a word problem about a topic, with the function that solves it."""

import re

from soliloquy.dataset.exports.dialogue import CannotConvert, Dialogue
from soliloquy.dataset.exports.format import ExportOptions, Format, Row, text_of
from soliloquy.recipes.mathwell.formats import sgsm

_ABOUT = "Write a word problem for school children on the topic below, and a commented Python function that solves it."
_ANY = "Write a word problem for school children, and a commented Python function that solves it."
_QUESTION, _SOLUTION = "Question: ", "\nSolution:\n"
# Also matches outputs of other tools: with these headings or others, fenced or bare.
_OUTPUT = re.compile(
    r"\s*(?:(?:question|problem)\s*:)?\s*(?P<question>.*?)\s*(?:(?:solution|answer|code)\s*:)?\s*(?:```\w*\s*)?"
    r"(?P<solution>(?:import \w+\s+)*def solution\(.*?)(?:\s*```)?\s*",
    re.IGNORECASE | re.DOTALL,
)


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
    parts = _OUTPUT.fullmatch(output)
    question = parts["question"] if parts else output.strip()
    if not question:
        raise CannotConvert("`output` holds no problem")
    return Dialogue(
        recipe=sgsm.RECIPE,
        question=question,
        solution=parts["solution"] if parts else "",
        topic=text_of(row, "input").strip(),
    )


FORMAT = Format(
    title="word problems and their programs as instruction records",
    suffixes=(".json", ".jsonl"),
    columns=sgsm.columns,
    row=row,
    dialogue=dialogue,
    made=(),
    holds_hidden=False,
    once_a_problem=True,
    wants="a problem with a calculation",
)
