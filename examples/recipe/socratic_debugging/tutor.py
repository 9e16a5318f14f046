"""The tutor: runs the program before each reply, and asks a question that does not tell the bug."""

from collections.abc import Iterator
from functools import partial

from socratic_debugging import prompting
from socratic_debugging.answers import Guidance
from socratic_debugging.labels_pb2 import ConversationLabels, PointsAt, TutorLabels
from socratic_debugging.program import POLICY, RESULTS, fix_of, harness
from soliloquy.recipes.agreement import code_verdict
from soliloquy.recipes.codes import EVALUATIONS
from soliloquy.recipes.judges import Judges
from soliloquy.runtime.answers import Unreadable
from soliloquy.runtime.ask import Ask
from soliloquy.runtime.events import Outcome, emit
from soliloquy.v1.conversation_pb2 import Calculation, Conversation, Ending, Resolution, TutorReply
from soliloquy.v1.events_pb2 import (
    CalculationNeeded,
    CodeFailed,
    CodeWritten,
    ConversationFinished,
    ReplyNeeded,
    StudentReplied,
    TutorReplied,
)


async def decide(event: StudentReplied, ask: Ask) -> Outcome:
    conversation = event.conversation
    calculation = Calculation(description="Run the program with the change that the student proposes.")
    conversation.turns[-1].calculation.CopyFrom(calculation)
    return emit(CalculationNeeded(conversation=conversation))


async def write(event: CalculationNeeded | CodeFailed, ask: Ask) -> Outcome:
    """Takes the program as the student has it; there is nothing to ask a model."""
    conversation = event.conversation
    conversation.turns[-1].calculation.attempts.add(code=harness(conversation), result_variables=RESULTS)
    return emit(CodeWritten(conversation=conversation))


async def guide(event: ReplyNeeded, ask: Ask, judges: Judges) -> Outcome:
    conversation = event.conversation
    turn = conversation.turns[-1]
    said = await ask(
        prompting.tutoring(conversation, conversation.turns), Guidance, partial(_check, conversation=conversation)
    )
    labels = TutorLabels(points_at=PointsAt.Value(f"POINTS_AT_{said.points_at.upper()}")).SerializeToString()
    evaluation = EVALUATIONS[said.evaluation]
    turn.tutor.CopyFrom(TutorReply(text=said.text, thoughts=said.thoughts, evaluation=evaluation, labels=labels))
    if code_verdict(turn.calculation):
        found = ConversationLabels.FromString(conversation.labels)
        found.found = True
        conversation.labels = found.SerializeToString()
        conversation.ending, conversation.resolution = Ending.ENDING_SOLVED, Resolution.RESOLUTION_SOLVED
    elif turn.number >= min(conversation.run.max_turns, POLICY["talk"]["most_turns"]):
        conversation.ending, conversation.resolution = Ending.ENDING_TURN_LIMIT, Resolution.RESOLUTION_UNSOLVED
    else:
        return emit(TutorReplied(conversation=conversation))
    return emit(ConversationFinished(conversation=conversation))


def reply_faults(conversation: Conversation, text: str, number: int) -> Iterator[tuple[str, str]]:
    """Yields the rule and the evidence of what a reply must not do."""
    found = code_verdict(conversation.turns[number - 1].calculation)
    fix = fix_of(conversation.problem)
    if not found and fix and fix.code in text:
        yield "told", f"the reply holds {fix.code!r}"
    if not found and text.count("?") != 1:
        yield "question", f"the reply asks {text.count('?')} questions, not one"


def _check(said: Guidance, conversation: Conversation) -> None:
    turn = conversation.turns[-1]
    found = code_verdict(turn.calculation)
    if said.evaluation not in POLICY["agreeing"]["right" if found else "wrong"]:
        raise Unreadable(f"the program was run: Evaluation cannot be {said.evaluation!r}")
    for _, evidence in reply_faults(conversation, said.text, turn.number):
        raise Unreadable(evidence)
