"""Writes the program for a calculation, and the independent programs that check an answer."""

from copy import deepcopy
from functools import partial

from soliloquy.problems.solving import independent_programs
from soliloquy.recipes.playing import play_by_rules
from soliloquy.recipes.recipe import find
from soliloquy.recipes.turn_faults import programs_sent_back
from soliloquy.runtime.events import Outcome, emit
from soliloquy.runtime.model import Model, ReserveOf, no_reserve
from soliloquy.runtime.once import Once
from soliloquy.v1.conversation_pb2 import CodeAttempt, ModelCall
from soliloquy.v1.events_pb2 import CalculationNeeded, CodeFailed, ProgramsNeeded, ProgramsWritten

ProgramCache = Once[tuple[list[CodeAttempt], list[ModelCall]]]


async def write(event: CalculationNeeded | CodeFailed, model: Model, reserve: ReserveOf = no_reserve) -> Outcome:
    recipe = find(event.conversation.run.recipe)
    spare = reserve("codegen", event.conversation.id)
    # A program that failed has its error in the prompt; one that was wrong goes back with the reason.
    is_first = isinstance(event, CalculationNeeded)
    earlier = programs_sent_back(event.conversation.turns[-1])[::-1] if is_first else ()
    return await play_by_rules(
        event, recipe.codegen, role="codegen", model=model, recipe=recipe, reserve=spare, earlier=earlier
    )


async def write_programs(event: ProgramsNeeded, model: Model, programs: ProgramCache) -> Outcome:
    """Writes the programs of a problem, each problem once."""
    conversation = deepcopy(event.conversation)
    problem = conversation.problem
    key = f"{problem.answer.unit} {problem.question}"
    written, calls = await programs.get(key, partial(independent_programs.write_programs, problem, model))
    problem.enrichment.programs.extend(written)
    problem.enrichment.calls.extend(calls)
    return emit(ProgramsWritten(conversation=conversation))
