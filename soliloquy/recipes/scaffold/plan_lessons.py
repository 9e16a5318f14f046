"""What a model is to learn of planning: from a problem to its analysis, its sub-questions and their answers."""

from soliloquy.recipes.recipe import Lesson
from soliloquy.recipes.scaffold import plan_prompting
from soliloquy.recipes.scaffold.plan_answers import laid_out
from soliloquy.v1.conversation_pb2 import Conversation


def lessons(conversation: Conversation) -> list[Lesson]:
    """The plan of a conversation's problem; none where it has no plan."""
    problem = conversation.problem
    plan = problem.enrichment.plan
    if not plan.questions:
        return []
    return [Lesson(turn=0, prompt=plan_prompting.lesson(problem), answer="\n".join(laid_out(plan)))]
