"""What a model is to learn of planning: from a problem to its analysis, its sub-questions and their answers."""

from collections.abc import Iterator

from soliloquy.v1.conversation_pb2 import Conversation, Plan

from services.recipes.recipe import Lesson
from services.recipes.scaffold import plan_prompting


def lessons(conversation: Conversation) -> list[Lesson]:
    """The plan of a conversation's problem; none where it has no plan."""
    problem = conversation.problem
    if not problem.enrichment.plan.questions:
        return []
    answer = "\n".join(_written(problem.enrichment.plan))
    return [Lesson(turn=0, prompt=plan_prompting.lesson(problem), answer=answer)]


def _written(plan: Plan) -> Iterator[str]:
    """As the paper lays it out."""
    yield f"[analysis] {plan.analysis}"
    yield "[sub_questions]"
    for number, one in enumerate(plan.questions, start=1):
        yield f"Sub Question {number}:"
        yield f"Question: {one.question}"
        yield f"Expected Answer: {one.answer}"
    yield f"Final answer: {plan.questions[-1].answer}"
