"""A student that sees its mistake by the tutor's words has given it up; it is not made to say it once more."""

import pytest

from soliloquy.problems.bank.bank import load_bank
from soliloquy.recipes.answers import StudentMessage
from soliloquy.recipes.mathdial.labels_pb2 import Belief
from soliloquy.recipes.mathdial.labels_pb2 import StudentLabels as Believing
from soliloquy.recipes.recipe import find
from soliloquy.recipes.scaffold.labels_pb2 import StudentLabels as Shown
from soliloquy.recipes.scaffold.memory import plan_of
from soliloquy.recipes.soliloquy.labels_pb2 import StudentLabels as Known
from soliloquy.standin.claims import claims_in
from soliloquy.truth.number_format import format_value
from soliloquy.v1.conversation_pb2 import Conversation, Intent, Knowledge, Quantity, Turn
from soliloquy.v1.events_pb2 import ConversationStarted, EnrichmentNeeded
from soliloquy.v1.model_pb2 import Completion, GenerateRequest, Record
from soliloquy.v1.runs_pb2 import Run
from soliloquy_services.curriculum.handler import attempt_at
from soliloquy_services.model.engines.scripted import ScriptedEngine
from soliloquy_services.planner.handler import Enrichments, enrich
from tests.unit.scripted.growing import finished

SEED, MOST = 5, 40
INSIGHT = "Oh, I see what I did wrong."


class Quick:
    """A student that gives a mistake up as soon as the tutor has answered it; the other roles are the stand-in's."""

    def __init__(self, recipe: str) -> None:
        self._engine, self._recipe = ScriptedEngine(), recipe
        self.insights = 0
        self.asked: list[str] = []

    async def generate(self, request: GenerateRequest) -> Completion:
        completion = await self._engine.generate(request)
        if request.prompt == f"{self._recipe}/student":
            self.asked.append(request.messages[-1].text)
            if right := self._right(request.record):
                self.insights += 1
                text = f"{INSIGHT} It is {format_value(right.value, right.unit)}."
                completion.text = StudentMessage.written(text=text, claims=claims_in(text, [right]))
        return completion

    def _right(self, record: Record) -> Quantity | None:
        slots, problem = record.slots, record.problem
        match self._recipe:
            case "soliloquy" if slots["kind"] == "wrong" and slots["tries"] != "0":
                return problem.steps[int(slots["step"]) - 1].result
            case "mathdial" if slots["stance"] in ("held", "doubted"):
                return problem.answer
            case "scaffold" if slots["working"] and "The tutor has answered that" in slots["instruction"]:
                return problem.steps[plan_of(problem).questions[int(slots["number"]) - 1].steps[-1] - 1].result
        return None


def gave_up(recipe: str, turn: Turn) -> bool:
    labels = turn.student.labels
    match recipe:
        case "mathdial":
            return Believing.FromString(labels).belief == Belief.BELIEF_GIVEN_UP
        case "scaffold":
            return Shown.FromString(labels).knowledge == Knowledge.KNOWLEDGE_CORRECTED
        case _:
            is_right = turn.student.intent == Intent.INTENT_RIGHT
            return is_right and Known.FromString(labels).knowledge == Knowledge.KNOWLEDGE_CORRECTED


async def played(recipe: str, ordinal: int, model: Quick) -> Conversation:
    bank = load_bank("physics" if recipe == "soliloquy" else "arithmetic")
    run = Run(id="run", recipe=recipe, seed=SEED, max_turns=20, max_attempts=1, enrich=find(recipe).always_enriched)
    made = attempt_at(bank.problem(SEED, ordinal), run=run, ordinal=ordinal, attempt=0)
    if not run.enrich:
        return await finished(ConversationStarted(conversation=made), engine=model)
    [event] = await enrich(EnrichmentNeeded(conversation=made), ScriptedEngine(), Enrichments(1))
    return await finished(event, engine=model)


@pytest.mark.parametrize("recipe", ["soliloquy", "scaffold", "mathdial"])
async def test_an_insight_stands_at_once_and_its_prompt_can_be_rebuilt(recipe: str) -> None:
    model, ordinal = Quick(recipe), 0
    while not model.insights and ordinal < MOST:
        model.asked.clear()
        conversation = await played(recipe, ordinal, model)
        ordinal += 1
    told = [turn for turn in conversation.turns if turn.student.text.startswith(INSIGHT)]
    assert told
    for turn in told:
        assert gave_up(recipe, turn), turn
        assert not [one for one in turn.rejected if one.role == "student" and "to be wrong" in one.because]
    rebuilt = (one for _, one in find(recipe).prompts(conversation) if one.name == f"{recipe}/student")
    assert {one.messages[-1].text for one in rebuilt} == set(model.asked)
