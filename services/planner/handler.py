"""Prepares a conversation's problem: weighs its answer against programs, and enriches it, each problem once."""

from collections.abc import Mapping
from functools import partial

from soliloquy.problems.solving.independent_programs import dispute, weigh
from soliloquy.problems.solving.worked_steps import agreed_steps, is_bare, worked_steps
from soliloquy.recipes.outcomes import finish
from soliloquy.recipes.recipe import Recipe, find
from soliloquy.recipes.words import words
from soliloquy.runtime.ask import Ask, Prompt
from soliloquy.runtime.events import Outcome, emit
from soliloquy.runtime.model import Model
from soliloquy.runtime.once import Once
from soliloquy.runtime.seeds import digest
from soliloquy.truth.ledger import Ledger, is_worked_out, make_ledger
from soliloquy.v1.conversation_pb2 import PLAN_SOURCE_PROGRAM, PLAN_SOURCE_PROSE, Ending, Problem
from soliloquy.v1.events_pb2 import ConversationStarted, EnrichmentNeeded

# A cache of what a model makes of a problem: its enrichment, and maybe its steps.
Enrichments = Once[Problem]


async def enrich(event: EnrichmentNeeded, model: Model, enrichments: Enrichments) -> Outcome:
    conversation = event.conversation
    problem, run = conversation.problem, conversation.run
    programs = weigh(problem.enrichment.programs)
    # A solution that only says its answer has no steps to read; programs that agree with it give them.
    is_told = programs is None or not is_bare(problem)
    if run.programs and is_told and problem.plan == PLAN_SOURCE_PROSE and problem.HasField("answer"):
        is_asked = await _read(problem, model, enrichments)
        ledger = Ledger(make_ledger(problem, programs))
        if is_asked and not ledger.has_settled_answer and not ledger.is_disputed:
            why = "its answer is open: no program and no reading of its solution settles it"
            return finish(conversation, Ending.ENDING_UNFIT, why)
    if programs is not None:
        why = dispute(problem, programs)
        if why and not is_worked_out(problem):
            return finish(conversation, Ending.ENDING_UNFIT, f"programs contradict the answer: {why}")
        if not why and is_bare(problem) and (steps := agreed_steps(problem, problem.enrichment.programs)):
            del problem.steps[:]
            problem.steps.extend(steps)
            problem.plan = PLAN_SOURCE_PROGRAM
        problem.ledger.CopyFrom(make_ledger(problem, programs))
    if run.enrich:
        recipe = find(run.recipe)
        key = _key(problem, recipe.enrichment_prompt(problem, run.prompts))
        # The seeds depend on the problem alone, so that every conversation gets the same answer.
        ask = Ask(model=model, role="planner", origin=(key,), problem=problem, again=words(problem.language)["again"])
        enriched = await enrichments.get(key, partial(_enriched, recipe, problem, run.prompts, ask))
        problem.enrichment.MergeFrom(enriched.enrichment)
    return emit(ConversationStarted(conversation=conversation))


async def _enriched(recipe: Recipe, problem: Problem, changed: Mapping[str, str], ask: Ask) -> Problem:
    return Problem(enrichment=await recipe.planner(problem, changed, ask))


async def _read(problem: Problem, model: Model, enrichments: Enrichments) -> bool:
    """Has a model read the steps of a solution in prose, which stay if it cannot; returns whether one was asked."""
    key = digest("steps", problem.question, problem.solution)
    ask = Ask(model=model, role="planner", origin=(key,), problem=problem, again=words(problem.language)["again"])
    read = await enrichments.get(key, partial(worked_steps, problem, ask))
    problem.enrichment.calls.extend(read.enrichment.calls)
    if read.steps:
        del problem.steps[:]
        problem.steps.extend(read.steps)
        problem.plan = read.plan
        problem.ledger.CopyFrom(make_ledger(problem))
    return any(call.model != "scripted" for call in read.enrichment.calls)


def _key(problem: Problem, prompt: Prompt) -> str:
    """Hashes the prompt and the content of the problem, but not its origin."""
    content = Problem()
    content.CopyFrom(problem)
    for origin in ("id", "source", "enrichment"):
        content.ClearField(origin)
    texts = (text for _, text in prompt.said)
    return digest(content.SerializeToString(deterministic=True).hex(), prompt.name, *texts)
