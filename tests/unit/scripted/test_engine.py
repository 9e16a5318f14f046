"""The stand-in answers from the record of a request, and from nothing else."""

import asyncio
import json

import pytest

from soliloquy.runtime.model import ModelRefused
from soliloquy.v1.model_pb2 import Message
from soliloquy_services.model.engines.scripted import ScriptedEngine
from tests.unit.runtime.model.streams import KeptStreams
from tests.unit.scripted.driver import request

ENGINE = ScriptedEngine()


async def test_a_completion_says_who_answered_and_counts_its_words() -> None:
    completion = await ENGINE.generate(request("deciding", said="3.6 m/s^2"))
    assert completion.model == completion.engine == "scripted"
    assert min(completion.prompt_tokens, completion.completion_tokens) > 5


async def test_a_latency_is_waited_for() -> None:
    loop = asyncio.get_running_loop()
    started = loop.time()
    await ScriptedEngine(latency=0.05).generate(request("deciding", said="3.6 m/s^2"))
    assert loop.time() - started >= 0.049


async def test_who_hears_an_answer_hears_it_word_for_word_for_as_long_as_it_takes() -> None:
    loop = asyncio.get_running_loop()
    asked, started, heard = request("no_python", said="3.6 m/s^2"), loop.time(), KeptStreams()
    completion = await ScriptedEngine(latency=0.05).generate(asked, heard)
    assert loop.time() - started >= 0.049
    assert completion == await ENGINE.generate(asked)
    [words] = heard.answers
    assert "".join(words) == completion.text
    assert len(words) > 20


async def test_the_words_of_a_prompt_change_nothing() -> None:
    asked = request("deciding", said="3.6 m/s^2")
    before = await ENGINE.generate(asked)
    del asked.messages[:]
    asked.messages.append(Message(role="user", text="<question>How long is a rope?</question>"))
    assert (await ENGINE.generate(asked)).text == before.text


async def test_a_request_it_cannot_serve_is_refused_with_the_reason() -> None:
    with pytest.raises(ModelRefused, match="cannot answer the prompt 'soliloquy/grading'"):
        await ENGINE.generate(request("grading"))
    without = request("deciding")
    without.ClearField("record")
    with pytest.raises(ModelRefused, match="soliloquy/deciding has no record"):
        await ENGINE.generate(without)


async def test_a_program_calculates_the_step_and_compares_the_students_value() -> None:
    decided = json.loads((await ENGINE.generate(request("deciding", said="It is 3.9 m/s^2."))).text)
    asked = request("use_python", description=decided["Description"])
    fields = json.loads((await ENGINE.generate(asked)).text)["Python"]
    variables: dict[str, object] = {}
    exec(fields["Python Code"].removeprefix("```python\n").removesuffix("\n```"), variables)
    assert [variables[name] for name in fields["Result Variable"].split(", ")] == [pytest.approx(3.6), False]
