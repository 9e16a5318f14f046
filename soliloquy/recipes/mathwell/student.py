"""The first state: checks the commission of a problem that is still to be written."""

from soliloquy.recipes.mathwell.commissions import commission_refusal, labelled
from soliloquy.recipes.mathwell.labels_pb2 import Authorship, ProblemLabels
from soliloquy.runtime.ask import Ask
from soliloquy.runtime.events import Outcome, emit
from soliloquy.v1.conversation_pb2 import Ending
from soliloquy.v1.events_pb2 import ConversationFinished, ConversationStarted, StudentReplied, TutorReplied

# Left in the problem by a rejected attempt.
_WRITTEN = ("question", "solution", "answer")


async def begin(event: ConversationStarted | TutorReplied, ask: Ask) -> Outcome:
    """Adds a turn without a message; the recipe has no student."""
    conversation = event.conversation
    problem = conversation.problem
    conversation.turns.add(number=1)
    labels = ProblemLabels.FromString(problem.labels)
    if not labels.HasField("authorship"):
        why = "not commissioned: its problem says nothing of what is to be written"
    else:
        why = commission_refusal(labels.authorship.commission)
    if why:
        conversation.ending, conversation.ending_reason = Ending.ENDING_UNFIT, why
        return emit(ConversationFinished(conversation=conversation))
    for field in _WRITTEN:
        problem.ClearField(field)
    problem.labels = labelled(Authorship(commission=labels.authorship.commission))
    return emit(StudentReplied(conversation=conversation))
