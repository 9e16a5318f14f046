"""The tutor: runs the program before each reply, and asks a question that does not tell the bug."""

from collections.abc import Iterator
from functools import partial

from socratic_debugging import prompting
from socratic_debugging.labels_pb2 import ConversationLabels, TutorLabels
from socratic_debugging.program import KINDS, POLICY, RESULTS, change_in, harness
from socratic_debugging.prompting import Guidance
from soliloquy.recipes.agreement import code_verdict
from soliloquy.recipes.codes import EVALUATIONS
from soliloquy.recipes.judges import Judges
from soliloquy.recipes.outcomes import after_reply, calculate
from soliloquy.runtime.answers import Unreadable
from soliloquy.runtime.ask import Ask
from soliloquy.runtime.events import Outcome, emit
from soliloquy.v1.conversation_pb2 import Conversation, Resolution, Turn, TutorReply
from soliloquy.v1.events_pb2 import CalculationNeeded, CodeFailed, CodeWritten, ReplyNeeded, StudentReplied


async def decide(event: StudentReplied, ask: Ask) -> Outcome:
    return calculate(event.conversation, "Run the program with the change that the student proposes.")


async def write(event: CalculationNeeded | CodeFailed, ask: Ask) -> Outcome:
    """Takes the program as the student has it; there is nothing to ask a model."""
    conversation = event.conversation
    conversation.turns[-1].calculation.attempts.add(code=harness(conversation), result_variables=RESULTS)
    return emit(CodeWritten(conversation=conversation))


async def guide(event: ReplyNeeded, ask: Ask, judges: Judges) -> Outcome:
    conversation = event.conversation
    turn = conversation.turns[-1]
    prompt = prompting.tutoring(conversation, turn.number)
    said = await ask(prompt, Guidance, partial(_check, conversation=conversation))
    labels = TutorLabels(points_at=f"POINTS_AT_{said.points_at.upper()}").SerializeToString()
    evaluation = EVALUATIONS[said.evaluation]
    turn.tutor.CopyFrom(TutorReply(text=said.text, thoughts=said.thoughts, evaluation=evaluation, labels=labels))
    found = bool(code_verdict(turn.calculation))
    bug = KINDS.get(conversation.problem.topic)
    conversation.labels = ConversationLabels(bug=bug, found=found).SerializeToString()
    resolution = Resolution.RESOLUTION_SOLVED if found else None
    return after_reply(conversation, resolution, most_turns=POLICY["talk"]["most_turns"])


def reply_faults(conversation: Conversation, turn: Turn, text: str) -> Iterator[tuple[str, str]]:
    """Yields the rule and the evidence of what a reply must not do."""
    if code_verdict(turn.calculation):
        return
    fix = change_in(conversation.problem.solution)
    if fix and fix.code in text:
        yield "told", f"the reply holds {fix.code!r}"
    if text.count("?") != 1:
        yield "question", f"the reply asks {text.count('?')} questions, not one"


def _check(said: Guidance, conversation: Conversation) -> None:
    turn = conversation.turns[-1]
    if said.evaluation not in POLICY["agreeing"]["right" if code_verdict(turn.calculation) else "wrong"]:
        raise Unreadable(f"the program was run: Evaluation cannot be {said.evaluation!r}")
    for _, evidence in reply_faults(conversation, turn, said.text):
        raise Unreadable(evidence)
