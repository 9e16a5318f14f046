"""What holds on every real server. Its model has random weights: its words mean nothing, its answers have a form."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from benchmarks.real_servers import Served
from soliloquy.cli.generate import INCOMPLETE
from soliloquy.client import Dataset
from soliloquy.recipes.answers import Decision, Program
from soliloquy.recipes.calls import calls_of
from soliloquy.recipes.mathdial.answers import ConfusionDescription, MoveChoice
from soliloquy.recipes.soliloquy.answers import Reply
from soliloquy.runtime.answers import Answer
from soliloquy.runtime.model import ModelRefused
from soliloquy.runtime.model.keys import Key
from soliloquy.runtime.model.openai_client import OpenAIClient
from soliloquy.runtime.model.settings import Endpoint
from soliloquy.standin.speakers import speakers_of
from soliloquy.v1.conversation_pb2 import Ending, ParseOutcome
from soliloquy.v1.model_pb2 import Finish, GenerateRequest, Message, Sampling
from tests.e2e.runs import SOLILOQUY, command, run
from tests.servers.running import CONTEXT_TOKENS, MODEL

SECONDS = 240.0
ANSWERS: list[type[Answer]] = [Decision, Program, Reply, MoveChoice, ConfusionDescription]
# An answer that takes any server long.
ENDLESS = json.dumps(
    {
        "type": "object",
        "properties": {"text": {"type": "string", "minLength": 1000}},
        "required": ["text"],
        "additionalProperties": False,
    }
)


def request(
    text: str = "Why is the sky blue?", *, schema: str = "", seed: int = 1, max_tokens: int = 200, adapter: str = ""
) -> GenerateRequest:
    return GenerateRequest(
        role="tutor",
        prompt="test/real",
        messages=[Message(role="system", text="Answer briefly."), Message(role="user", text=text)],
        schema=schema,
        sampling=Sampling(temperature=1.0, top_p=1.0, max_tokens=max_tokens),
        seed=seed,
        adapter=adapter,
    )


@asynccontextmanager
async def asking(server: Served, **settings: Any) -> AsyncIterator[OpenAIClient]:
    endpoint = Endpoint(engine="openai", base_url=server.url, model=settings.pop("model", MODEL), **settings)
    client = OpenAIClient("real", endpoint, Key("", "OPENAI_API_KEY"))
    try:
        yield client
    finally:
        await client.close()


READ = {
    ParseOutcome.PARSE_OUTCOME_STRICT,
    ParseOutcome.PARSE_OUTCOME_REPAIRED,
    ParseOutcome.PARSE_OUTCOME_REASKED,
}


def _without_bounds(schema: Any) -> Any:
    """Returns the schema without the bounds of numbers, which some grammars cannot hold."""
    if isinstance(schema, dict):
        return {name: _without_bounds(value) for name, value in schema.items() if name not in ("minimum", "maximum")}
    return [_without_bounds(each) for each in schema] if isinstance(schema, list) else schema


class RealServerPromises:
    pytestmark = pytest.mark.timeout(900)
    dialect: str

    def test_the_probe_recognizes_it_and_shows_each_prompt_with_its_answer(
        self, server: Served, tmp_path: Path
    ) -> None:
        wanted = [SOLILOQUY, "model", "probe", "--base-url", server.url, "--model-name", MODEL, "--json"]
        told = run(wanted)
        assert told.returncode == 0, told.stderr
        found = json.loads(told.stdout)
        print(found)
        assert found["facts"]["dialect"] == self.dialect
        assert found["facts"]["seeds"] == "honoured"
        assert found["facts"]["streaming"].startswith("yes")
        assert {prompt["prompt"] for prompt in found["prompts"]} == set(speakers_of("soliloquy"))
        assert all(prompt["answers"] and prompt["prompt_tokens"] for prompt in found["prompts"])
        assert f'dialect = "{self.dialect}"' in found["settings"]

    @pytest.mark.parametrize(("recipe", "problems"), [("soliloquy", "physics"), ("mathwell", "arithmetic")])
    def test_a_whole_run_loses_no_conversation_and_reads_every_answer(
        self, server: Served, tmp_path: Path, recipe: str, problems: str
    ) -> None:
        wanted = command(
            tmp_path / "dataset",
            conversations=1,
            recipe=recipe,
            problems=problems,
            model="openai",
            base_url=server.url,
            model_name=MODEL,
            max_turns=2,
            max_attempts=1,
            in_flight=4,
        )
        grown = run(wanted)
        # Nothing that the model says is true, so no problem is accepted, nor the one in its place.
        assert grown.returncode == INCOMPLETE, grown.stderr
        report = json.loads(grown.stdout)
        ended = list(Dataset(tmp_path / "dataset").conversations(rejected=True))
        assert (report["accepted"], report["rejected"]) == (0, len(ended))
        assert "dead letters" not in grown.stderr
        calls = [call for one in ended for call in calls_of(one)]
        print(recipe, report["parse"], [(Ending.Name(one.ending), one.ending_reason) for one in ended])
        assert all(one.ending and (one.ending != Ending.ENDING_UNPARSABLE or one.ending_reason) for one in ended)
        assert {call.outcome for call in calls} & READ
        assert all(call.prompt_tokens and call.completion_tokens and call.model == MODEL for call in calls)

    @pytest.mark.parametrize("kind", ANSWERS, ids=lambda kind: kind.__name__)
    async def test_an_answer_has_the_fields_of_the_schema_that_its_recipe_asks_for(
        self, server: Served, kind: type[Answer]
    ) -> None:
        async with asking(server) as client:
            said = [
                await client.ask(request(schema=kind.json_schema(), seed=seed, max_tokens=1500), SECONDS)
                for seed in range(3)
            ]
        texts = [completion.text for completion in said if completion.finish == Finish.FINISH_STOP and completion.text]
        assert texts
        for text in texts:
            # Some servers let control characters into strings, which our reader takes too.
            jsonschema.validate(json.loads(text, strict=False), _without_bounds(json.loads(kind.json_schema())))

    async def test_the_same_seed_gives_the_same_answer_and_another_seed_another(self, server: Served) -> None:
        async with asking(server) as client:
            first, again, other = [await client.ask(request(seed=seed), SECONDS) for seed in (1, 1, 2)]
        assert first.text == again.text
        assert first.text != other.text

    async def test_a_streamed_answer_is_the_whole_answer(self, server: Served) -> None:
        pieces: list[str] = []
        async with asking(server) as client:
            streamed = await client.ask(request(schema=ENDLESS, max_tokens=60), SECONDS, lambda _: pieces.append)
        assert len(pieces) > 1
        assert "".join(pieces) == streamed.text

    async def test_an_answer_that_reaches_its_limit_says_so(self, server: Served) -> None:
        async with asking(server) as client:
            completion = await client.ask(request(schema=ENDLESS, max_tokens=5), SECONDS)
        assert completion.finish == Finish.FINISH_LENGTH
        assert completion.completion_tokens == 5

    async def test_a_prompt_longer_than_the_context_is_refused_with_the_servers_words(self, server: Served) -> None:
        async with asking(server) as client:
            with pytest.raises(ModelRefused, match=str(CONTEXT_TOKENS)) as refused:
                await client.ask(request("Why? " * 4 * CONTEXT_TOKENS), SECONDS)
            print(refused.value)
            assert (await client.ask(request(max_tokens=2), SECONDS)).completion_tokens
