"""Turns a conversation into training examples: one for the plan, and one per turn."""

from soliloquy.recipes.claims import written_claims
from soliloquy.recipes.lessons import chat
from soliloquy.recipes.recipe import Lesson, TrainingMessage
from soliloquy.recipes.scaffold import plan_prompting
from soliloquy.recipes.scaffold.answers import plan_lines, tutored_text
from soliloquy.recipes.scaffold.memory import plan_of
from soliloquy.recipes.scaffold.prompting import chat_preamble, tutoring
from soliloquy.recipes.scaffold.states import NAMES, found_state
from soliloquy.recipes.seat import refuse_taught
from soliloquy.v1.conversation_pb2 import Conversation, Turn


def lessons(conversation: Conversation) -> list[Lesson]:
    """Lists the plan's example first, then the turns."""
    refuse_taught(conversation)
    problem = conversation.problem
    plan = plan_of(problem)
    planned = []
    if plan.questions:
        # As in the paper, a planner first works the problem out.
        plan.analysis = " ".join(problem.solution.split()) or plan.analysis
        planned = [Lesson(turn=0, prompt=plan_prompting.lesson(problem), answer="\n".join(plan_lines(plan)))]
    tutored = [
        Lesson(turn=turn.number, prompt=tutoring(conversation, turn), answer=_answer(turn))
        for turn in conversation.turns
        if turn.HasField("tutor")
    ]
    return planned + tutored


def dialogue(conversation: Conversation) -> list[TrainingMessage]:
    """Writes the conversation as one chat of the student's messages and the three parts of the tutor's turns."""
    refuse_taught(conversation)
    return chat(conversation, chat_preamble(conversation), lambda turn: [("assistant", _answer(turn, told=False))])


def _answer(turn: Turn, *, told: bool = True) -> str:
    claims = written_claims(turn.tutor) if told else None
    return tutored_text(turn.tutor.thoughts, NAMES[found_state(turn)], turn.tutor.text, claims)
