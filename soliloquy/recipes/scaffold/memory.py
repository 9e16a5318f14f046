"""The tutor's memory: the plan, which of its sub-questions are solved, and the one that is worked on."""

from collections.abc import Sequence

from soliloquy.recipes.scaffold.states import END, SOLVING
from soliloquy.v1.conversation_pb2 import Conversation, LearnerState, SubQuestion, Turn


def questions(conversation: Conversation) -> Sequence[SubQuestion]:
    return conversation.problem.enrichment.plan.questions


def solved_before(conversation: Conversation, turn: Turn) -> list[bool]:
    """Which sub-questions were solved when a turn began."""
    if turn.number == 1:
        return [False] * len(questions(conversation))
    return list(conversation.turns[turn.number - 2].solved)


def current_question(conversation: Conversation, turn: Turn) -> SubQuestion:
    return questions(conversation)[turn.sub_question - 1]


def next_turn(conversation: Conversation) -> Turn:
    """The next turn, at the first sub-question that is not solved."""
    turn = Turn(number=len(conversation.turns) + 1)
    turn.sub_question = solved_before(conversation, turn).index(False) + 1
    return turn


def closing_state(conversation: Conversation, turn: Turn, state: LearnerState) -> LearnerState:
    """A state as it is at its sub-question: what solves the last one is the end."""
    last = turn.sub_question == len(questions(conversation))
    return END if last and state in SOLVING else state


def solved_after(conversation: Conversation, turn: Turn, state: LearnerState) -> list[bool]:
    """Which sub-questions are solved after a student has shown this."""
    solved = solved_before(conversation, turn)
    solved[turn.sub_question - 1] |= state in SOLVING
    return solved
