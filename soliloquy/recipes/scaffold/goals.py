"""Lists the sub-questions as goals: whether the student answered each, and what is left of its misconception."""

from collections.abc import Iterator, Sequence

from soliloquy.recipes.learner.goals import LearningGoal
from soliloquy.recipes.learner.knowledge import after
from soliloquy.recipes.scaffold.expected_answers import gives_expected, revealed
from soliloquy.recipes.scaffold.labels_pb2 import SubQuestion
from soliloquy.recipes.scaffold.learner import asked_step, stance_of
from soliloquy.recipes.scaffold.memory import questions, solved, sub_question
from soliloquy.v1.conversation_pb2 import Conversation, Turn


def learning_goals(conversation: Conversation) -> Sequence[LearningGoal]:
    return list(_by_question(conversation))


def _by_question(conversation: Conversation) -> Iterator[LearningGoal]:
    """The first message hands the problem in, which is no answer."""
    known = conversation.problem.question
    for number, target in enumerate(questions(conversation), start=1):
        at = [turn for turn in conversation.turns[1:] if sub_question(turn) == number]
        stances = [stance_of(turn.student) for turn in at]
        step = asked_step(conversation.problem, target)
        right = (
            not stance.mistaken and gives_expected(turn.student.text, target) is True
            for turn, stance in zip(at, stances, strict=True)
        )
        yield LearningGoal(
            name=f"sub-question {number}",
            knew=not stances[0].mistaken if at else None,
            knows=bool(at) and not after(stances[-1], at[-1].tutor, step).mistaken,
            answered=any(right),
            told=any(_tells(turn, number, target, known) for turn in conversation.turns),
        )
        known = f"{known}\n{target.question}\n{target.answer}"


def _tells(turn: Turn, number: int, target: SubQuestion, known: str) -> bool:
    """Whether a reply tells an answer that the student has still to find."""
    is_hidden = not any(solved(turn)[number - 1 : number])
    return is_hidden and any(revealed(turn.tutor.text, [target], f"{known}\n{target.question}"))
