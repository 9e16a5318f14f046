"""The student: a name, a profile, and a wrong solution that it believes until enough speaks against it.

Its belief is counted from what the tutor's words say about the line that is wrong, and not left to the model.
"""

from soliloquy.recipes.answers import StudentMessage
from soliloquy.recipes.claims import record_claims, stated_with
from soliloquy.recipes.mathdial import prompting
from soliloquy.recipes.mathdial.belief import belief_after, reasons_given
from soliloquy.recipes.mathdial.confusion import confusion_of
from soliloquy.recipes.mathdial.labels_pb2 import Belief, ConversationLabels, StudentLabels
from soliloquy.recipes.mathdial.policy import POLICY
from soliloquy.recipes.outcomes import finish
from soliloquy.recipes.tutors import draw_tutor
from soliloquy.runtime.ask import Ask
from soliloquy.runtime.events import Outcome, emit
from soliloquy.runtime.seeds import draw
from soliloquy.v1.conversation_pb2 import Ending, Intent, StudentReply
from soliloquy.v1.events_pb2 import ConversationStarted, StudentReplied, TutorReplied

_MEANT = {Belief.BELIEF_HELD: Intent.INTENT_WRONG, Belief.BELIEF_GIVEN_UP: Intent.INTENT_RIGHT}


async def reply(event: ConversationStarted | TutorReplied, ask: Ask) -> Outcome:
    """Asks for the student's next message; its belief follows from the count of reasons, not from the model.

    The tutor speaks first: a conversation starts with a turn in which the student has said nothing.
    """
    conversation = event.conversation
    if not conversation.turns:
        return begin(event)
    reasons = reasons_given(conversation)
    belief = belief_after(reasons, ConversationLabels.FromString(conversation.labels).reasons_wanted)
    prompt = prompting.student(conversation, conversation.turns, belief)
    spoken = await ask(prompt, StudentMessage, stated_with(conversation.problem))
    labels = StudentLabels(belief=belief, reasons=reasons).SerializeToString()
    said = StudentReply(intent=_MEANT.get(belief), labels=labels)
    record_claims(said, spoken, conversation.problem)
    conversation.turns.add(number=len(conversation.turns) + 1, student=said)
    return emit(StudentReplied(conversation=conversation))


def begin(event: ConversationStarted | TutorReplied) -> Outcome:
    """Gives the turn to the tutor. A person also gets a name, but neither profile nor required reasons."""
    conversation = event.conversation
    enrichment = conversation.problem.enrichment
    conversation.turns.add(number=1)
    if not confusion_of(enrichment).solution:
        why = enrichment.plain_because or "nobody sampled solutions of its problem"
        return finish(conversation, Ending.ENDING_UNFIT, why)
    choice = draw(conversation.run.seed, conversation.id, "student")
    persona = choice.choice(sorted(prompting.profiles(conversation.run.prompts)))
    names = prompting.TEMPLATES.of(conversation.run.prompts).table("names").items()
    pronoun, name = choice.choice([(pronoun, name) for pronoun, called in names for name in called])
    labels = ConversationLabels(pronoun=pronoun, student_name=name)
    if not conversation.person:
        conversation.persona, shares = persona, POLICY["belief"]["wanted"]
        draw_tutor(conversation, prompting.TEMPLATES.of(conversation.run.prompts))
        # The number of good reasons that change this student's mind.
        reasons = draw(conversation.run.seed, conversation.id, "reasons wanted")
        labels.reasons_wanted = int(reasons.choices(list(shares), list(shares.values()))[0])
    conversation.labels = labels.SerializeToString()
    return emit(StudentReplied(conversation=conversation))
