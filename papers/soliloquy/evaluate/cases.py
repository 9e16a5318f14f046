"""Prepares the cases of the evaluation: held-out questions, each up to a student's message that the tutor is to answer.

The recipe's own check decides what a message claims and whether it is right; a case is used only if this agrees with
what the student was asked to say.
"""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from copy import deepcopy
from dataclasses import dataclass
from enum import StrEnum

from soliloquy.recipes.answers import StudentMessage
from soliloquy.recipes.claims import record_claims
from soliloquy.recipes.soliloquy import prompting
from soliloquy.recipes.soliloquy.labels_pb2 import StudentLabels
from soliloquy.recipes.soliloquy.truth import TurnTruth, assess
from soliloquy.runtime.ask import write_record
from soliloquy.runtime.seeds import digest, draw, seed
from soliloquy.truth.quantities import quantities_in
from soliloquy.v1.conversation_pb2 import (
    STEP_KIND_REARRANGE,
    Conversation,
    Intent,
    Knowledge,
    Misconception,
    Problem,
    Slip,
    Step,
    StudentReply,
)
from soliloquy.v1.model_pb2 import GenerateRequest
from soliloquy.v1.runs_pb2 import Run
from soliloquy_training.evaluation.recipe_loop import RecipeLoop

RECIPE = "soliloquy"
# How many conversations and wrong answers to try before skipping a question.
_CONVERSATIONS = 12
_WRONG_ANSWERS = 24
_MAX_TURNS = 20


class CaseKind(StrEnum):
    # The student gives a number for the current step.
    RIGHT = "right"
    WRONG = "wrong"
    # The student gives no number, so there is nothing to calculate.
    OPENING = "opening"
    CONCEPT = "concept"

    @property
    def numeric(self) -> bool:
        return self in (CaseKind.RIGHT, CaseKind.WRONG)


@dataclass(frozen=True, kw_only=True, slots=True)
class TutorCase:
    kind: CaseKind
    # Its last turn holds only the student's message.
    conversation: Conversation
    step: Step

    @property
    def id(self) -> str:
        return self.conversation.id

    @property
    def rearranges(self) -> bool:
        return self.kind.numeric and self.step.kind == STEP_KIND_REARRANGE


@dataclass(frozen=True, kw_only=True)
class Rehearsal:
    """Plays questions up to the point where an answer is due, identically for every evaluated model."""

    # The scripted student and tutor.
    loop: RecipeLoop
    seed: int

    async def numeric(self, problem: Problem) -> list[TutorCase]:
        """Returns a question with a right answer to one of its steps, with a wrong one, and with its opening.

        Empty if the student never gives a number, or no wrong answer can be told from the right one.
        """
        step = draw(self.seed, problem.id, "step").choice(numeric_steps(problem))
        for attempt in range(_CONVERSATIONS):
            opening, right = await self._answered(problem, attempt, step)
            wrong = await self._wrong(right) if right else None
            if right and wrong:
                kinds = {CaseKind.RIGHT: right, CaseKind.WRONG: wrong, CaseKind.OPENING: opening}
                return [self._case(kind, conversation, step) for kind, conversation in kinds.items()]
        return []

    async def concept(self, problem: Problem) -> TutorCase | None:
        """Returns a message in words about a question without calculations."""
        for attempt in range(_CONVERSATIONS):
            if said := [so_far async for so_far in self._grown(problem, attempt) if _is_in_words(so_far)]:
                chosen = draw(self.seed, problem.id, "turn").choice(said)
                step = problem.steps[_latest(chosen).progress.step - 1]
                return self._case(CaseKind.CONCEPT, chosen, step)
        return None

    async def _answered(self, problem: Problem, attempt: int, step: Step) -> tuple[Conversation, Conversation | None]:
        """Returns the opening of a conversation and the state in which the student has answered the step correctly."""
        opening = Conversation()
        async with aclosing(self._grown(problem, attempt)) as spoken:
            async for so_far in spoken:
                if len(so_far.turns) == 1:
                    opening = so_far
                    continue
                truth = _latest(so_far)
                if truth.progress.step == step.number and truth.claim.said and truth.claim.right:
                    return opening, so_far
        return opening, None

    def _grown(self, problem: Problem, attempt: int) -> AsyncGenerator[Conversation, None]:
        run = Run(id=f"higgs-{self.seed}", recipe=RECIPE, seed=self.seed, max_turns=_MAX_TURNS, max_attempts=1)
        return self.loop.grow(
            Conversation(id=digest(run.id, problem.id, attempt), run=run, attempt=attempt, problem=problem)
        )

    async def _wrong(self, right: Conversation) -> Conversation | None:
        """Returns the same conversation with a wrong answer in place of the right one."""
        before = deepcopy(right)
        del before.turns[-1]
        step = before.problem.steps[_latest(right).progress.step - 1]
        drawing = draw(self.seed, right.id, "wrong")
        slips = drawing.sample(list(step.slips), len(step.slips)) or [Slip()]
        for number in range(_WRONG_ANSWERS):
            said = _believing(slips[number % len(slips)])
            prompt = prompting.student(before, before.turns, said)
            chance = seed(self.seed, right.id, "wrong", number)
            asked = GenerateRequest(role="student", prompt=prompt.name, messages=prompt.messages, seed=chance)
            write_record(asked.record, before, prompt.slots)
            spoken = StudentMessage.read((await self.loop.model.generate(asked)).text)[0]
            wrong = deepcopy(before)
            turn = wrong.turns.add(number=right.turns[-1].number, student=said)
            record_claims(turn.student, spoken, wrong.problem)
            claim = _latest(wrong).claim
            if claim.said and claim.right is False:
                return wrong
        return None

    def _case(self, kind: CaseKind, so_far: Conversation, step: Step) -> TutorCase:
        """Gives the case an id of its own and drops the model calls of its messages."""
        conversation = deepcopy(so_far)
        conversation.id = digest(so_far.id, kind)
        for turn in conversation.turns:
            turn.ClearField("calls")
        return TutorCase(kind=kind, conversation=conversation, step=step)


def _believing(slip: Slip) -> StudentReply:
    """Returns a message that is still to be written, of a student who makes this mistake."""
    held = Misconception(working=slip.working, value=slip.value, unit=slip.unit, because=slip.because)
    labels = StudentLabels(
        strategy=slip.strategy, knowledge=Knowledge.KNOWLEDGE_MISTAKEN, misconception=held if slip.working else None
    )
    return StudentReply(intent=Intent.INTENT_WRONG, labels=labels.SerializeToString())


def numeric_steps(problem: Problem) -> Sequence[Step]:
    return [step for step in problem.steps if step.HasField("result") and step.expression]


def _latest(conversation: Conversation) -> TurnTruth:
    return list(assess(conversation))[-1]


def _is_in_words(conversation: Conversation) -> bool:
    return len(conversation.turns) > 1 and not quantities_in(conversation.turns[-1].student.text)
