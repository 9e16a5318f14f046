"""The chat and OpenAI's route over HTTP, as a browser and as a client of theirs meet them."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from soliloquy.client import Sandbox
from soliloquy.runs.chat import ChatTutors, routes, tutoring
from soliloquy.runtime.transports.embedded import EmbeddedTransport
from soliloquy_services.gateway.access.access import Access
from soliloquy_services.gateway.app import serving
from soliloquy_services.gateway.chat.chats import ChatSettings
from soliloquy_services.gateway.chat.messages import EndpointRules
from soliloquy_services.gateway.http.application import application
from soliloquy_services.gateway.settings import GatewaySettings
from tests.cases import each_case
from tests.integration.chat.support import BANK, BEGINNING, MODEL, PROBLEMS, answers
from tests.integration.executor.support import needs_runsc
from tests.integration.gateway.support import opened

pytestmark = [needs_runsc, pytest.mark.asyncio(loop_scope="session")]

PROBLEM = PROBLEMS.bank_problem("physics", 1)


@asynccontextmanager
async def console(
    sandbox: str, folder: Path, settings: ChatSettings | None = None, *, stand_in: bool = True
) -> AsyncIterator["Client"]:
    stopping = asyncio.Event()
    async with (
        EmbeddedTransport(folder / "log.sqlite") as transport,
        opened(transport) as gateway,
        tutoring(MODEL, Sandbox(sandbox), settings or ChatSettings()) as talking,
        serving(
            "127.0.0.1:0",
            application(
                gateway,
                GatewaySettings(),
                Access(None),
                stopping,
                routes(_passing(talking, stand_in), transport, settings or ChatSettings(), EndpointRules()),
            ),
            stopping,
        ) as address,
        aiohttp.ClientSession(f"http://{address}") as session,
    ):
        yield Client(session)


def _passing(tutors: ChatTutors, stand_in: bool) -> ChatTutors:
    tutors.usual.by = replace(tutors.usual.by, scripted=stand_in)
    return tutors


class Client:
    def __init__(self, session: aiohttp.ClientSession) -> None:
        self._session = session

    async def get(self, path: str) -> tuple[int, Any]:
        async with self._session.get(path) as response:
            return response.status, await response.json()

    async def post(self, path: str, body: Any) -> tuple[int, Any]:
        async with self._session.post(path, json=body) as response:
            return response.status, await response.json()

    async def pieces(self, path: str, body: Any) -> list[tuple[str, Any]]:
        async with self._session.post(path, json=body) as response:
            assert (response.status, response.content_type) == (200, "text/event-stream")
            events = (await response.text()).split("\n\n")
        parted = [event.split("\n", 1) for event in events if event.startswith("event: ")]
        return [(name.removeprefix("event: "), json.loads(data.removeprefix("data: "))) for name, data in parted]

    async def said(self, body: Any) -> list[str]:
        """The data of each event of a stream of completions."""
        async with self._session.post("/v1/chat/completions", json=body) as response:
            assert (response.status, response.content_type) == (200, "text/event-stream")
            events = (await response.text()).split("\n\n")
        assert all(event.startswith("data: ") and "\n" not in event for event in events[:-1])
        return [event.removeprefix("data: ") for event in events[:-1]]


def asked(*texts: str, recipe: str = "soliloquy", **more: Any) -> dict[str, Any]:
    """The messages of a user and an assistant in turn, the problem posed before them."""
    posed = {"role": "system", "content": f"Problem: {PROBLEM.question}"}
    said = [{"role": ("user", "assistant")[place % 2], "content": text} for place, text in enumerate(texts)]
    return {"model": recipe, "messages": [posed, *said], **more}


async def test_a_chat_is_begun_held_read_again_and_finished(sandbox: str, tmp_path: Path) -> None:
    async with console(sandbox, tmp_path) as client:
        status, chat = await client.post("/v1/chats", {"recipe": "soliloquy", "bank": "physics", "seed": 1})
        assert (status, chat["problem"]["question"], chat["messages"]) == (201, PROBLEM.question, [])
        pieces = await client.pieces(f"/v1/chats/{chat['id']}/messages", {"text": BEGINNING})
        assert pieces[0] == ("deciding", {})
        reply = "".join(data["delta"] for name, data in pieces if name == "reply")
        name, done = pieces[-1]
        assert (name, done["over"], done["turn"]["tutor"]["text"]) == ("done", False, reply)
        assert "calls" not in done["turn"]
        _, shown = await client.get(f"/v1/chats/{chat['id']}")
        assert [message["text"] for message in shown["messages"]] == [BEGINNING, reply]
        _, finished = await client.post(f"/v1/chats/{chat['id']}/finish", {"keep": True})
        assert finished["kept"]
        assert finished["run"].startswith("chats-soliloquy-")
        assert (await client.get(f"/v1/chats/{chat['id']}"))[0] == 404


@each_case
async def test_what_is_wrong_with_a_request_is_said_in_its_status_and_a_sentence(
    sandbox: str, tmp_path: Path, path: str, body: Any, status: int, words: str
) -> None:
    async with console(sandbox, tmp_path) as client:
        told, answer = await client.post(path, body)
    assert told == status
    assert words in answer["error"]["message"]


async def test_the_models_are_the_recipes_that_tutor(sandbox: str, tmp_path: Path) -> None:
    for stand_in, names in ((True, ["soliloquy"]), (False, ["mathdial", "scaffold", "soliloquy"])):
        async with console(sandbox, tmp_path, stand_in=stand_in) as client:
            _, listed = await client.get("/v1/models")
        assert listed["object"] == "list"
        assert [model["id"] for model in listed["data"]] == names


async def test_a_client_of_openai_is_led_to_the_answer(sandbox: str, tmp_path: Path) -> None:
    async with console(sandbox, tmp_path) as client:
        texts: list[str] = []
        for text in await answers("soliloquy", PROBLEM):
            texts.append(text)
            status, answer = await client.post("/v1/chat/completions", asked(*texts))
            assert status == 200, answer
            [choice] = answer["choices"]
            assert (answer["object"], choice["finish_reason"]) == ("chat.completion", "stop")
            usage = answer["usage"]
            assert usage["total_tokens"] == usage["prompt_tokens"] + usage["completion_tokens"] > 100
            texts.append(choice["message"]["content"])
        status, over = await client.post("/v1/chat/completions", asked(*texts, "Thank you!"))
    assert status == 409
    assert "the tutor has ended this conversation" in over["error"]["message"]


async def test_a_stream_is_told_chunk_by_chunk_as_openai_tells_it(sandbox: str, tmp_path: Path) -> None:
    async with console(sandbox, tmp_path) as client:
        body = asked(BEGINNING, stream=True, stream_options={"include_usage": True})
        *events, last = await client.said(body)
        _, whole = await client.post("/v1/chat/completions", asked(BEGINNING))
    first, *middle, end, usage = map(json.loads, events)
    assert last == "[DONE]"
    assert first["choices"][0]["delta"] == {"role": "assistant", "content": ""}
    said = "".join(chunk["choices"][0]["delta"]["content"] for chunk in middle)
    assert said == whole["choices"][0]["message"]["content"]
    assert len(middle) > 3
    assert (end["choices"][0]["delta"], end["choices"][0]["finish_reason"]) == ({}, "stop")
    assert (usage["choices"], usage["usage"]) == ([], whole["usage"])
    assert {chunk["object"] for chunk in (first, *middle, end, usage)} == {"chat.completion.chunk"}
    assert len({chunk["id"] for chunk in (first, *middle, end, usage)}) == 1


@pytest.mark.parametrize("recipe", ["soliloquy", "scaffold", "mathdial"])
async def test_a_history_that_nobody_remembers_is_gone_on_from(sandbox: str, tmp_path: Path, recipe: str) -> None:
    problem = PROBLEMS.bank_problem(BANK[recipe], 0)
    messages = [
        {"role": "user", "content": problem.question},
        {"role": "assistant", "content": "What do you find first?"},
        {"role": "user", "content": "I do not know where to begin."},
        {"role": "assistant", "content": "What is given?"},
        {"role": "user", "content": f"Is it {problem.answer.value:g} {problem.answer.unit}?"},
    ]
    async with console(sandbox, tmp_path, stand_in=recipe == "soliloquy") as client:
        status, answer = await client.post("/v1/chat/completions", {"model": recipe, "messages": messages})
    assert status == 200, answer
    assert answer["choices"][0]["message"]["content"]
    assert answer["model"] == f"{recipe}/scripted"


async def test_openai_s_route_is_as_fair_as_the_chat(sandbox: str, tmp_path: Path) -> None:
    async with console(sandbox, tmp_path) as client:
        _, right = await client.post("/v1/chat/completions", asked("0.4 kW"))
    assert PROBLEM.steps[1].ask in right["choices"][0]["message"]["content"]


async def test_what_goes_wrong_in_a_stream_is_the_last_that_it_tells(sandbox: str, tmp_path: Path) -> None:
    body = {"model": "scaffold", "stream": True, "messages": [{"role": "user", "content": "How far is it?"}]}
    async with console(sandbox, tmp_path, stand_in=False) as client:
        *_, last = await client.said(body)
    assert "scaffold cannot use this problem" in json.loads(last)["error"]["message"]


@each_case
async def test_errors_come_in_the_shape_that_openai_gives_them(
    sandbox: str, tmp_path: Path, body: Any, status: int, words: str
) -> None:
    async with console(sandbox, tmp_path) as client:
        told, answer = await client.post("/v1/chat/completions", body)
    assert told == status
    assert answer["error"].keys() == {"message", "type", "param", "code"}
    assert words in answer["error"]["message"]
