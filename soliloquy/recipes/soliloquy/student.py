"""Plays one student message per turn, right or wrong as drawn."""

from soliloquy.recipes.answers import StudentMessage
from soliloquy.recipes.codes import STRATEGIES
from soliloquy.recipes.rewinding import rewinding_parts
from soliloquy.recipes.soliloquy import prompting
from soliloquy.recipes.soliloquy.labels_pb2 import StudentLabels
from soliloquy.runtime.ask import Ask
from soliloquy.runtime.events import Outcome, emit
from soliloquy.runtime.seeds import draw
from soliloquy.v1.conversation_pb2 import Conversation, ErrorStrategy, Intent, StudentReply
from soliloquy.v1.events_pb2 import ConversationStarted, StudentReplied, TutorReplied

# The share of wrong replies. Each reply is drawn independently, so the share holds for conversations of any length.
WRONG_SHARE = 0.10


async def reply(event: ConversationStarted | TutorReplied, ask: Ask) -> Outcome:
    """Writes the student's next message. We draw whether it is wrong; the model does not decide."""
    conversation = event.conversation
    conversation.persona = conversation.persona or drawn_persona(conversation)
    intent, strategy = drawn_intent(conversation)
    spoken = await ask(prompting.student(conversation, conversation.turns, intent, strategy), StudentMessage)
    conversation.turns.add(
        number=len(conversation.turns) + 1,
        student=StudentReply(
            text=spoken.text, intent=intent, labels=StudentLabels(strategy=strategy).SerializeToString()
        ),
    )
    return emit(StudentReplied(conversation=conversation))


def drawn_persona(conversation: Conversation) -> str:
    personas = prompting.personas(conversation.run.prompts)
    shares = [persona.share for persona in personas.values()]
    return draw(conversation.run.seed, conversation.id, "persona").choices(list(personas), shares)[0]


def drawn_intent(conversation: Conversation) -> tuple[Intent, ErrorStrategy]:
    if not conversation.turns:
        return Intent.INTENT_OPENING, ErrorStrategy.ERROR_STRATEGY_UNSPECIFIED
    rewound = rewinding_parts(conversation)
    choice = draw(conversation.run.seed, conversation.id, len(conversation.turns), "intent", *rewound)
    if choice.random() < WRONG_SHARE:
        return Intent.INTENT_WRONG, choice.choice(list(STRATEGIES))
    return Intent.INTENT_RIGHT, ErrorStrategy.ERROR_STRATEGY_UNSPECIFIED
