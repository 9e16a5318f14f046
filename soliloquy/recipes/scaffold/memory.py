"""The tutor's memory: the plan, the solved sub-questions, and the current one."""

from collections.abc import Sequence

from soliloquy.recipes.glosses import glossed_conversation
from soliloquy.recipes.scaffold.labels_pb2 import EnrichmentLabels, LearnerState, Plan, SubQuestion, TurnLabels
from soliloquy.recipes.scaffold.states import END, solving
from soliloquy.runtime.failure import Refused
from soliloquy.truth.locales import gloss
from soliloquy.v1.conversation_pb2 import Conversation, Problem, RejectedTry, Turn

# The rule by which a student's message goes back to it.
STATE = "state"


def plan_of(problem: Problem) -> Plan:
    return EnrichmentLabels.FromString(problem.enrichment.labels).plan


def glossed_plan(plan: Plan, language: str) -> Plan:
    questions = [
        SubQuestion(question=gloss(one.question, language), answer=gloss(one.answer, language), steps=one.steps)
        for one in plan.questions
    ]
    return Plan(questions=questions, refused_because=plan.refused_because)


def glossed_with_plan(conversation: Conversation) -> Conversation:
    """Returns a conversation and its plan as the readers know them; English as it is."""
    if not (language := conversation.problem.language):
        return conversation
    read = glossed_conversation(conversation)
    plan = glossed_plan(plan_of(conversation.problem), language)
    read.problem.enrichment.labels = EnrichmentLabels(plan=plan).SerializeToString()
    return read


def questions(conversation: Conversation) -> Sequence[SubQuestion]:
    return plan_of(conversation.problem).questions


def sub_question(turn: Turn) -> int:
    """Returns the number of a turn's sub-question, from 1."""
    return TurnLabels.FromString(turn.labels).sub_question


def solved(turn: Turn) -> list[bool]:
    """Returns which sub-questions were solved when a turn ended; empty before that."""
    return list(TurnLabels.FromString(turn.labels).solved)


def store_solved(turn: Turn, flags: Sequence[bool]) -> None:
    labels = TurnLabels.FromString(turn.labels)
    labels.solved[:] = flags
    turn.labels = labels.SerializeToString()


def solved_before(conversation: Conversation, turn: Turn) -> list[bool]:
    """Returns which sub-questions were solved when a turn began."""
    if turn.number == 1:
        return [False] * len(questions(conversation))
    return solved(conversation.turns[turn.number - 2])


def misfits(turn: Turn) -> list[RejectedTry]:
    """Returns the messages of a turn that did not show its drawn state."""
    return [one for one in turn.rejected if one.rule == STATE]


def current_question(conversation: Conversation, turn: Turn) -> SubQuestion:
    return questions(conversation)[sub_question(turn) - 1]


def next_turn(conversation: Conversation) -> Turn:
    """Creates the next turn, at the first unsolved sub-question."""
    turn = Turn(number=len(conversation.turns) + 1)
    flags = solved_before(conversation, turn)
    if all(flags):
        raise Refused("the conversation goes on, although no sub-question of its plan is left")
    turn.labels = TurnLabels(sub_question=flags.index(False) + 1).SerializeToString()
    return turn


def closing_state(conversation: Conversation, turn: Turn, state: LearnerState) -> LearnerState:
    """Returns the end in place of a state that solves the last sub-question."""
    last = sub_question(turn) == len(questions(conversation))
    return END if last and state in solving(conversation) else state


def solved_after(conversation: Conversation, turn: Turn, state: LearnerState) -> list[bool]:
    """Returns which sub-questions are solved once the student has shown this state."""
    flags = solved_before(conversation, turn)
    flags[sub_question(turn) - 1] |= state in solving(conversation)
    return flags
