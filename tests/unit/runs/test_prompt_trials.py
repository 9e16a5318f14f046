"""Each prompt of a recipe is put to the model on trial, as a run would put it, and nothing else is."""

import json

import pytest

from soliloquy.runs.assembly import conversation_handlers
from soliloquy.runs.model import ModelSettings, scripted_model
from soliloquy.runs.plan import problems_of
from soliloquy.runs.probing import PromptTrial, prompt_trials
from soliloquy.runtime.model import Model
from soliloquy.standin.speakers import speakers_of
from soliloquy.v1.conversation_pb2 import ParseOutcome
from soliloquy.v1.model_pb2 import Completion, Finish, GenerateRequest
from tests.unit.scripted.growing import DESK

BANKS = {"soliloquy": "physics", "mathdial": "arithmetic", "scaffold": "physics", "mathwell": "arithmetic"}
# Evaluations ask these, conversations do not.
SELDOM = {"mathwell/reading", "scaffold/plan", "scaffold/solving"}


class Rambling:
    """Answers every prompt with words that no recipe asks for."""

    async def generate(self, request: GenerateRequest) -> Completion:
        return Completion(text="Well", finish=Finish.FINISH_STOP, model="rambling")


class Astray:
    """Answers one prompt in its form, with a step that no problem has; a certain rule takes such turns back."""

    def __init__(self, scripted: Model) -> None:
        self._scripted = scripted

    async def generate(self, request: GenerateRequest) -> Completion:
        completion = await self._scripted.generate(request)
        if request.prompt == "soliloquy/received_python":
            reply = json.loads(completion.text) | {"Step Number": "51"}
            completion.text, completion.model = json.dumps(reply), "astray"
        return completion


async def trials(recipe: str, on_trial: Model | None = None) -> list[PromptTrial]:
    bank = BANKS[recipe]
    scripted = scripted_model(ModelSettings(problems=[bank]))
    return [
        trial
        async for trial in prompt_trials(
            recipe,
            problems_of(bank, recipe),
            scripted=scripted,
            on_trial=on_trial or scripted,
            handlers=lambda model: conversation_handlers(model, DESK),
        )
    ]


@pytest.mark.parametrize("recipe", BANKS)
async def test_each_prompt_of_a_recipe_is_tried_once(recipe: str) -> None:
    found = await trials(recipe)
    prompts = [trial.call.prompt for trial in found]
    assert len(prompts) == len(set(prompts))
    # Nobody reads what speakers say that they claim.
    assert set(speakers_of(recipe)) - set(prompts) == speakers_of(recipe).keys() & (SELDOM | {f"{recipe}/reader"})
    assert {trial.call.outcome for trial in found} == {ParseOutcome.PARSE_OUTCOME_STRICT}


async def test_an_unusable_answer_is_shown_with_what_the_model_was_told() -> None:
    found = {trial.call.prompt: trial for trial in await trials("soliloquy", Rambling())}
    deciding = found["soliloquy/deciding"]
    assert deciding.call.outcome == ParseOutcome.PARSE_OUTCOME_FAILED
    assert list(deciding.call.raw) == ["Well"] * 3
    assert all("holds no JSON object" in told for told in deciding.complaints)
    assert {trial.call.model for trial in found.values()} == {"rambling"}


async def test_an_answer_in_a_turn_that_is_taken_back_is_shown() -> None:
    scripted = scripted_model(ModelSettings(problems=[BANKS["soliloquy"]]))
    found = {trial.call.prompt: trial for trial in await trials("soliloquy", Astray(scripted))}
    assert found["soliloquy/received_python"].call.model == "astray"
