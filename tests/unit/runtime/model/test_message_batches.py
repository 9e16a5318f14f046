"""Anthropic's message batches: requests and results in another form, and batches without a name of ours."""

import asyncio
import itertools
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import aiohttp
import pytest

from benchmarks.endpoint import message_batches
from benchmarks.endpoint.server import FakeEndpoint
from benchmarks.endpoint.settings import EndpointSettings
from soliloquy.runtime.model import batch_sender, batch_table
from soliloquy.runtime.model.batch_lines import line_of
from soliloquy.runtime.model.batch_messages import MessageBatches, as_file_line, as_message_request
from soliloquy.runtime.model.batch_table import ANSWERED
from soliloquy.runtime.model.costs import KINDS
from soliloquy.runtime.model.faults import InvalidAnswer, Throttled
from soliloquy.runtime.model.spending import Spending
from soliloquy.v1.model_pb2 import Finish, GenerateRequest, Message
from tests.cases import each_case
from tests.unit.model.hosted import ENGINE
from tests.unit.runtime.model.batching import (
    LATENCY,
    accounts,
    ask_all,
    asked,
    at_work,
    faulty,
    models_at,
    quick,  # noqa: F401
    sending,
    waiting,
)
from tests.waiting import until

DIALECT = "anthropic"
RULES = Message(role="system", text="You are a student. Say what a student says, in one or two sentences.")


def test_a_request_has_its_rules_apart_with_a_mark_and_nothing_that_the_api_refuses() -> None:
    schema = {"type": "object", "properties": {"text": {"type": "string"}}}
    body = {
        "model": "claude",
        "messages": [{"role": "system", "content": "Rules."}, {"role": "user", "content": "3?"}],
        "temperature": 1.3,
        "max_tokens": 100,
        "response_format": {"type": "json_schema", "json_schema": {"name": "reply", "schema": schema, "strict": True}},
    }
    assert as_message_request(body) == {
        "model": "claude",
        "system": [{"type": "text", "text": "Rules.", "cache_control": {"type": "ephemeral"}}],
        "messages": [{"role": "user", "content": "3?"}],
        "temperature": 1.0,
        "max_tokens": 100,
        "output_config": {"format": {"type": "json_schema", "schema": schema}},
    }
    unconstrained = as_message_request(body | {"response_format": {"type": "json_object"}})
    assert "output_config" not in unconstrained


def succeeded(**message: Any) -> dict[str, Any]:
    said = {"model": "claude", "content": [{"type": "text", "text": "Four."}], "stop_reason": "end_turn", **message}
    return {"custom_id": "one", "result": {"type": "succeeded", "message": said}}


def test_an_answer_counts_what_a_cache_held_and_took_in_as_parts_of_the_prompt() -> None:
    usage = {
        "input_tokens": 10,
        "cache_read_input_tokens": 700,
        "cache_creation_input_tokens": 30,
        "output_tokens": 5,
    }
    thought = [{"type": "thinking", "thinking": "2 + 2"}, {"type": "text", "text": "Four."}]
    line = line_of(as_file_line(succeeded(usage=usage, content=thought)), "large")
    assert line
    assert line.completion
    read = line.completion
    assert (read.text, read.reasoning, read.model) == ("Four.", "2 + 2", "claude")
    assert (read.prompt_tokens, read.cached_tokens, read.cache_write_tokens, read.completion_tokens) == (
        740,
        700,
        30,
        5,
    )


@each_case
def test_an_answer_says_how_it_ended(reason: str, finish: str) -> None:
    line = line_of(as_file_line(succeeded(stop_reason=reason)), "large")
    assert line
    assert line.completion
    assert line.completion.finish == Finish.Value(finish)


@each_case
def test_a_result_without_an_answer_says_whether_it_is_asked_again(
    result: Any, status: int | None, again: bool, is_try: bool
) -> None:
    line = line_of(as_file_line({"custom_id": "one", "result": result}), "large")
    assert line
    assert (line.request, line.status, line.again, line.is_try) == ("one", status or ANSWERED, again, is_try)


