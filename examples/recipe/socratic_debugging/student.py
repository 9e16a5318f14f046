"""The student: explains the program, then proposes changes, wrong or right as drawn."""

from functools import partial

from socratic_debugging import prompting
from socratic_debugging.labels_pb2 import StudentLabels
from socratic_debugging.program import Change, change_in, drawn, unfit
from soliloquy.recipes.answers import StudentMessage
from soliloquy.recipes.outcomes import finish
from soliloquy.runtime.answers import Unreadable
from soliloquy.runtime.ask import Ask
from soliloquy.runtime.events import Outcome, emit
from soliloquy.v1.conversation_pb2 import Ending, StudentReply
from soliloquy.v1.events_pb2 import ConversationStarted, StudentReplied, TutorReplied


async def reply(event: ConversationStarted | TutorReplied, ask: Ask) -> Outcome:
    conversation = event.conversation
    number = len(conversation.turns) + 1
    if why := unfit(conversation.problem):
        conversation.turns.add(number=number)
        return finish(conversation, Ending.ENDING_UNFIT, why)
    intent, change = drawn(conversation, number)
    spoken = await ask(prompting.student(conversation, number), StudentMessage, partial(_check, change=change))
    labels = StudentLabels(line=change.line if change else 0).SerializeToString()
    message = StudentReply(text=spoken.text, intent=intent, labels=labels)
    conversation.turns.add(number=number, student=message)
    return emit(StudentReplied(conversation=conversation))


def _check(spoken: StudentMessage, change: Change | None) -> None:
    if change_in(spoken.text) != change:
        wanted = f"it must propose {change}" if change else "it must not propose a change yet"
        raise Unreadable(f"{wanted}, as a line's number and then its code in backticks")
