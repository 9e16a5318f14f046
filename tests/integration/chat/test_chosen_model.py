"""A person has a chat ask a model of their own choice: what is allowed, what is told, and what stays of the key."""

import logging

import pytest

from soliloquy.runs.model import scripted_model
from soliloquy.runtime.model.keys import DEFAULT_KEY_VARIABLE
from soliloquy_services.gateway.chat.messages import ChatState, EndpointRules, StartChat
from soliloquy_services.gateway.refusals import Code, Refusal
from soliloquy_services.model.fake import FakeServer, FakeSettings
from tests.integration.chat.support import BEGINNING, MODEL, Room, reply_in, room
from tests.integration.executor.support import needs_runsc

pytestmark = [needs_runsc, pytest.mark.asyncio(loop_scope="session")]

ANY_PORT = "127.0.0.1:0"
KEY = "sk-a-key-of-a-person"
HERE = EndpointRules(loopback=True)


def asked(endpoint: str, key: str = "", model: str = "scripted:7b") -> StartChat:
    return StartChat(recipe="soliloquy", bank="physics", seed=7, endpoint=endpoint, model=model, key=key)


async def refused(opened: Room, request: StartChat) -> Refusal:
    with pytest.raises(Refusal) as refusal:
        await opened.chats.start(request)
    return refusal.value


def fake(key: str = "") -> FakeServer:
    return FakeServer(scripted_model(MODEL), FakeSettings(key=key))


async def test_the_chosen_model_tutors_and_the_chat_says_so(sandbox: str) -> None:
    server = fake()
    async with server.serving(ANY_PORT) as endpoint, room(sandbox, rules=HERE) as opened:
        chat = await opened.chats.start(asked(endpoint))
        pieces = await opened.answer(chat, BEGINNING)
        assert reply_in(pieces)
        assert chat.tutor.model_dump(include={"model", "scripted", "understands"}) == {
            "model": "scripted:7b",
            "scripted": False,
            "understands": [],
        }
        usual = await opened.chats.start(StartChat(recipe="soliloquy", bank="physics", seed=7))
        assert (usual.tutor.model, usual.tutor.scripted) == ("scripted", True)
        assert usual.tutor.understands
    assert server.fates.total() > 1


async def test_the_key_goes_to_the_endpoint_and_stays_nowhere(sandbox: str, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        async with fake(KEY).serving(ANY_PORT) as endpoint, room(sandbox, rules=HERE) as opened:
            chat = await opened.chats.start(asked(endpoint, KEY))
            await opened.answer(chat, BEGINNING)
            shown: ChatState = opened.chats.show(chat.id)
            await opened.chats.finish(chat.id, keep=True)
            wrong = await refused(opened, asked(endpoint, "sk-another-key"))
    assert "refuses the key in the key field" in wrong.message
    assert "sk-another-key" not in wrong.message
    for text in (shown.model_dump_json(), str(opened.published), caplog.text):
        assert KEY not in text
        assert "sk-another-key" not in text


async def test_the_gateway_s_own_key_is_sent_to_a_listed_endpoint_only(
    sandbox: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(DEFAULT_KEY_VARIABLE, KEY)
    async with fake(KEY).serving(ANY_PORT) as endpoint:
        async with room(sandbox, rules=HERE) as opened:
            assert "requires a key" in (await refused(opened, asked(endpoint))).message
        async with room(sandbox, rules=EndpointRules(listed=[endpoint])) as opened:
            assert (await opened.chats.start(asked(endpoint))).tutor.model == "scripted:7b"


async def test_an_endpoint_that_is_not_allowed_is_not_called(sandbox: str) -> None:
    server = fake()
    async with server.serving(ANY_PORT) as endpoint, room(sandbox) as opened:
        refusal = await refused(opened, asked(endpoint))
    assert refusal.code is Code.DENIED
    assert "--chat-endpoint URL" in refusal.message
    assert server.fates.total() == 0


async def test_an_endpoint_that_is_not_there_is_told_before_the_chat_begins(sandbox: str) -> None:
    async with fake().serving(ANY_PORT) as endpoint:
        pass
    async with room(sandbox, rules=HERE) as opened:
        refusal = await refused(opened, asked(endpoint))
    assert refusal.code is Code.UNAVAILABLE
    assert f"{endpoint} cannot be asked for 'scripted:7b'" in refusal.message


async def test_the_page_is_told_who_tutors_and_the_usual_recipe_comes_first(sandbox: str) -> None:
    async with room(sandbox, rules=EndpointRules(listed=["https://api.example.com/v1"])) as opened:
        offer = opened.chats.offer()
    assert (offer.model, offer.scripted, offer.loopback) == ("scripted", True, False)
    assert offer.endpoints == ["https://api.example.com/v1"]
    assert offer.recipes[0].name == "soliloquy"
    assert all(recipe.tutor.understands and recipe.tutor.suggestions for recipe in offer.recipes)
