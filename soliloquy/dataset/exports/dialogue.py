"""A conversation as the formats of others know it: who said what, what was calculated, what was thought."""

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from soliloquy.dataset.exports.output import execution
from soliloquy.recipes.codes import EVALUATIONS, INTENTS, STATES, STRATEGIES
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
_STRATEGIES = {name: strategy for strategy, name in STRATEGIES.items()}


class Attempt(NamedTuple):
    code: str
    result_variables: Sequence[str]
    # What came out, as a reader of the output sees it.
    output: str = ""


class Exchange(NamedTuple):
    """A turn: what the student said and the tutor answered, and what lay between. None is what nobody said."""

    student: str | None = None
    intent: str | None = None
    strategy: str | None = None
    # Of the calculation, where there was one.
    description: str | None = None
    attempts: Sequence[Attempt] = ()
    thoughts: str = ""
    evaluation: str = ""
    action: int = 0
    step: int = 0
    state: str = ""
    reply: str | None = None
    # By which a reply moves the conversation on, where the recipe has it chosen.
    move: str = ""

    @property
    def is_plain(self) -> bool:
        """Nothing is known of what the tutor thought of it."""
        return not (self.thoughts or self.evaluation or self.action or self.step or self.state)


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
    # Of a problem whose answer is a number.
    answer: float | None = None
    # Its steps, as a program is written from them.
    steps: Sequence[dict[str, Any]] = ()
    # What an imported conversation's source said besides.
    extra: dict[str, Any] = {}  # noqa: RUF012
    student_name: str = ""
    # The wrong solution that the student believes in, and what is behind it.
    wrong_solution: str = ""
    confusion: str = ""
    # Whether the student came to the answer: solved, revealed, unsolved.
    resolution: str = ""
    # How typical of a pupil its confusion and its messages are, as a person found: 1 to 5, 0 where nobody said.
    typical_confusion: int = 0
    typical_interactions: int = 0
    # Whether a person was the student.
    person: bool = False

    @property
    def about(self) -> str:
        """What it has in common with the other conversations about its problem."""
        return self.problem_id or self.question or self.id

    @property
    def full_solution(self) -> str:
        return self.detailed_solution or self.solution

    def answered(self) -> Sequence[Exchange]:
        """The turns up to the last that the tutor answered."""
        last = len(self.turns)
        while last and self.turns[last - 1].reply is None:
            last -= 1
        return self.turns[:last]


class CannotConvert(ValueError):
    """A row or a conversation that the format cannot hold; the message says what of it."""


def conversation_of(dialogue: Dialogue, run: str, ordinal: int) -> Conversation:
    """The conversation of an imported row: what its format does not carry stays unset."""
    problem = Problem(
        id=dialogue.problem_id,
        topic=dialogue.topic,
        question=dialogue.question,
        solution=dialogue.solution,
    )
    if dialogue.detailed_solution or dialogue.outline:
        problem.enrichment.detailed_solution = dialogue.detailed_solution
        problem.enrichment.outline = dialogue.outline
    if dialogue.wrong_solution or dialogue.confusion:
        problem.enrichment.confusion.solution = dialogue.wrong_solution
        problem.enrichment.confusion.description = dialogue.confusion
    if dialogue.answer is not None:
        problem.answer.value = dialogue.answer
    conversation = Conversation(
        id=dialogue.id or digest("imported", run, ordinal),
        ordinal=ordinal,
        problem=problem,
        persona=dialogue.persona,
        student_name=dialogue.student_name,
        resolution=f"RESOLUTION_{(dialogue.resolution or 'unspecified').upper()}",
        typical_confusion=dialogue.typical_confusion,
        typical_interactions=dialogue.typical_interactions,
        person=dialogue.person,
        ending=f"ENDING_{(dialogue.ending or 'unspecified').upper()}",
        turns=[_turn(turn, number) for number, turn in enumerate(dialogue.turns, start=1)],
        extra=json.dumps(dialogue.extra, ensure_ascii=False) if dialogue.extra else "",
    )
    conversation.run.id = run
    conversation.run.recipe = dialogue.recipe
    return conversation


def _turn(turn: Exchange, number: int) -> Turn:
    made = Turn(number=number)
    if turn.student is not None:
        intent, strategy = _INTENTS.get(turn.intent or ""), _STRATEGIES.get(turn.strategy or "")
        made.student.CopyFrom(StudentReply(text=turn.student, intent=intent, strategy=strategy))
    if turn.description is not None:
        attempts = [
            CodeAttempt(
                code=attempt.code,
                result_variables=attempt.result_variables,
                execution=execution(attempt.output),
            )
            for attempt in turn.attempts
        ]
        made.calculation.CopyFrom(Calculation(description=turn.description, attempts=attempts))
    if turn.reply is not None:
        made.tutor.CopyFrom(
            TutorReply(
                text=turn.reply,
                thoughts=turn.thoughts,
                evaluation=EVALUATIONS.get(turn.evaluation),
                action=turn.action,
                step=turn.step,
                state=STATES.get(turn.state),
                move=f"MOVE_{(turn.move or 'unspecified').upper()}",
            )
        )
    return made
