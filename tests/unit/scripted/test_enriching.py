"""The scripted planner explains and outlines every problem within the rules; spoilt, it is asked again."""

import json

import pytest

from soliloquy.problems.bank.bank import bank_names, load_bank
from soliloquy.recipes.soliloquy import planner
from soliloquy.recipes.soliloquy.planner import steps_in
from soliloquy.runtime.ask import Ask
from soliloquy.v1.conversation_pb2 import ParseOutcome, Problem
from soliloquy_services.model.engines.noise import noise_of
from soliloquy_services.model.engines.scripted import ScriptedEngine
from tests.unit.scripted.problems import CART


async def enriched(problem: Problem, engine: ScriptedEngine, seed: int = 0) -> tuple[list[str], list[str], list[str]]:
    """The steps of both texts, and every answer that it took."""
    ask = Ask(model=engine, role="planner", origin=(problem.id, seed), problem=problem)
    enrichment = await planner.enrich(problem, {}, ask)
    assert not enrichment.plain_because
    return steps_in(enrichment.detailed_solution), steps_in(enrichment.outline), list(enrichment.calls[0].raw)


@pytest.mark.parametrize("name", bank_names())
async def test_a_family_is_enriched_at_the_first_try(name: str) -> None:
    bank = load_bank(name)
    engine = ScriptedEngine()
    for family in bank.names[:: 1 + len(bank.names) // 8]:
        problem = bank.family(family).problem(77)
        detailed, outline, answers = await enriched(problem, engine)
        assert len(answers) == 1, f"{family}: {answers[0]}"
        assert len(detailed) == len(outline) == len(problem.steps), family
        assert all(step.explanation in text for step, text in zip(problem.steps, detailed, strict=True)), family


async def test_noise_is_found_and_asked_again() -> None:
    engine = ScriptedEngine(noise=noise_of("real"))
    outcomes = []
    for seed in range(60):
        ask = Ask(model=engine, role="planner", origin=(seed,), problem=CART)
        await planner.enrich(CART, {}, ask)
        outcomes.append(ask.calls[0])
    reasked = [call for call in outcomes if call.outcome == ParseOutcome.PARSE_OUTCOME_REASKED]
    assert 0.02 <= len(reasked) / len(outcomes) <= 0.25
    spoilt = " ".join(call.raw[0] for call in reasked)
    assert "That is nearly" in spoilt
    assert "The result = " in spoilt
    kept = [json.dumps(call.raw[-1]) for call in outcomes if call.outcome != ParseOutcome.PARSE_OUTCOME_FAILED]
    assert not any("That is nearly" in text or "The result = " in text for text in kept)
