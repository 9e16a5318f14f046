"""`python -m benchmarks manners`."""

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from benchmarks.command import AS_JSON
from soliloquy.cli.tables import table
from soliloquy.recipes.answers import Decision, Program, StudentMessage, TutorMessage
from soliloquy.recipes.soliloquy.answers import Enriched, Reply
from soliloquy.runtime.answers import Answer, Unreadable
from soliloquy.runtime.model.openai_format import completion_of
from soliloquy.runtime.model_answer import CutOff, Empty, Filtered, read_words, words_of
from soliloquy.runtime.refusals import Refusal

MANNERS = Path(__file__).parents[1] / "tests" / "unit" / "runtime" / "manners"
_FORMS: dict[str, type[Answer]] = {
    **{"reply": Reply, "decision": Decision, "program": Program, "enriched": Enriched},
    **{"student": StudentMessage, "tutor": TutorMessage},
}
_OUTCOMES = {Refusal: "refused", Filtered: "filtered", CutOff: "cut_off", Empty: "empty"}
# Control characters that no spoken text has.
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


@dataclass(kw_only=True)
class Reading:
    """How the answers of a family were read, against their labels."""

    answers: int = 0
    # Read, and to be read, with exactly the words and codes of the label.
    right: int = 0
    # Read with other words or codes.
    wrong: int = 0
    # Read although they are to be asked for again, refused or cut off.
    read_wrongly: int = 0
    # Asked for again although they can be read.
    asked_again: int = 0
    # Not read, and not to be read; those with the right reason among them.
    not_read: int = 0
    right_reason: int = 0
    # With other thoughts than the label's.
    other_thoughts: int = 0
    with_controls: int = 0
    faults: list[str] = field(default_factory=list)


@click.command()
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path), default=MANNERS)
@click.option("--list", "listed", is_flag=True, help="List what is read in another way than its label.")
@AS_JSON
def manners(*, folder: Path, listed: bool, as_json: bool) -> None:
    """Read labelled answers in the manner of several model families, and count what is read otherwise.

    FOLDER has a JSONL file for each family. The 300 answers of this repository were written and labelled before the
    reader was run on them. `wrong` has other words than the label, `read in error` is to be refused or asked for
    again, `not read` is right in that, `thoughts` are other than the label's.
    """
    families = {path.stem: read_family(path) for path in sorted(folder.glob("*.jsonl"))}
    if as_json:
        click.echo(json.dumps({name: asdict(reading) for name, reading in families.items()}))
        return
    columns = ("all", "right", "wrong", "read in error", "asked again", "not read", "with reason", "thoughts")
    made = table("", *columns)
    for name, one in families.items():
        counts = (one.answers, one.right, one.wrong, one.read_wrongly, one.asked_again, one.not_read, one.right_reason)
        made.add_row(name, *map(str, (*counts, one.other_thoughts)))
    Console().print(made)
    for reading in families.values() if listed else ():
        click.echo("\n".join(reading.faults))


def read_family(path: Path) -> Reading:
    reading = Reading()
    for number, line in enumerate(path.read_text("utf-8").splitlines(), start=1):
        _read(json.loads(line), f"{path.stem} {number}", reading)
    return reading


def _read(row: Mapping[str, Any], where: str, reading: Reading) -> None:
    reading.answers += 1
    response = {"choices": [{"message": row["message"], "finish_reason": row["finish"]}]}
    completion = completion_of(json.dumps(response).encode(), asked="m")
    words = words_of(completion)
    fault = ""
    try:
        found = _fields(read_words(completion, words, _FORMS[row["form"]])[0])
        outcome = "read"
        reading.with_controls += any(_CONTROLS.search(value) is not None for value in found.values())
    except Unreadable as unreadable:
        outcome, found = _OUTCOMES.get(type(unreadable), "ask_again"), {"reason": str(unreadable)}
    expected = row["outcome"].removesuffix("_while_thinking")
    if expected != "read":
        if outcome == "read":
            reading.read_wrongly += 1
            fault = f"read, but to be {expected}"
        else:
            reading.not_read += 1
            reading.right_reason += outcome == expected
            fault = "" if outcome == expected else f"{outcome} in place of {expected}"
    elif outcome != "read":
        reading.asked_again += 1
        fault = outcome
    elif found == (label := _flat(row["read"])):
        reading.right += 1
    else:
        reading.wrong += 1
        differing = {
            name: (found.get(name), label.get(name)) for name in found | label if found.get(name) != label.get(name)
        }
        fault = f"wrong {differing}"
    if words.thoughts.strip() != row["thoughts"].strip():
        reading.other_thoughts += 1
        fault += f" thoughts {words.thoughts!r} in place of {row['thoughts']!r}"
    if fault:
        reading.faults.append(f"{where} ({row['why']}): {fault} {found.get('reason', '')}")


def _fields(answer: Answer) -> dict[str, str]:
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
