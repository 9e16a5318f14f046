"""Training examples: the tutor's prompts with their answers, or the conversation as one chat."""

from socratic_debugging.answers import Guidance
from socratic_debugging.labels_pb2 import PointsAt, TutorLabels
from socratic_debugging.prompting import preamble, tutor_prompts
from soliloquy.recipes.codes import EVALUATION_LETTERS
from soliloquy.recipes.recipe import Lesson, TrainingMessage
from soliloquy.v1.conversation_pb2 import Conversation, Turn


def lessons(conversation: Conversation) -> list[Lesson]:
    return [
        Lesson(turn=turn.number, prompt=prompt, answer=_answer(turn)) for turn, prompt in tutor_prompts(conversation)
    ]


def dialogue(conversation: Conversation) -> list[TrainingMessage]:
    told = [TrainingMessage("system", preamble(conversation), turn=0)]
    for turn in conversation.turns:
        told.append(TrainingMessage("user", turn.student.text, turn=turn.number))
        told.append(TrainingMessage("assistant", _answer(turn), turn=turn.number, learned=True))
    return told


def _answer(turn: Turn) -> str:
    points_at = PointsAt.Name(TutorLabels.FromString(turn.tutor.labels).points_at)
    return Guidance.written(
        thoughts=turn.tutor.thoughts,
        evaluation=EVALUATION_LETTERS[turn.tutor.evaluation],
        points_at=points_at.removeprefix("POINTS_AT_").lower(),
        text=turn.tutor.text,
    )
