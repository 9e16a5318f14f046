"""The form of a conversation that all exports and imports share."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from soliloquy.dataset.exports.output import execution
from soliloquy.recipes.codes import EVALUATIONS, INTENTS
from soliloquy.recipes.labels import Labels, labels_of
from soliloquy.runtime.seeds import digest
from soliloquy.v1.conversation_pb2 import (
    Calculation,
    CodeAttempt,
    Conversation,
    Problem,
    StudentReply,
    Turn,
    TutorReply,
)

_INTENTS = {name: intent for intent, name in INTENTS.items()}


class Attempt(NamedTuple):
    code: str
    result_variables: Sequence[str]
    # The output, as the tutor reads it.
    output: str = ""


class Exchange(NamedTuple):
    """A turn: the student's message, the calculation and the tutor's reply. None stands for a missing message."""

    student: str | None = None
    intent: str | None = None
    # The calculation, if there was one.
    description: str | None = None
    attempts: Sequence[Attempt] = ()
    thoughts: str = ""
    evaluation: str = ""
    reply: str | None = None
    # The recipe's labels by name, such as `tutor.action`; enums in words.
    labels: Mapping[str, Any] = {}

    @property
    def is_plain(self) -> bool:
        """Whether nothing of the tutor's thoughts is known."""
        return not (self.thoughts or self.evaluation or any(name.startswith("tutor.") for name in self.labels))


class Dialogue(NamedTuple):
    id: str = ""
    recipe: str = ""
    problem_id: str = ""
    topic: str = ""
    question: str = ""
    solution: str = ""
    detailed_solution: str = ""
    outline: str = ""
    persona: str = ""
    ending: str = ""
    turns: Sequence[Exchange] = ()
    # The answer to the problem, if it is a number.
    answer: float | None = None
    # The steps of the solution, from which a program can be written.
    steps: Sequence[dict[str, Any]] = ()
    # Fields of an imported row that have no field here.
    extra: dict[str, Any] = {}  # noqa: RUF012
    # solved, revealed or unsolved.
    resolution: str = ""
    # Whether the student was a person.
    person: bool = False
    # The recipe's labels of the conversation and its problem, by name.
    labels: Mapping[str, Any] = {}
    # The prompt files of its run, if they differ from the recipe's own.
    prompts: Mapping[str, str] = {}

    @property
    def about(self) -> str:
        """A key that all conversations about the same problem share."""
        return self.problem_id or self.question or self.id

    def answered(self) -> Sequence[Exchange]:
        """Returns the turns up to the last one with a reply."""
        last = len(self.turns)
        while last and self.turns[last - 1].reply is None:
            last -= 1
        return self.turns[:last]


# The columns of fields of a Dialogue and of its turns.
PATHS = {
    "id": "id",
    "recipe": "run.recipe",
    "problem_id": "problem.id",
    "topic": "problem.topic",
    "question": "problem.question",
    "solution": "problem.solution",
    "detailed_solution": "problem.enrichment.detailed_solution",
    "outline": "problem.enrichment.outline",
    "answer": "problem.answer",
    "persona": "persona",
    "ending": "ending",
    "resolution": "resolution",
    "student": "turns.student.text",
    "intent": "turns.student.intent",
    "description": "turns.calculation",
    "reply": "turns.tutor.text",
    "thoughts": "turns.tutor.thoughts",
    "evaluation": "turns.tutor.evaluation",
}


class CannotConvert(ValueError):
    """A row, a conversation or a whole export or import that the format cannot hold; the message says why."""


def conversation_of(dialogue: Dialogue, run: str, ordinal: int) -> Conversation:
    """Returns the conversation of an imported row; fields that the format lacks stay unset."""
    problem = Problem(
        id=dialogue.problem_id,
        topic=dialogue.topic,
        question=dialogue.question,
        solution=dialogue.solution,
    )
    if dialogue.detailed_solution or dialogue.outline:
        problem.enrichment.detailed_solution = dialogue.detailed_solution
        problem.enrichment.outline = dialogue.outline
    labels = labels_of(dialogue.recipe)
    problem.labels = labels.message("problem", dialogue.labels)
    if enrichment := labels.message("enrichment", dialogue.labels):
        problem.enrichment.labels = enrichment
    if dialogue.answer is not None:
        problem.answer.value = dialogue.answer
    conversation = Conversation(
        id=dialogue.id or digest("imported", run, ordinal),
        ordinal=ordinal,
        problem=problem,
        persona=dialogue.persona,
        resolution=f"RESOLUTION_{(dialogue.resolution or 'unspecified').upper()}",
        labels=labels.message("conversation", dialogue.labels),
        person=dialogue.person,
        ending=f"ENDING_{(dialogue.ending or 'unspecified').upper()}",
        turns=[_turn(turn, number, labels) for number, turn in enumerate(dialogue.turns, start=1)],
        extra=json.dumps(dialogue.extra, ensure_ascii=False) if dialogue.extra else "",
    )
    conversation.run.id = run
    conversation.run.recipe = dialogue.recipe
    return conversation


def _turn(turn: Exchange, number: int, labels: Labels) -> Turn:
    made = Turn(number=number, labels=labels.message("turn", turn.labels))
    if turn.student is not None:
        intent, labelled = _INTENTS.get(turn.intent or ""), labels.message("student", turn.labels)
        made.student.CopyFrom(StudentReply(text=turn.student, intent=intent, labels=labelled))
    if turn.description is not None:
        attempts = [
            CodeAttempt(code=one.code, result_variables=one.result_variables, execution=execution(one.output))
            for one in turn.attempts
        ]
        made.calculation.CopyFrom(Calculation(description=turn.description, attempts=attempts))
    if turn.reply is not None:
        evaluation, labelled = EVALUATIONS.get(turn.evaluation), labels.message("tutor", turn.labels)
        reply = TutorReply(text=turn.reply, thoughts=turn.thoughts, evaluation=evaluation, labels=labelled)
        made.tutor.CopyFrom(reply)
    return made
