"""The tutor's memory: the plan, the solved sub-questions, and the current one."""

from collections.abc import Sequence

from soliloquy.recipes.scaffold.states import END, SOLVING
from soliloquy.v1.conversation_pb2 import Conversation, LearnerState, SubQuestion, Turn


def questions(conversation: Conversation) -> Sequence[SubQuestion]:
    return conversation.problem.enrichment.plan.questions


def solved_before(conversation: Conversation, turn: Turn) -> list[bool]:
    """Returns which sub-questions were solved when a turn began."""
    if turn.number == 1:
        return [False] * len(questions(conversation))
    return list(conversation.turns[turn.number - 2].solved)


def current_question(conversation: Conversation, turn: Turn) -> SubQuestion:
    return questions(conversation)[turn.sub_question - 1]


def next_turn(conversation: Conversation) -> Turn:
    """Creates the next turn, at the first unsolved sub-question."""
    turn = Turn(number=len(conversation.turns) + 1)
    turn.sub_question = solved_before(conversation, turn).index(False) + 1
    return turn


def closing_state(conversation: Conversation, turn: Turn, state: LearnerState) -> LearnerState:
    """Returns the end in place of a state that solves the last sub-question."""
    last = turn.sub_question == len(questions(conversation))
    return END if last and state in SOLVING else state


def solved_after(conversation: Conversation, turn: Turn, state: LearnerState) -> list[bool]:
    """Returns which sub-questions are solved once the student has shown this state."""
    solved = solved_before(conversation, turn)
    solved[turn.sub_question - 1] |= state in SOLVING
    return solved
