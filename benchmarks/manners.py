"""`python -m benchmarks manners`."""

import json
import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from benchmarks.command import AS_JSON
from benchmarks.labelled import LISTED, Readings, cases, report, total
from soliloquy.recipes.answers import Decision, Program, StudentMessage, TutorMessage
from soliloquy.recipes.soliloquy.answers import Enriched, Reply
from soliloquy.runtime.answers import Answer, Refusal, Unreadable
from soliloquy.runtime.model.openai_format import completion_of
from soliloquy.runtime.model_answer import CutOff, Empty, Filtered, read_words, words_of

MANNERS = Path(__file__).parents[1] / "tests" / "unit" / "runtime" / "manners"
_FORMS: dict[str, type[Answer]] = {
    **{"reply": Reply, "decision": Decision, "program": Program, "enriched": Enriched},
    **{"student": StudentMessage, "tutor": TutorMessage},
}
_OUTCOMES = {Refusal: "refused", Filtered: "filtered", CutOff: "cut_off", Empty: "empty"}
# Control characters that no spoken text has.
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
# An answer is "read in error" that is to be refused or asked for again; "not read" is right, "with reason" for the
# right reason; "thoughts" are other than the label's.
_COLUMNS = ("all", "right", "wrong", "read in error", "asked again", "not read", "with reason", "thoughts")


@click.command()
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path), default=MANNERS)
@LISTED
@AS_JSON
def manners(*, folder: Path, listed: bool, as_json: bool) -> None:
    """Read labelled answers in the manner of several model families, and count what is read otherwise.

    FOLDER has a JSONL file for each family. The 600 answers of this repository, in three sets, were written and
    labelled before the reader was run on them; the last row counts what it met at first sight. `wrong` has other words
    than the label, `read in error` is to be refused or asked for again, `not read` is right in that, `thoughts` are
    other than the label's.
    """
    families = {path.stem: read_family(path) for path in sorted(folder.glob("*.jsonl"))}
    if (first := folder / "first_sight.json").exists():
        counts = Counter(json.loads(first.read_bytes()))
        families |= {"together": total(families.values()), "at first": Readings(counts=counts)}
    report(families, _COLUMNS, listed=listed, as_json=as_json)


def read_family(path: Path) -> Readings:
    readings = Readings()
    for number, row in enumerate(cases(path), start=1):
        outcomes, fault = _read(row)
        readings.add(["all", *outcomes], fault and f"{path.stem} {number} ({row['why']}): {fault}")
    return readings


def _read(row: Mapping[str, Any]) -> tuple[list[str], str]:
    """Returns the columns that an answer counts in, and what differs from its label."""
    response = {"choices": [{"message": row["message"], "finish_reason": row["finish"]}]}
    completion = completion_of(json.dumps(response).encode(), asked="m")
    words = words_of(completion)
    found: dict[str, str] = {}
    reason = ""
    try:
        found, outcome = _fields(read_words(completion, words, _FORMS[row["form"]])[0]), "read"
    except Unreadable as unreadable:
        outcome, reason = _OUTCOMES.get(type(unreadable), "ask_again"), str(unreadable)
    outcomes, fault = _compared(row, outcome, found)
    if any(_CONTROLS.search(value) for value in found.values()):
        outcomes.append("with controls")
    if words.thoughts.strip() != row["thoughts"].strip():
        outcomes.append("thoughts")
        fault += f" thoughts {words.thoughts!r} in place of {row['thoughts']!r}"
    return outcomes, fault and f"{fault} {reason}"


def _compared(row: Mapping[str, Any], outcome: str, found: dict[str, str]) -> tuple[list[str], str]:
    expected = row["outcome"].removesuffix("_while_thinking")
    if expected != "read":
        if outcome == "read":
            return ["read in error"], f"read, but to be {expected}"
        if outcome == expected:
            return ["not read", "with reason"], ""
        return ["not read"], f"{outcome} in place of {expected}"
    if outcome != "read":
        return ["asked again"], outcome
    if found == (label := _flat(row["read"])):
        return ["right"], ""
    differing = {
        name: (found.get(name), label.get(name)) for name in found | label if found.get(name) != label.get(name)
    }
    return ["wrong"], f"wrong {differing}"


def _fields(answer: Answer) -> dict[str, str]:
    if isinstance(answer, StudentMessage):
        # The labels are of messages in plain text, which claim nothing.
        return _flat({"text": answer.text})
    return _flat(answer.model_dump(by_alias=True, exclude_none=True))


def _flat(data: Mapping[str, Any]) -> dict[str, str]:
    """Returns the fields in the form of labels: code without a fence, names joined, the step as its number."""
    flat: dict[str, str] = {}
    for name, value in data.items():
        if isinstance(value, dict):
            flat |= _flat(value)
        elif name == "Python Code":
            flat[name] = re.sub(r"\A```python\n|\n```\Z", "", value).strip("\n")
        elif name == "Step Number":
            flat[name] = (re.findall(r"\d+", value) or ["0"])[0]
        elif name == "Result Variable":
            flat[name] = ", ".join(re.findall(r"\w+", value))
        else:
            flat[name] = value
    return flat
