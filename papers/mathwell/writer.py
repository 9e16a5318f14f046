"""The states before the judgement: check the commission, describe it, and write the problem with its function."""

from collections.abc import Mapping

from soliloquy.recipes.outcomes import calculate, finish
from soliloquy.runtime.ask import Ask
from soliloquy.runtime.events import Outcome, emit
from soliloquy.v1.conversation_pb2 import Ending, Enrichment, Problem
from soliloquy.v1.events_pb2 import (
    CalculationNeeded,
    CodeFailed,
    CodeWritten,
    ConversationStarted,
    StudentReplied,
    TutorReplied,
)
from soliloquy_papers.mathwell import prompting
from soliloquy_papers.mathwell.answers import WrittenProblem
from soliloquy_papers.mathwell.commissions import authorship_of, commission_refusal, describe, labelled
from soliloquy_papers.mathwell.labels_pb2 import Authorship, ProblemLabels
from soliloquy_papers.mathwell.rules import objections

# Left in the problem by a rejected attempt.
_WRITTEN = ("question", "solution", "answer")
ANSWER = "answer"
# Appended to the function, so that its result can be read.
CALL = f"\n\n{ANSWER} = solution()"


async def enrich(problem: Problem, changed: Mapping[str, str], ask: Ask) -> Enrichment:
    return Enrichment(plain_because="nothing to enrich: it is yet to be written")


async def begin(event: ConversationStarted | TutorReplied, ask: Ask) -> Outcome:
    """Adds a turn without a message, as the recipe has no student; refuses an unfit commission."""
    conversation = event.conversation
    problem = conversation.problem
    conversation.turns.add(number=1)
    labels = ProblemLabels.FromString(problem.labels)
    if not labels.HasField("authorship"):
        why = "not commissioned: its problem says nothing of what is to be written"
    else:
        why = commission_refusal(labels.authorship.commission)
    if why:
        return finish(conversation, Ending.ENDING_UNFIT, why)
    earlier_faults = list(objections(problem)) if problem.question else []
    for field in _WRITTEN:
        problem.ClearField(field)
    problem.labels = labelled(Authorship(commission=labels.authorship.commission, earlier_faults=earlier_faults))
    return emit(StudentReplied(conversation=conversation))


async def commission(event: StudentReplied, ask: Ask) -> Outcome:
    """Describes the commission for readers of the record; a problem is always written together with a program."""
    return calculate(event.conversation, describe(authorship_of(event.conversation.problem).commission))


async def write(event: CalculationNeeded | CodeFailed, ask: Ask) -> Outcome:
    """Writes a problem; one whose function fails ends there and, as in the paper, is replaced, not repaired."""
    conversation = event.conversation
    if isinstance(event, CodeFailed):
        return finish(conversation, Ending.ENDING_WRITTEN)
    problem = conversation.problem
    written = await ask(prompting.writing(problem, conversation.run.prompts), WrittenProblem)
    problem.question, problem.solution = written.question, written.code
    conversation.turns[-1].calculation.attempts.add(code=written.code + CALL, result_variables=[ANSWER])
    return emit(CodeWritten(conversation=conversation))
