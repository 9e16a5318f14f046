"""Reads what messages claim whose speakers do not say so: those of people, and dialogues that others recorded."""

from collections.abc import Awaitable, Callable
from contextlib import suppress
from copy import deepcopy

from soliloquy.recipes.answers import ClaimsRead, StudentMessage
from soliloquy.recipes.claims import claims_of, is_in, quantities_asked
from soliloquy.recipes.templates import Templates, one_line, transcript
from soliloquy.recipes.words import words
from soliloquy.runtime.answers import Unreadable
from soliloquy.runtime.ask import Ask, Prompt, Unusable
from soliloquy.runtime.model import Model
from soliloquy.truth.locales import gloss
from soliloquy.truth.number_format import format_value
from soliloquy.v1.conversation_pb2 import (
    CLAIM_READER_MODEL,
    CLAIM_READER_PATTERNS,
    Claim,
    Conversation,
    Problem,
    StudentReply,
    Turn,
    TutorReply,
)

# Adds what the messages of the last turn claim, as far as nobody has said so.
Reader = Callable[[Conversation, Ask], Awaitable[None]]
ROLE = "reader"
# So many turns before a message tell what it is about.
_BEFORE = 2


def message_reader(templates: Templates) -> Reader:
    """Returns the role that reads the messages of a recipe.

    Claims that a message does not make are asked for again, and dropped after that.
    """

    async def read(conversation: Conversation, ask: Ask) -> None:
        turn = conversation.turns[-1]
        for said in _unread(turn):
            await _read(said, reading(templates, conversation, turn, said), conversation.problem, ask)

    async def _read(said: StudentReply | TutorReply, prompt: Prompt, problem: Problem, ask: Ask) -> None:
        made: list[Claim] = []

        def check(answer: ClaimsRead) -> None:
            found = claims_of(StudentMessage(Message=said.text, Claims=answer.claims), problem)
            made[:] = [claim for claim in found if is_in(gloss(said.text, problem.language), claim)]
            if lacking := [format_value(one.value, one.unit) for one in found if one not in made]:
                raise Unreadable(f"the message does not say {', '.join(lacking)}: list only what it says")

        answer = None
        with suppress(Unusable):
            answer = await ask(prompt, ClaimsRead, check)
        if made or (answer is not None and answer.claims is not None):
            said.claims.extend(made)
            is_scripted = ask.calls[-1].engine == "scripted"
            said.claims_by = CLAIM_READER_PATTERNS if is_scripted else CLAIM_READER_MODEL

    return read


def _unread(turn: Turn) -> list[StudentReply | TutorReply]:
    return [said for said in (turn.student, turn.tutor) if said.text and not said.claims_by]


def reading(templates: Templates, conversation: Conversation, turn: Turn, said: StudentReply | TutorReply) -> Prompt:
    """Asks what a message of a turn claims."""
    is_tutor = isinstance(said, TutorReply)
    before = conversation.turns[max(0, turn.number - 1 - _BEFORE) : turn.number - 1]
    return templates.of(conversation.run.prompts).prompt(
        ROLE,
        question=conversation.problem.question,
        quantities=quantities_asked(conversation.problem),
        conversation=transcript([*before, Turn(student=turn.student)] if is_tutor else before),
        speaker="tutor" if is_tutor else "student",
        message=one_line(said.text),
    )


def readings(templates: Templates, conversation: Conversation, turn: Turn) -> list[tuple[int, Prompt]]:
    """Returns the prompt that asked what the student's message of a turn claims, with the turn; none if nobody did."""
    is_read = any(call.role == ROLE for call in turn.calls)
    return [(turn.number, reading(templates, conversation, turn, turn.student))] if is_read else []


async def with_claims(conversation: Conversation, read: Reader | None, model: Model) -> Conversation:
    """Returns a conversation with what the messages of its last turn claim, if they answer anybody."""
    turn = conversation.turns[-1]
    # Nobody claims anything before a tutor has spoken.
    is_answer = turn.HasField("tutor") or any(earlier.HasField("tutor") for earlier in conversation.turns[:-1])
    if read is None or not is_answer or not _unread(turn):
        return conversation
    done = deepcopy(conversation)
    # A message that is written anew is read anew.
    said = (turn.student.text, turn.tutor.text)
    origin = (conversation.run.seed, conversation.id, len(done.turns), ROLE, *said)
    again = words(done.problem.language)["again"]
    ask = Ask(model=model, role=ROLE, origin=origin, draw_key=conversation.id, conversation=done, again=again)
    await read(done, ask)
    done.turns[-1].calls.extend(ask.calls)
    return done


async def with_all_claims(conversation: Conversation, read: Reader | None, model: Model) -> Conversation:
    """Returns a conversation with what each of its messages claims."""
    done = deepcopy(conversation)
    del done.turns[:]
    for turn in conversation.turns:
        done.turns.append(turn)
        done = await with_claims(done, read, model)
    return done