async def test_a_batch_whose_making_got_no_reply_is_told_from_those_of_others_by_its_results(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake, create = faulty(dialect=DIALECT), MessageBatches.create
    unheard: list[str] = []

    async def unheard_once(api: MessageBatches, *arguments: Any) -> object:
        job = await create(api, *arguments)
        if not unheard:
            unheard.append(job.remote)
            raise InvalidAnswer("the connection broke")
        return job

    monkeypatch.setattr(MessageBatches, "create", unheard_once)
    async with fake.serving("127.0.0.1:0") as url:
        await post_foreign(url, requests=3)
        models = models_at(url, dialect=DIALECT)
        async with sending(models, tmp_path), waiting(models, tmp_path) as client:
            asking = asyncio.create_task(ask_all(client, 3))
            await until(lambda: bool(unheard))
            await post_foreign(url, requests=3)
            assert len(await asking) == 3
    assert [len(batch.lines) for batch in fake.batches.made] == [3, 3, 3]
    assert "cancelled" not in [batch.status for batch in fake.batches.made]
    assert accounts(tmp_path) == {"answered": 3}


async def post_foreign(url: str, *, requests: int) -> None:
    """Makes a batch of another program with the same key."""
    params = {"model": "large", "max_tokens": 10, "messages": [{"role": "user", "content": "Hi"}]}
    body = {"requests": [{"custom_id": f"foreign-{number}", "params": params} for number in range(requests)]}
    async with (
        aiohttp.ClientSession(headers={"anthropic-version": "2023-06-01"}) as session,
        session.post(f"{url}/messages/batches", json=body) as response,
    ):
        assert response.status == 200, await response.text()


async def test_a_batch_at_work_is_not_made_again_after_the_clock_was_set_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = itertools.count(2_000_000_000, -30)
    monkeypatch.setattr(batch_table, "time", SimpleNamespace(time=lambda: float(next(clock))))
    fake = FakeEndpoint(ENGINE, EndpointSettings(batch_latency=1.0, dialect=DIALECT))
    async with at_work(fake, tmp_path, dialect=DIALECT) as client:
        asking = asyncio.create_task(ask_all(client, 1))
        await until(lambda: bool(fake.batches.made))
        await asyncio.sleep(2 * batch_sender.SHOW_SECONDS)
        await ask_all(client, 2)
        await asking
    assert [len(batch.lines) for batch in fake.batches.made] == [1, 1]
    assert accounts(tmp_path) == {"answered": 2}


async def test_an_endpoint_that_has_no_room_for_a_batch_is_not_failing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake, create = faulty(dialect=DIALECT), MessageBatches.create
    refused: list[str] = []

    async def full(api: MessageBatches, own: str, *arguments: Any) -> object:
        if any(not batch.is_over for batch in fake.batches.made):
            refused.append(own)
            raise Throttled("429: too many requests in batches")
        return await create(api, own, *arguments)

    monkeypatch.setattr(MessageBatches, "create", full)
    async with fake.serving("127.0.0.1:0") as url:
        models = models_at(url, dialect=DIALECT)
        async with sending(models, tmp_path) as senders, waiting(models, tmp_path) as client:
            asking = asyncio.create_task(ask_all(client, 9))
            await until(lambda: bool(refused))
            assert senders.statuses[0].error == ""
            assert len(await asking) == 9
    # It is asked again when a batch has ended, not all the time.
    assert len(refused) == len(set(refused)) == 2
    assert accounts(tmp_path) == {"answered": 9}


async def test_a_parameter_that_a_model_refuses_is_left_out_of_the_next_batch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(message_batches, "_PARAMETERS", message_batches._PARAMETERS - {"temperature"})
    fake = faulty(dialect=DIALECT)
    async with at_work(fake, tmp_path, dialect=DIALECT) as client:
        await ask_all(client, 3)
    assert [len(batch.lines) for batch in fake.batches.made] == [3, 3]
    assert accounts(tmp_path) == {"answered": 3}


async def test_calls_about_batches_have_the_key_in_the_header_of_the_messages_api(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake = FakeEndpoint(ENGINE, EndpointSettings(batch_latency=LATENCY, dialect=DIALECT, key="sk-of-a-test"))
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-a-test")
    async with at_work(fake, tmp_path, dialect=DIALECT) as client:
        assert len(await ask_all(client, 3)) == 3


async def test_what_the_mark_lets_a_cache_hold_is_billed_as_the_endpoint_says(tmp_path: Path) -> None:
    fake = FakeEndpoint(ENGINE, EndpointSettings(batch_latency=LATENCY, dialect=DIALECT, prefix_cache=0))

    def with_rules(seed: int) -> GenerateRequest:
        request = asked(seed)
        request.messages.insert(0, RULES)
        return request

    async with at_work(fake, tmp_path, dialect=DIALECT) as client, asyncio.timeout(120):
        await asyncio.gather(*(client.ask(with_rules(seed), 0.0) for seed in range(6)))
    [account] = Spending(tmp_path / "spending.sqlite").accounts()
    assert {kind: account[kind] for kind in KINDS} == {
        kind: sum(line.get(kind, 0) for line in fake.invoice.lines) for kind in KINDS
    }
    words = len(RULES.text.split())
    # One request writes the rules, and the others read them.
    assert (account["cache_write"], account["cached"]) == (words, 5 * words)
