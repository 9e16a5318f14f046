"""Plays one student message per turn, by what the student knows of the step at hand."""

from collections.abc import Mapping

from soliloquy.recipes.answers import StudentMessage
from soliloquy.recipes.claims import record_claims, stated_with
from soliloquy.recipes.glosses import glossed_conversation
from soliloquy.recipes.learner.knowledge import Shares, Stance, after, drawn
from soliloquy.recipes.rewinding import rewinding_parts
from soliloquy.recipes.settled import claimed_answer
from soliloquy.recipes.soliloquy import prompting
from soliloquy.recipes.soliloquy.labels_pb2 import StudentLabels
from soliloquy.recipes.soliloquy.progress import progress_by_turn
from soliloquy.recipes.tutors import draw_tutor
from soliloquy.runtime.ask import Ask
from soliloquy.runtime.events import Outcome, emit
from soliloquy.runtime.seeds import draw
from soliloquy.truth.ledger import ledger_of
from soliloquy.v1.conversation_pb2 import Conversation, Intent, Knowledge, StudentReply
from soliloquy.v1.events_pb2 import ConversationStarted, StudentReplied, TutorReplied

_UNDRAWN = Stance(knowledge=Knowledge.KNOWLEDGE_UNSPECIFIED)
_KNOWN = Stance(knowledge=Knowledge.KNOWLEDGE_KNOWN)


async def reply(event: ConversationStarted | TutorReplied, ask: Ask) -> Outcome:
    """Writes the student's next message. We draw what the student knows; the model does not decide."""
    conversation = event.conversation
    if not conversation.turns:
        conversation.persona = conversation.persona or drawn_persona(conversation)
        draw_tutor(conversation, prompting.TEMPLATES.of(conversation.run.prompts))
    stance = stance_in(glossed_conversation(conversation))
    labels = StudentLabels(strategy=stance.strategy, knowledge=stance.knowledge, misconception=stance.misconception)
    student = StudentReply(intent=_intent(conversation, stance), labels=labels.SerializeToString())
    prompt = prompting.student(conversation, conversation.turns, student)
    spoken = await ask(prompt, StudentMessage, stated_with(conversation.problem))
    record_claims(student, spoken, conversation.problem)
    conversation.turns.add(number=len(conversation.turns) + 1, student=student)
    if prompting.is_told_before(labels, conversation.turns[:-1]) and _is_right(conversation):
        # The tutor's words have sufficed: nobody has to repeat a mistake that was taken apart.
        labels.knowledge = Knowledge.KNOWLEDGE_CORRECTED
        conversation.turns[-1].student.labels = labels.SerializeToString()
        conversation.turns[-1].student.intent = Intent.INTENT_RIGHT
    return emit(StudentReplied(conversation=conversation))


def _is_right(conversation: Conversation) -> bool:
    step = progress_by_turn(conversation)[len(conversation.turns) - 1].step
    answer = claimed_answer(conversation.turns[-1], ledger_of(conversation.problem), step)
    return answer is not None and answer.right is True


def drawn_persona(conversation: Conversation) -> str:
    personas = prompting.personas(conversation.run.prompts)
    return _drawn_name(conversation, "persona", {name: persona.share for name, persona in personas.items()})


def stance_in(conversation: Conversation) -> Stance:
    """Returns where the student stands at the step at hand: as it was drawn, or as the tutor's words have left it."""
    if not conversation.turns:
        return _UNDRAWN
    steps = [progress.step for progress in progress_by_turn(conversation)]
    number = steps[-1]
    step = conversation.problem.steps[number - 1]
    if len(conversation.turns) > 1 and steps[-2] == number:
        # The opening is a message at the first step without a stance of its own.
        return after(stance_of(conversation.turns[-1].student), conversation.turns[-1].tutor, step)
    if number in steps[1:-1]:
        return _KNOWN
    rewound = rewinding_parts(conversation)
    choice = draw(conversation.run.seed, conversation.id, number, "knowledge", *rewound)
    return drawn(conversation.problem, step, _shares(conversation), choice)


def stance_of(student: StudentReply) -> Stance:
    """Returns what a student knew when it wrote a message."""
    labels = StudentLabels.FromString(student.labels)
    held = labels.misconception if labels.HasField("misconception") else None
    return Stance(knowledge=labels.knowledge, misconception=held, strategy=labels.strategy)


def _intent(conversation: Conversation, stance: Stance) -> Intent:
    if not conversation.turns:
        return Intent.INTENT_OPENING
    return Intent.INTENT_WRONG if stance.mistaken else Intent.INTENT_RIGHT


def _shares(conversation: Conversation) -> Shares:
    learners = prompting.learners(conversation.run.prompts)
    return learners[_drawn_name(conversation, "learner", {name: one.share for name, one in learners.items()})].shares


def _drawn_name(conversation: Conversation, purpose: str, shares: Mapping[str, float]) -> str:
    return draw(conversation.run.seed, conversation.id, purpose).choices(list(shares), list(shares.values()))[0]
