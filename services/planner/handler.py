"""Prepares a conversation's problem: weighs its answer against programs, and enriches it, each problem once."""

from functools import partial

from soliloquy.problems.solving.agreed_steps import agreed_steps, is_bare
from soliloquy.problems.solving.independent_programs import weigh
from soliloquy.recipes.outcomes import finish
from soliloquy.recipes.recipe import find
from soliloquy.runtime.ask import Ask, Prompt
from soliloquy.runtime.events import Outcome, emit
from soliloquy.runtime.model import Model
from soliloquy.runtime.once import Once
from soliloquy.runtime.seeds import digest
from soliloquy.truth.support import has_supported_answer
from soliloquy.v1.conversation_pb2 import Ending, Enrichment, Problem
from soliloquy.v1.events_pb2 import ConversationStarted, EnrichmentNeeded

Enrichments = Once[Enrichment]


async def enrich(event: EnrichmentNeeded, model: Model, enrichments: Enrichments) -> Outcome:
    conversation = event.conversation
    problem, run = conversation.problem, conversation.run
    if problem.enrichment.programs:
        check = weigh(problem, problem.enrichment.programs)
        if check.contradicting and not has_supported_answer(problem):
            return finish(conversation, Ending.ENDING_UNFIT, f"programs contradict the answer: {check.why}")
        problem.agreeing_programs, problem.contradicting_programs = check.agreeing, check.contradicting
        if check.agreeing and is_bare(problem) and (steps := agreed_steps(problem, problem.enrichment.programs)):
            del problem.steps[:]
            problem.steps.extend(steps)
            problem.read_plan = False
    if run.enrich:
        recipe = find(run.recipe)
        key = _key(problem, recipe.enrichment_prompt(problem, run.prompts))
        # The seeds depend on the problem alone, so that every conversation gets the same answer.
        ask = Ask(model=model, role="planner", origin=(key,))
        problem.enrichment.MergeFrom(await enrichments.get(key, partial(recipe.planner, problem, run.prompts, ask)))
    return emit(ConversationStarted(conversation=conversation))


def _key(problem: Problem, prompt: Prompt) -> str:
    """Hashes the prompt and the content of the problem, but not its origin."""
    content = Problem()
    content.CopyFrom(problem)
    for origin in ("id", "source", "enrichment"):
        content.ClearField(origin)
    texts = (text for _, text in prompt.said)
    return digest(content.SerializeToString(deterministic=True).hex(), prompt.name, *texts)
