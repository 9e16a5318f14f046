"""A problem is enriched once, with the same result in any process, and never keeps its conversation from starting."""

import asyncio
import json

import pytest

from soliloquy.recipes.recipe import find
from soliloquy.runtime.ask import MAX_ASKS
from soliloquy.runtime.model import Model
from soliloquy.runtime.retry import Transient
from soliloquy.v1.conversation_pb2 import Conversation, ParseOutcome, Problem
from soliloquy.v1.events_pb2 import ConversationStarted, EnrichmentNeeded
from soliloquy.v1.model_pb2 import Completion, GenerateRequest
from soliloquy.v1.runs_pb2 import Run
from soliloquy_services.planner.handler import Enrichments, enrich
from tests.unit.answering import Answering
from tests.unit.recipes.conversations import problem

RECIPE = find("soliloquy")
GOOD = json.dumps(
    {
        "Detailed Solution": "Step 1) Newton's second law, F = m a = 1500 × 2.4 = 3600 N. Step 2) W = F s = 180000 J.",
        "Solution Outline": "Step 1) Find the force by F = m a. Step 2) Find the work by W = F s.",
    }
)
CALCULATED = GOOD.replace("Find the work by W = F s", "Find the work, W = 3600 × 50")


def needed(number: int = 0, asked: Problem | None = None) -> EnrichmentNeeded:
    run = Run(id=f"run {number}", recipe="soliloquy", seed=number, enrich=True)
    return EnrichmentNeeded(conversation=Conversation(id=str(number), run=run, problem=asked or problem()))


def other(number: int) -> Problem:
    changed = problem()
    changed.question = f"{changed.question} ({number})"
    return changed


async def started(event: EnrichmentNeeded, model: Model, enrichments: Enrichments) -> Conversation:
    [following] = await enrich(event, model, enrichments)
    assert isinstance(following, ConversationStarted)
    return following.conversation


async def test_a_conversation_starts_with_its_problem_enriched_and_all_that_was_said() -> None:
    conversation = await started(needed(), Answering(GOOD), Enrichments(8))
    enrichment = conversation.problem.enrichment
    assert enrichment.detailed_solution.splitlines()[1] == "Step 2) W = F s = 180000 J."
    assert enrichment.outline.splitlines() == [
        "Step 1) Find the force by F = m a.",
        "Step 2) Find the work by W = F s.",
    ]
    [call] = enrichment.calls
    assert (call.role, call.prompt, call.model, list(call.raw)) == (
        "planner",
        "soliloquy/enriching",
        "answering",
        [GOOD],
    )
    assert (enrichment.plain_because, call.outcome) == ("", ParseOutcome.PARSE_OUTCOME_STRICT)
    assert conversation.problem.question == problem().question


async def test_what_breaks_a_rule_is_asked_for_again_with_the_reason() -> None:
    model = Answering("Sure!", CALCULATED, GOOD)
    enrichment = (await started(needed(), model, Enrichments(8))).problem.enrichment
    assert enrichment.outline
    assert enrichment.calls[0].outcome == ParseOutcome.PARSE_OUTCOME_REASKED
    assert list(enrichment.calls[0].raw) == ["Sure!", CALCULATED, GOOD]
    assert "'= 3600' is a calculation" in model.requests[-1].messages[-1].text


async def test_without_a_usable_answer_the_plain_solution_is_used_and_the_record_says_why() -> None:
    model = Answering(CALCULATED)
    conversation = await started(needed(), model, Enrichments(8))
    assert len(model.requests) == MAX_ASKS
    kept = RECIPE.record(conversation)["problem"]["enrichment"]
    assert "'= 3600' is a calculation" in kept["plain_because"]
    assert (kept["detailed_solution"], kept["outline"]) == ("", "")
    assert kept["calls"][0]["raw"] == [CALCULATED] * MAX_ASKS
    assert kept["calls"][0]["outcome"] == "failed"


async def test_a_problem_of_many_conversations_is_asked_for_once_also_while_the_answer_is_under_way() -> None:
    model = Answering(GOOD)
    enrichments = Enrichments(8)
    conversations = await asyncio.gather(*(started(needed(number), model, enrichments) for number in range(5)))
    conversations.append(await started(needed(5), model, enrichments))
    assert len(model.requests) == 1
    assert all(conversation.problem == conversations[0].problem for conversation in conversations)


async def test_problems_do_not_wait_for_each_other() -> None:
    model = Answering(GOOD)
    enrichments = Enrichments(8)
    first, second = (asyncio.ensure_future(started(needed(n, other(n)), model, enrichments)) for n in range(2))
    await asyncio.sleep(0)
    assert len(model.requests) == 2
    await asyncio.gather(first, second)


async def test_what_is_forgotten_is_asked_for_with_the_same_seeds() -> None:
    model = Answering(CALCULATED, GOOD, GOOD, CALCULATED, GOOD)
    enrichments = Enrichments(1)
    before = await started(needed(0), model, enrichments)
    await started(needed(1, other(1)), model, enrichments)
    after = await started(needed(2), model, enrichments)
    first, again, _, *repeated = (request.seed for request in model.requests)
    assert repeated == [first, again]
    assert first != again
    for enriched in (before.problem, after.problem):
        for call in enriched.enrichment.calls:
            call.ClearField("seconds")
    assert after.problem == before.problem


async def test_a_fault_of_the_model_is_left_to_the_stage_and_nothing_of_it_is_kept() -> None:
    class Down(Answering):
        async def generate(self, request: GenerateRequest) -> Completion:
            if not self.requests:
                self.requests.append(request)
                raise Transient("the model is restarting")
            return await super().generate(request)

    model, enrichments = Down(GOOD), Enrichments(8)
    with pytest.raises(Transient):
        await started(needed(), model, enrichments)
    assert (await started(needed(), model, enrichments)).problem.enrichment.outline
