"""Shows a seat to its teacher: the problem with both solutions, what was said, and what the teacher may do."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from soliloquy.annotation.scheme import schemes
from soliloquy.recipes.recipe import find
from soliloquy.recipes.seat import Seat, TeacherNotes
from soliloquy.v1.conversation_pb2 import Conversation
from soliloquy_services.gateway.teaching.messages import SeatView, State, TeacherMessage, TeacherMove
from soliloquy_services.gateway.teaching.store import StoredSeat


def view(stored: StoredSeat, recipe: Seat, fault: str) -> SeatView:
    conversation = stored.conversation
    spent = sum(TeacherNotes.read(conversation.extra).seconds)
    return SeatView(
        id=stored.id,
        project=stored.project.name,
        state=stored.state,
        turn=len(conversation.turns),
        question=conversation.problem.question,
        solution=conversation.problem.solution,
        student=recipe.student_name(conversation),
        handed_in=recipe.handed_in(conversation).splitlines(),
        plan=list(recipe.plan(conversation)),
        messages=list(_messages(conversation)),
        moves=[TeacherMove(name=name, meaning=meaning) for name, meaning in recipe.moves.items()],
        calculates=recipe.calculates,
        programs=_programs(conversation),
        turns_left=max(0, recipe.most_turns - sum(1 for turn in conversation.turns if turn.tutor.text)),
        seconds_left=max(0.0, 60 * recipe.most_minutes - spent),
        fault=fault,
        scheme=schemes()[recipe.questionnaire] if stored.state is State.RATING else None,
        own=stored.own,
    )


def _messages(conversation: Conversation) -> Iterator[TeacherMessage]:
    check = find(conversation.run.recipe).check(conversation)
    for turn, checked in zip(conversation.turns, check.turns, strict=True):
        if turn.student.text:
            yield TeacherMessage(role="student", text=turn.student.text, move="")
        if turn.tutor.text:
            yield TeacherMessage(role="tutor", text=turn.tutor.text, move=checked.codes.get("move", ""))


def _programs(conversation: Conversation) -> Sequence[Mapping[str, Any]]:
    if not conversation.turns or not conversation.turns[-1].calculation.attempts:
        return ()
    # Imported here because it loads Arrow, which no start should wait for.
    from soliloquy.dataset.view import turn_view

    shown: Sequence[Mapping[str, Any]] = turn_view(conversation.turns[-1], conversation.run.recipe)["attempts"]
    return shown
