"""A gateway says what a run would take, from a former one or else from a rehearsal, and starts nothing."""

import asyncio
from dataclasses import replace

import pytest

from soliloquy.client import AsyncRuns, InvalidRequest
from soliloquy.runtime.model.settings import Endpoint, Models
from soliloquy.runtime.model.settings_file import shipped_models
from soliloquy.v1.gateway_pb2 import ForecastBasis, ListRunsRequest
from soliloquy_services.executor.policy import SandboxSettings
from soliloquy_services.executor.pool import SandboxPool
from soliloquy_services.gateway.refusals import Code, Refusal
from soliloquy_services.gateway.service import Gateway
from soliloquy_services.gateway.settings import GatewaySettings
from tests.integration.gateway.contract import last_of
from tests.integration.gateway.served import ARITHMETIC, command
from tests.integration.gateway.site import START, Site
from tests.integration.gateway.support import PLANS, Collecting, asked, growing, opened
from tests.integration.transport.support import Connect


def priced() -> Models:
    """The shipped models at a dollar for a million tokens, whatever the kind."""
    endpoint = Endpoint(engine="scripted", prompt_price=1.0, completion_price=1.0)
    models = shipped_models()
    return replace(models, endpoints=dict.fromkeys(models.endpoints, endpoint))


async def test_a_former_run_of_the_recipe_tells_calls_tokens_and_time(connect: Connect) -> None:
    # Every third problem takes two conversations.
    collecting = Collecting(lambda one: ["length: turn 2: long"] if one.ordinal % 3 == 0 and not one.attempt else [])
    async with connect() as transport, growing(transport, collecting), opened(transport) as gateway:
        run = await gateway.start_run(asked(conversations=12))
        await last_of(gateway, run.id)
        told = await gateway.forecast_run(asked("two", conversations=1200))
        runs = (await gateway.list_runs(ListRunsRequest())).runs
    assert [one.id for one in runs] == [run.id]
    assert (told.basis, told.like) == (ForecastBasis.FORECAST_BASIS_FORMER_RUN, run.id)
    assert (told.problems, told.accepted) == (12, 12)
    # Sixteen conversations of five calls, ten prompt tokens and three seconds each.
    assert told.calls.expected == 1200 / 12 * 16 * 5
    assert told.prompt_tokens.expected == 1200 / 12 * 16 * 10
    assert told.prompt_tokens.low <= told.prompt_tokens.expected <= told.prompt_tokens.high
    assert told.seconds.expected == pytest.approx(1200 / 12 * 16 * 3 / 4, rel=0.1)
    assert (told.request.conversations, told.request.max_turns) == (1200, 20)


async def test_a_run_of_fewer_than_ten_or_of_another_recipe_tells_nothing(connect: Connect) -> None:
    async with connect() as transport, growing(transport, Collecting()), opened(transport) as gateway:
        for request_id, conversations in (("few", 9), ("enough", 10)):
            await last_of(gateway, (await gateway.start_run(asked(request_id, conversations=conversations))).id)
        other = asked("other", conversations=100)
        other.request.recipe = "mathdial"
        with pytest.raises(Refusal, match=r"nothing tells what .* Start a run of 10 conversations") as refused:
            await gateway.forecast_run(other)
        told = await gateway.forecast_run(asked("alike", conversations=100))
    assert refused.value.code == Code.NOT_NOW
    assert told.problems == 10


async def test_without_a_former_run_the_scripted_model_rehearses_and_says_so(
    connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("soliloquy.runs.dry_run._REHEARSED", 3)
    pool = SandboxPool(SandboxSettings(sandboxes=1))
    await pool.start()
    try:
        async with connect() as transport:
            plans = replace(PLANS, models=priced(), sandbox=pool)
            gateway = Gateway(transport, plans, GatewaySettings(models=priced()))
            async with gateway.at_work():
                told = await gateway.forecast_run(asked(conversations=2000))
                again = await gateway.forecast_run(asked(conversations=2000))
                runs = (await gateway.list_runs(ListRunsRequest())).runs
    finally:
        await pool.stop()
    assert not runs
    assert told == again
    assert (told.basis, told.like, told.problems) == (ForecastBasis.FORECAST_BASIS_REHEARSAL, "", 3)
    tokens = told.prompt_tokens.expected + told.completion_tokens.expected
    assert told.dollars.expected == pytest.approx(tokens / 1_000_000)
    assert tokens > 2000 * 1000
    assert not told.HasField("seconds")
    assert not told.HasField("cached_tokens")
    assert told.prompts["soliloquy/student"].startswith("[system]\n")


async def test_a_request_that_cannot_be_run_is_refused_as_its_start_is(connect: Connect) -> None:
    wrong = asked()
    wrong.request.problems = "chemistry"
    async with connect() as transport, opened(transport) as gateway:
        for call in (gateway.forecast_run, gateway.start_run):
            with pytest.raises(Refusal, match="problems cannot be 'chemistry'") as refused:
                await call(wrong)
            assert refused.value.code == Code.INVALID


async def test_post_with_dry_run_answers_with_a_forecast_and_starts_no_run(open_site: Site) -> None:
    run = await open_site.start(conversations=10)
    await last_of(open_site.gateway, run)
    body = {"request_id": "two", "request": START | {"conversations": 50}}
    for query in ("dry_run", "dry_run=true"):
        told = await open_site.ask("POST", f"/v1/runs?{query}", body)
        assert told.status == 200, told.body
        assert (told.status, told.body["basis"], told.body["like"]) == (200, "FORECAST_BASIS_FORMER_RUN", run)
        assert told.body["calls"]["expected"] == 250.0
    for query in ("dry_run=yes", "dry_run&dry_run", "dry=1"):
        assert (await open_site.ask("POST", f"/v1/runs?{query}", body)).status == 400
    assert (await open_site.ask("POST", f"/v1/runs/{run}/cancel?dry_run", {})).status == 400
    assert len((await open_site.ask("GET", "/v1/runs")).body["runs"]) == 1
    assert (await open_site.ask("POST", "/v1/runs?dry_run=false", body)).status == 201


async def test_the_client_and_the_command_ask_for_a_forecast(address: str) -> None:
    async with AsyncRuns(address) as runs:
        first = await runs.start(**ARITHMETIC | {"conversations": 10})
        async for _ in runs.watch(first.id):
            pass
        told = await runs.forecast(problems="arithmetic", conversations=100, in_flight=2)
        assert (told.like, told.calls.expected) == (first.id, 500.0)
        with pytest.raises(InvalidRequest, match="nothing tells"):
            await runs.forecast(problems="arithmetic", conversations=100, recipe="mathdial")
        assert [run.id async for run in runs.list()] == [first.id]

    words = ("start", "--gateway", address, "--problems", "arithmetic", "--conversations", "100", "--dry-run")
    shown = await asyncio.to_thread(command, *words)
    assert shown.exit_code == 0, shown.output
    assert f"from 10 accepted ones about 10 problems in run {first.id}" in " ".join(shown.stdout.split())
