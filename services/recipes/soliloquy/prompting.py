"""The recipe's prompts: each template of `prompts/` filled in from a conversation.

The tags (<question>, <conversation>, ..) are part of the contract with the scripted engine, which reads what it needs
to know from them; everything else in a template may be rewritten freely.
"""

import functools
import hashlib
import re
import string
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from soliloquy.v1.conversation_pb2 import Calculation, Conversation, ErrorStrategy, Intent, Problem
from soliloquy.v1.model_pb2 import Message
from soliloquy.v1.sandbox_pb2 import Status

from services.recipes.soliloquy.codes import INTENTS, STRATEGIES
from services.recipes.soliloquy.progress import progress_of
from services.runtime.ask import BrokenPrompt, Prompt
from services.runtime.values import shown

FOLDER = Path(__file__).with_name("prompts")

_TUTORING = {"question", "solution", "conversation", "progress"}
SLOTS = {
    "enriching": {"question", "solution", "steps", "count"},
    "student": {"question", "persona", "manner", "conversation", "kind", "strategy", "instruction"},
    "deciding": _TUTORING,
    "use_python": {"description", "failure"},
    "use_python_again": {"code", "error"},
    "received_python": _TUTORING | {"control", "description", "output"},
    "no_python": _TUTORING | {"control", "failure"},
    "no_python_failed": set[str](),
    "control": set[str](),
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Persona:
    """A student as others know them: how many are like that, and what they are like."""

    share: float
    manner: str


def enriching(problem: Problem) -> Prompt:
    return _prompt(
        "enriching",
        question=problem.question,
        solution=problem.solution,
        steps=_steps(problem),
        count=str(len(problem.steps)),
    )


def student(conversation: Conversation, intent: Intent, strategy: ErrorStrategy) -> Prompt:
    kind = INTENTS[intent]
    return _prompt(
        "student",
        question=conversation.problem.question,
        persona=conversation.persona,
        manner=personas()[conversation.persona].manner,
        conversation=_history(conversation),
        kind=kind,
        strategy=STRATEGIES.get(strategy, ""),
        instruction=_instructions()[STRATEGIES.get(strategy, kind)],
    )


def deciding(conversation: Conversation) -> Prompt:
    return _prompt("deciding", **_tutoring(conversation))


def use_python(calculation: Calculation) -> Prompt:
    failure = ""
    if calculation.attempts:
        last = calculation.attempts[-1]
        failure = _filled(
            "use_python_again", code=last.code, error=_error(last.execution.error, last.execution.error_line)
        )
    return _prompt("use_python", description=calculation.description, failure=failure)


def composing(conversation: Conversation) -> Prompt:
    """A program that never ran leaves the tutor without an output: it must not guess the verdict."""
    attempts = conversation.turns[-1].calculation.attempts
    ran = bool(attempts) and attempts[-1].execution.status == Status.STATUS_OK
    return received_python(conversation) if ran else no_python(conversation)


def received_python(conversation: Conversation) -> Prompt:
    calculation = conversation.turns[-1].calculation
    values = calculation.attempts[-1].execution.values
    return _prompt(
        "received_python",
        **_tutoring(conversation),
        control=_filled("control"),
        description=calculation.description,
        output="\n".join(f"{value.name} = {shown(value.value)}" for value in values),
    )


def no_python(conversation: Conversation) -> Prompt:
    failed = conversation.turns[-1].HasField("calculation")
    return _prompt(
        "no_python",
        **_tutoring(conversation),
        control=_filled("control"),
        failure=_filled("no_python_failed") if failed else "",
    )


def given_prompts(conversation: Conversation) -> list[tuple[int, Prompt]]:
    """Every prompt that led to a conversation, filled in from the templates as they stand, with its turn.

    What was asked before the first turn has the number 0.
    """
    problem = conversation.problem
    given = [(0, enriching(problem))] if problem.HasField("enrichment") else []
    for position, turn in enumerate(conversation.turns):
        before = Conversation(problem=problem, persona=conversation.persona, turns=conversation.turns[:position])
        given.append((turn.number, student(before, turn.student.intent, turn.student.strategy)))
        during = before.turns.add(number=turn.number, student=turn.student)
        given.append((turn.number, deciding(before)))
        if turn.HasField("calculation"):
            during.calculation.description = turn.calculation.description
            for attempt in turn.calculation.attempts:
                given.append((turn.number, use_python(during.calculation)))
                during.calculation.attempts.append(attempt)
        given.append((turn.number, composing(before)))
    return given


def fingerprints() -> dict[str, str]:
    """A hash of each prompt file: a dataset is grown with one set of prompts."""
    for name, slots in SLOTS.items():
        template = string.Template(_text(name))
        unknown = sorted(set(template.get_identifiers()) - slots)
        if unknown or not template.is_valid():
            wrong = f"${unknown[0]} stands for nothing" if unknown else "a lone $ must be written $$"
            raise BrokenPrompt(f"prompt {FOLDER.name}/{name}.txt: {wrong}; its slots are {', '.join(sorted(slots))}")
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(FOLDER.iterdir())}


def _tutoring(conversation: Conversation) -> dict[str, str]:
    progress = progress_of(conversation)
    return {
        "question": conversation.problem.question,
        "solution": conversation.problem.enrichment.detailed_solution or _steps(conversation.problem),
        "conversation": _history(conversation),
        "progress": f"Step being worked on: {progress.step} of {progress.steps}\n"
        f"Wrong answers at this step: {progress.wrong_answers}",
    }


def _steps(problem: Problem) -> str:
    return "\n".join(
        f"Step {step.number}) {step.explanation}" + (f" {step.formula}" if step.formula else "")
        for step in problem.steps
    )


def _history(conversation: Conversation) -> str:
    lines = []
    for turn in conversation.turns:
        lines.append(f"Student: {_one_line(turn.student.text)}")
        if turn.HasField("tutor"):
            lines.append(f"Tutor: {_one_line(turn.tutor.text)}")
    return "\n".join(lines)


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _error(error: str, line: int) -> str:
    return f"line {line}: {error}" if line else error


def _prompt(state: str, **slots: str) -> Prompt:
    return Prompt(
        name=f"soliloquy/{state}",
        messages=[Message(role=role, text=template.substitute(slots)) for role, template in _templates(state)],
    )


def _filled(name: str, **slots: str) -> str:
    return string.Template(_text(name)).substitute(slots)


@functools.cache
def _templates(state: str) -> list[tuple[str, string.Template]]:
    sections = re.split(r"^\[(system|user)\]\n", _text(state), flags=re.MULTILINE)
    return [(role, string.Template(text.strip())) for role, text in zip(sections[1::2], sections[2::2], strict=True)]


@functools.cache
def _text(name: str) -> str:
    return (FOLDER / f"{name}.txt").read_text("utf-8").rstrip("\n")


@functools.cache
def personas() -> Mapping[str, Persona]:
    table = tomllib.loads((FOLDER / "personas.toml").read_text("utf-8"))
    return {name: Persona(**persona) for name, persona in table.items()}


@functools.cache
def _instructions() -> dict[str, str]:
    return tomllib.loads((FOLDER / "intents.toml").read_text("utf-8"))
