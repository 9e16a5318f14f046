"""The student: a name, a profile, and a wrong solution that it believes until enough speaks against it.

Reasons are counted from what the tutor's words say about the line that is wrong. A student that sees its mistake before
so many of them has given it up: nobody has to repeat what was taken apart.
"""

from soliloquy.recipes.answers import StudentMessage
from soliloquy.recipes.claims import record_claims, stated_with
from soliloquy.recipes.mathdial import prompting
from soliloquy.recipes.mathdial.belief import belief_told, reasons_given
from soliloquy.recipes.mathdial.claims import gives_right
from soliloquy.recipes.mathdial.confusion import confusion_of
from soliloquy.recipes.mathdial.labels_pb2 import Belief, ConversationLabels, StudentLabels
from soliloquy.recipes.mathdial.policy import POLICY
from soliloquy.recipes.outcomes import finish
from soliloquy.recipes.tutors import draw_tutor
from soliloquy.runtime.ask import Ask
from soliloquy.runtime.events import Outcome, emit
from soliloquy.runtime.seeds import draw
from soliloquy.v1.conversation_pb2 import Ending, Intent
from soliloquy.v1.events_pb2 import ConversationStarted, StudentReplied, TutorReplied

_MEANT = {Belief.BELIEF_HELD: Intent.INTENT_WRONG, Belief.BELIEF_GIVEN_UP: Intent.INTENT_RIGHT}


async def reply(event: ConversationStarted | TutorReplied, ask: Ask) -> Outcome:
    """Asks for the student's next message. It believes what the count of reasons says, or what it comes to by itself.

    The tutor speaks first: a conversation starts with a turn in which the student has said nothing.
    """
    conversation = event.conversation
    if not conversation.turns:
        return begin(event)
    reasons = reasons_given(conversation)
    wanted = ConversationLabels.FromString(conversation.labels).reasons_wanted
    belief = belief_told(conversation.turns, reasons, wanted)
    prompt = prompting.student(conversation, conversation.turns, belief)
    spoken = await ask(prompt, StudentMessage, stated_with(conversation.problem))
    is_first = len(conversation.turns) == 1
    turn = conversation.turns.add(number=len(conversation.turns) + 1)
    record_claims(turn.student, spoken, conversation.problem)
    if not is_first and gives_right(turn, conversation.problem):
        belief = Belief.BELIEF_GIVEN_UP
    turn.student.labels = StudentLabels(belief=belief, reasons=reasons).SerializeToString()
    turn.student.intent = _MEANT.get(belief, Intent.INTENT_UNSPECIFIED)
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
    persona = choice.choice(prompting.fitting_profiles(conversation))
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
