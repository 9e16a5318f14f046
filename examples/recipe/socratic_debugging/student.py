"""The student: explains the program, then proposes changes, wrong or right as drawn."""

from functools import partial

from socratic_debugging import prompting
from socratic_debugging.labels_pb2 import BugKind, ConversationLabels, Insight, StudentLabels
from socratic_debugging.program import POLICY, change_in, fix_of, program_of, wrong_changes
from soliloquy.recipes.answers import StudentMessage
from soliloquy.runtime.answers import Unreadable
from soliloquy.runtime.ask import Ask
from soliloquy.runtime.events import Outcome, emit
from soliloquy.runtime.seeds import draw
from soliloquy.v1.conversation_pb2 import Conversation, Ending, Intent, StudentReply
from soliloquy.v1.events_pb2 import ConversationFinished, ConversationStarted, StudentReplied, TutorReplied

OPENING, WRONG, RIGHT = Insight.INSIGHT_OPENING, Insight.INSIGHT_WRONG_CHANGE, Insight.INSIGHT_RIGHT_CHANGE
_INTENTS = {OPENING: Intent.INTENT_OPENING, WRONG: Intent.INTENT_WRONG, RIGHT: Intent.INTENT_RIGHT}


async def reply(event: ConversationStarted | TutorReplied, ask: Ask) -> Outcome:
    conversation = event.conversation
    number = len(conversation.turns) + 1
    if not (program_of(conversation.problem) and fix_of(conversation.problem)):
        conversation.turns.add(number=number)
        conversation.ending, conversation.ending_reason = Ending.ENDING_UNFIT, "no program with a fix of one line"
        return emit(ConversationFinished(conversation=conversation))
    if number == 1:
        kind = BugKind.Value(f"BUG_KIND_{(conversation.problem.topic or 'unspecified').upper()}")
        conversation.labels = ConversationLabels(bug=kind).SerializeToString()
    insight, change = drawn(conversation, number)
    prompt = prompting.student(conversation, conversation.turns, insight, change)
    spoken = await ask(prompt, StudentMessage, partial(_check, change=change))
    labels = StudentLabels(insight=insight).SerializeToString()
    message = StudentReply(text=spoken.text, intent=_INTENTS[insight], labels=labels)
    conversation.turns.add(number=number, student=message)
    return emit(StudentReplied(conversation=conversation))


def drawn(conversation: Conversation, number: int) -> tuple[Insight, str]:
    """Returns what the message of a turn must show, and the change that it proposes; the model does not decide."""
    if number == 1:
        return OPENING, ""
    fix, wrong = fix_of(conversation.problem), wrong_changes(conversation.problem)
    assert fix is not None
    if number - 2 < len(wrong):
        rng = draw(conversation.run.seed, conversation.id, number, "insight")
        if rng.random() < POLICY["student"]["wrong_share"]:
            return WRONG, f"line {fix.line}: `{wrong[number - 2]}`"
    return RIGHT, f"line {fix.line}: `{fix.code}`"


def _check(spoken: StudentMessage, change: str) -> None:
    if change_in(spoken.text) != change_in(change):
        wanted = f"it must propose {change}" if change else "it must not propose a change yet"
        raise Unreadable(f"{wanted}, as a line's number and then its code in backticks")
