"""What a model is to learn from a conversation: one sample a turn, from the memory to all three parts."""

from soliloquy.v1.conversation_pb2 import Conversation, Turn

from services.recipes.recipe import Lesson, Told
from services.recipes.scaffold import plan_lessons
from services.recipes.scaffold.answers import parted
from services.recipes.scaffold.prompting import outset, tutorings
from services.recipes.scaffold.states import NAMES


def lessons(conversation: Conversation) -> list[Lesson]:
    """How the problem was planned, and then each turn."""
    tutored = [
        Lesson(turn=turn.number, prompt=prompt, answer=_answer(turn)) for turn, prompt in tutorings(conversation)
    ]
    return plan_lessons.lessons(conversation) + tutored


def dialogue(conversation: Conversation) -> list[Told]:
    """The student's messages, and the tutor's analyses, states and replies."""
    told = [Told("system", outset(conversation), turn=0)]
    for turn in conversation.turns:
        told.append(Told("user", turn.student.text, turn=turn.number))
        told.append(Told("assistant", _answer(turn), turn=turn.number, learned=True))
    return told


def _answer(turn: Turn) -> str:
    return parted(turn.tutor.thoughts, NAMES[turn.tutor.learner_state], turn.tutor.text)
