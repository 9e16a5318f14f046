"""The writing state: a problem and the function that solves it."""

from soliloquy.recipes.mathwell import prompting
from soliloquy.recipes.mathwell.answers import WrittenProblem
from soliloquy.runtime.ask import Ask
from soliloquy.runtime.events import Outcome, emit
from soliloquy.v1.conversation_pb2 import Ending
from soliloquy.v1.events_pb2 import CalculationNeeded, CodeFailed, CodeWritten, ConversationFinished

ANSWER = "answer"
# Appended to the function, so that its result can be read.
_CALL = f"\n\n{ANSWER} = solution()"


async def write(event: CalculationNeeded | CodeFailed, ask: Ask) -> Outcome:
    """Writes a problem; one whose function fails ends there and, as in the paper, is replaced, not repaired."""
    conversation = event.conversation
    if isinstance(event, CodeFailed):
        conversation.ending = Ending.ENDING_WRITTEN
        return emit(ConversationFinished(conversation=conversation))
    problem = conversation.problem
    written = await ask(prompting.writing(problem), WrittenProblem)
    problem.question, problem.solution = written.question, written.code
    conversation.turns[-1].calculation.attempts.add(code=written.code + _CALL, result_variables=[ANSWER])
    return emit(CodeWritten(conversation=conversation))
