"""Draws annotation tasks from datasets: what annotators see of each item, without who or what wrote it."""

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from soliloquy.annotation.scheme import Turns, Unit
from soliloquy.recipes.agreement import is_mistaken
from soliloquy.recipes.codegen import has_run, output
from soliloquy.runtime.failure import Failure
from soliloquy.runtime.files import read_regular_text
from soliloquy.runtime.seeds import draw
from soliloquy.truth.number_format import format_number, with_unit
from soliloquy.v1.conversation_pb2 import Conversation, Ending, Turn, Verification

By = Literal["random", "uncertainty", "stratum"]
# The support of a verdict, the least certain first.
_SUPPORT = (Verification.VERIFICATION_NONE, Verification.VERIFICATION_STEP, Verification.VERIFICATION_PROGRAM)


@dataclass(frozen=True, kw_only=True, slots=True)
class Drawn:
    """An item with what decides whether it is drawn."""

    item: str
    shown: Callable[[], dict[str, Any]]
    stratum: str
    # The rank of its certainty; the lowest is judged first.
    certainty: int
    # Whether the student's message holds a mistake.
    is_mistaken: bool = False


def tasks(
    conversations: Iterable[Conversation], unit: Unit, *, turns: Turns = "all", count: int, by: By, seed: int
) -> list[dict[str, Any]]:
    """Returns at most so many tasks; the same seed draws the same ones. Raises Failure if there are none."""
    found = [one for conversation in conversations for one in _UNITS[unit](conversation)]
    if turns == "mistakes" and not (found := [one for one in found if one.is_mistaken]):
        raise Failure("the dataset has no reply to a student's mistake, and the scheme asks about nothing else")
    if not found:
        raise Failure(f"the dataset has no {unit} to annotate")
    draw(seed, "annotation", unit).shuffle(found)
    chosen = _chosen(found, count, by)
    return [{"item": one.item, "unit": unit, "shown": one.shown()} for one in chosen]


def read_tasks(file: Path) -> list[dict[str, Any]]:
    """Raises Failure for a file of something else."""
    try:
        found = [json.loads(line) for line in read_regular_text(file).splitlines()]
        if not all({"item", "shown"} <= {*task} for task in found):
            raise ValueError("a line has no item")
    except (OSError, ValueError, TypeError) as error:
        raise Failure(f"{file} holds no tasks: use a file of soliloquy annotations sample") from error
    return found


def _chosen(found: Sequence[Drawn], count: int, by: By) -> Sequence[Drawn]:
    match by:
        case "random":
            return found[:count]
        case "uncertainty":
            return sorted(found, key=lambda one: one.certainty)[:count]
        case "stratum":
            strata: defaultdict[str, list[Drawn]] = defaultdict(list)
            for one in found:
                strata[one.stratum].append(one)
            turns = (each for place in range(len(found)) for each in (of[place : place + 1] for of in strata.values()))
            return [one for each in turns for one in each][:count]


def _conversations(conversation: Conversation) -> Iterator[Drawn]:
    def shown() -> dict[str, Any]:
        return _problem(conversation) | {"messages": messages_of(conversation.turns)}

    certainty = min((_certainty(turn) for turn in conversation.turns), default=len(_SUPPORT))
    yield Drawn(item=conversation.id, shown=shown, stratum=_stratum(conversation), certainty=certainty)


def _turns(conversation: Conversation) -> Iterator[Drawn]:
    for turn in conversation.turns:
        if not (turn.HasField("tutor") and turn.HasField("student")):
            continue

        def shown(number: int = turn.number) -> dict[str, Any]:
            told = conversation.turns[number - 1]
            program = _program(told)
            return _problem(conversation) | {"messages": messages_of(conversation.turns[:number]), **program}

        yield Drawn(
            item=f"{conversation.id}#{turn.number}",
            shown=shown,
            stratum=_stratum(conversation),
            certainty=_certainty(turn),
            is_mistaken=is_mistaken(turn),
        )


def _problems(conversation: Conversation) -> Iterator[Drawn]:
    yield Drawn(item=conversation.id, shown=lambda: _problem(conversation), stratum=_stratum(conversation), certainty=0)


_UNITS: dict[Unit, Callable[[Conversation], Iterator[Drawn]]] = {
    "conversation": _conversations,
    "turn": _turns,
    "problem": _problems,
}


def _problem(conversation: Conversation) -> dict[str, Any]:
    problem = conversation.problem
    answer = with_unit(format_number(problem.answer.value), problem.answer.unit) if problem.HasField("answer") else ""
    return {"question": problem.question, "solution": problem.solution, "answer": answer}


def messages_of(turns: Iterable[Turn]) -> list[dict[str, str]]:
    said = ((("student", turn.student.text), ("tutor", turn.tutor.text)) for turn in turns)
    return [{"role": role, "text": text} for both in said for role, text in both if text]


def _program(turn: Turn) -> dict[str, Any]:
    if not turn.calculation.attempts:
        return {}
    ran = has_run(turn.calculation)
    result = output(turn.calculation) if ran else turn.calculation.attempts[-1].execution.error
    return {"program": {"code": turn.calculation.attempts[-1].code, "ran": ran, "output": result}}


def _certainty(turn: Turn) -> int:
    return _SUPPORT.index(turn.verification) if turn.verification in _SUPPORT else len(_SUPPORT)


def _stratum(conversation: Conversation) -> str:
    return f"{conversation.persona}, {Ending.Name(conversation.ending)}"
