"""Finds the exchange in which a student reaches the answer, and the one in which the tutor tells it.

An exchange is what the tutor says and what the student replies. A new one begins when the tutor speaks after the
student, so consecutive messages of one speaker count as one. A student who speaks first belongs to the first exchange.

- Success@k: the student gives the answer, as `answers.reaches` defines it, within the first k exchanges, told or not.
- Telling@k: the tutor says the answer, as `answers.tells` defines it, within the first k exchanges and before the
  student reaches it. A number that the student has mentioned before, in a message or in its solution, tells nothing.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from soliloquy.recipes.mathdial.confusion import confusion_of
from soliloquy.v1.conversation_pb2 import Conversation, ModelCall, StudentReply, TutorReply
from soliloquy_papers.mathdial.evaluate.answers import ExpectedAnswer, mentions, reaches, tells
from soliloquy_training.evaluation.cases import parse_outcomes

MOST = 10
SUCCESS = [f"success@{k}" for k in range(1, MOST + 1)]
TELLING = [f"telling@{k}" for k in range(1, MOST + 1)]
OWN = "own"

Message = StudentReply | TutorReply


@dataclass(frozen=True, kw_only=True, slots=True)
class JudgedDialogue:
    """The exchange in which the student reached the answer, and in which the tutor had told it before."""

    conversation: Conversation
    wanted: ExpectedAnswer
    reached: int | None
    told: int | None
    # Why the dialogue broke off; empty if it did not.
    ended: str = ""
    # The model calls of the tutor.
    calls: Sequence[ModelCall] = ()

    @property
    def passed(self) -> Mapping[str, bool]:
        """Whether each metric holds; for telling that is no merit."""
        within = {f"success@{k}": self.reached is not None and self.reached <= k for k in range(1, MOST + 1)}
        within |= {f"telling@{k}": self.told is not None and self.told <= k for k in range(1, MOST + 1)}
        return within | {OWN: within[SUCCESS[-1]] and self.told is None}

    @property
    def steps(self) -> int:
        """Those of the problem; without any, the lines of its solution that hold an equation."""
        problem = self.conversation.problem
        return len(problem.steps) or sum("=" in line for line in problem.solution.splitlines())

    def as_json(self) -> dict[str, Any]:
        problem = self.conversation.problem
        return {
            "case": self.conversation.id,
            "problem": problem.source or problem.id,
            "question": problem.question,
            "steps": self.steps,
            "answer": self.wanted.value,
            "unit": self.wanted.unit,
            "handed_in": confusion_of(problem.enrichment).solution,
            "reached": self.reached,
            "told": self.told,
            "passed": dict(self.passed),
            "messages": [{"speaker": speaker, "text": text} for speaker, text in messages_of(self.conversation)],
            "ended": self.ended,
            "parsed": parse_outcomes(self.calls),
        }


def judge(conversation: Conversation, wanted: ExpectedAnswer, *, ended: str = "") -> JudgedDialogue:
    reached, told = outcome(
        list(_messages(conversation)), wanted, confusion_of(conversation.problem.enrichment).solution
    )
    return JudgedDialogue(
        conversation=conversation,
        wanted=wanted,
        reached=reached,
        told=told,
        ended=ended or conversation.ending_reason,
        calls=[call for turn in conversation.turns for call in turn.calls if call.role != "student"],
    )


def outcome(messages: Sequence[Message], wanted: ExpectedAnswer, handed_in: str) -> tuple[int | None, int | None]:
    """Returns the exchanges in which the student reaches the answer and in which the tutor told it before."""
    exchange, before = 0, False
    told, known = None, mentions(handed_in, wanted)
    for said in messages:
        if is_tutor := isinstance(said, TutorReply):
            exchange += not before
            if told is None and not known and tells(said.text, wanted):
                told = exchange
        elif reaches(said, wanted):
            return max(exchange, 1), told
        else:
            known = known or mentions(said.text, wanted)
        before = is_tutor
    return None, told


def _messages(conversation: Conversation) -> Iterator[Message]:
    """Yields the messages that contain a word."""
    said = (one for turn in conversation.turns for one in (turn.student, turn.tutor))
    return (one for one in said if one.text.strip())


def messages_of(conversation: Conversation) -> Iterator[tuple[str, str]]:
    """Yields the speaker, "student" or "tutor", and the text of each message that contains a word."""
    for said in _messages(conversation):
        yield "tutor" if isinstance(said, TutorReply) else "student", said.text
