"""The rules that a written problem must satisfy. A fault names the rule and the evidence."""

from collections.abc import Iterator

from soliloquy.recipes.check_report import CheckedConversation
from soliloquy.runtime.values import shown, status_name
from soliloquy.v1.conversation_pb2 import Conversation, Ending, Problem
from soliloquy.v1.sandbox_pb2 import Status
from soliloquy_papers.mathwell.commissions import POLICY, allowed_operations, authorship_of, join_names
from soliloquy_papers.mathwell.composer import returned_number
from soliloquy_papers.mathwell.judging import is_copy, recorded_scores


def judged(conversation: Conversation) -> CheckedConversation:
    """Returns the faults of a problem; it has no messages to check."""
    if conversation.ending == Ending.ENDING_UNSPECIFIED and not conversation.turns:
        # An imported problem: nobody has run or judged it here.
        return CheckedConversation(turns=(), faults=[])
    if conversation.ending != Ending.ENDING_WRITTEN:
        reason = conversation.ending_reason or f"not finished: {Ending.Name(conversation.ending)}"
        return CheckedConversation(turns=(), faults=[reason])
    unusable = _unusable(conversation)
    return CheckedConversation(turns=(), faults=[unusable] if unusable else list(objections(conversation.problem)))


def _unusable(conversation: Conversation) -> str:
    """Returns the reason that there is no answer; empty if there is one."""
    execution = conversation.turns[-1].calculation.attempts[-1].execution
    if execution.status != Status.STATUS_OK:
        return f"not executable: {execution.error or status_name(execution)}"
    if returned_number(conversation) is not None:
        return ""
    printed = f", and printed {execution.stdout.strip()[:40]!r}" if execution.stdout.strip() else ""
    value = shown(execution.values[0].value)[:60] if execution.values else "nothing"
    return f"no number: solution() returned {value}{printed}"


def objections(problem: Problem) -> Iterator[str]:
    """Yields the faults that a written problem shows without its execution."""
    if not problem.HasField("answer"):
        yield "no number: solution() returned no number"
        return
    scores = recorded_scores(problem)
    yield from scores.objections
    authorship = authorship_of(problem)
    commission, measures = authorship.commission, authorship.measures
    allowed = allowed_operations(commission)
    if allowed and (others := [name for name in measures.operations if name not in allowed]):
        yield f"other operations: it takes {join_names(others)}; asked for: {join_names(allowed)}"
    share = POLICY["examples"]["same_words"]
    if any(is_copy(problem.question, example, share) for example in commission.examples):
        yield "copied: it is one of the examples once more"
