"""Requests in batches: filled, found again, taken in once, whatever the endpoint or a kill does to them."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import REGISTRY

from benchmarks.endpoint.server import FakeEndpoint
from soliloquy.runtime.model.batch_lines import FileBatches, line_of
from soliloquy.runtime.model.batch_messages import MessageBatches
from soliloquy.runtime.model.batch_sender import open_senders
from soliloquy.runtime.model.batch_table import ENDED, BatchTable, Line, request_id
from soliloquy.runtime.model.faults import ModelFailed, Overloaded
from soliloquy.runtime.model.remote import TRIES
from soliloquy.runtime.model.spending import Budget, BudgetUsed, Spending
from tests.unit.model.hosted import ENGINE
from tests.unit.runtime.model.batching import (
    DIALECT_OF,
    NAME,
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

# None of these makes the endpoint work on a request twice.
FAULTS = ("cancelled", "expired", "line_failed", "line_missing", "line_repeated", "lost", "unheard")
API_OF = {"files": FileBatches, "messages": MessageBatches}

in_every_form = pytest.mark.parametrize("form", sorted(DIALECT_OF))


def sizes(fake: FakeEndpoint) -> list[int]:
    return [len(batch.lines) for batch in fake.batches.made]


@in_every_form
async def test_a_batch_goes_when_it_is_full_and_the_last_one_by_its_age(tmp_path: Path, form: str) -> None:
    fake = faulty(dialect=DIALECT_OF[form])
    async with at_work(fake, tmp_path, dialect=DIALECT_OF[form]) as client:
        answers = await ask_all(client, 7)
    assert answers == [(await ENGINE.generate(asked(seed))).text for seed in range(7)]
    assert sorted(sizes(fake)) == [1, 3, 3]


async def test_a_request_that_was_answered_is_not_paid_again_by_whoever_asks_it(tmp_path: Path) -> None:
    fake = faulty()
    async with fake.serving("127.0.0.1:0") as url:
        models = models_at(url)
        async with sending(models, tmp_path), waiting(models, tmp_path) as client:
            answers = await ask_all(client, 3)
        async with waiting(models, tmp_path) as client:
            assert await ask_all(client, 3) == answers
    assert (len(fake.invoice.lines), accounts(tmp_path)) == (3, {"answered": 3})


@in_every_form
@pytest.mark.parametrize("fault", FAULTS)
async def test_whatever_befalls_batches_each_request_is_answered_and_billed_once(
    tmp_path: Path, form: str, fault: str
) -> None:
    shares: dict[str, Any] = {fault: 0.4}
    fake = faulty(dialect=DIALECT_OF[form], **shares)
    async with at_work(fake, tmp_path, dialect=DIALECT_OF[form]) as client:
        await ask_all(client, 9)
    counted = accounts(tmp_path)
    assert (len(fake.invoice.lines), counted["answered"]) == (9, 9)
    assert counted.keys() <= {"answered", "lost"}
    assert ("lost" in counted) == (fault in ("lost", "line_missing"))


@in_every_form
@pytest.mark.parametrize("moment", ["upload", "create", "batch", "lines"])
async def test_a_sender_that_ends_at_any_moment_is_followed_by_one_that_sends_nothing_twice(
    tmp_path: Path, form: str, moment: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake, reached = faulty(dialect=DIALECT_OF[form]), asyncio.Event()
    call = getattr(API_OF[form], moment)

    async def hanging(*arguments: object) -> None:
        if moment != "lines":
            await call(*arguments)
        reached.set()
        await asyncio.Event().wait()

    async def hanging_lines(*arguments: object) -> object:
        async for line in call(*arguments):
            yield line
            await hanging()

    async with fake.serving("127.0.0.1:0") as url:
        models = models_at(url, dialect=DIALECT_OF[form])
        async with waiting(models, tmp_path) as client:
            answers = asyncio.create_task(ask_all(client, 3))
            with monkeypatch.context() as patch:
                patch.setattr(API_OF[form], moment, hanging_lines if moment == "lines" else hanging)
                async with sending(models, tmp_path), asyncio.timeout(120):
                    await reached.wait()
            async with sending(models, tmp_path):
                assert len(await answers) == 3
    assert (sizes(fake), len(fake.invoice.lines), accounts(tmp_path)) == ([3], 3, {"answered": 3})


@in_every_form
@pytest.mark.parametrize("moment", ["upload", "create", "batch", "delete"])
async def test_a_call_about_a_batch_that_fails_is_made_again(
    tmp_path: Path, form: str, moment: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake, call = faulty(dialect=DIALECT_OF[form]), getattr(API_OF[form], moment)
    failed: list[str] = []

    async def failing_once(*arguments: object) -> object:
        if not failed:
            failed.append(moment)
            raise Overloaded("503")
        return await call(*arguments)

    monkeypatch.setattr(API_OF[form], moment, failing_once)
    async with at_work(fake, tmp_path, dialect=DIALECT_OF[form]) as client:
        assert len(await ask_all(client, 3)) == 3
        await until(lambda: bool(failed))
    assert (sizes(fake), len(fake.invoice.lines)) == ([3], 3)


@in_every_form
async def test_a_request_that_keeps_failing_ends_like_a_single_one(tmp_path: Path, form: str) -> None:
    fake = faulty(dialect=DIALECT_OF[form], line_failed=1.0)
    async with at_work(fake, tmp_path, dialect=DIALECT_OF[form], batch_age=0.02) as client:
        with pytest.raises(ModelFailed, match=f"failed at the same request in {TRIES} batches: 500"):
            await ask_all(client, 1)
    assert (sizes(fake), accounts(tmp_path)) == ([1] * TRIES, {})


async def test_what_an_endpoint_refuses_is_left_out_in_batches_too(tmp_path: Path) -> None:
    fake = faulty(dialect="openai-reasoning")
    async with at_work(fake, tmp_path, dialect="openai") as client:
        await ask_all(client, 3)
    assert fake.refused > 0
    assert (len(fake.invoice.lines), accounts(tmp_path)) == (3, {"answered": 3})


async def test_an_endpoint_without_batches_ends_the_run_in_one_sentence(tmp_path: Path) -> None:
    async with faulty(dialect="vllm").serving("127.0.0.1:0") as url:
        models = models_at(url)
        async with sending(models, tmp_path) as senders, waiting(models, tmp_path) as client:
            asking = asyncio.create_task(ask_all(client, 3))
            await until(lambda: senders.statuses[0].refused)
            assert "has no batches (POST" in senders.statuses[0].error
            assert senders.statuses[0].error.endswith("ask it without batch")
            asking.cancel()


@in_every_form
async def test_what_a_run_no_longer_needs_is_cancelled_and_what_was_worked_on_is_counted(
    tmp_path: Path, form: str
) -> None:
    fake, spending = faulty(dialect=DIALECT_OF[form]), Spending(tmp_path / "spending.sqlite")
    async with fake.serving("127.0.0.1:0") as url:
        models = models_at(url, dialect=DIALECT_OF[form])
        async with open_senders(models, spending, tmp_path) as senders, waiting(models, tmp_path) as client:
            sending = asyncio.create_task(senders.run())
            asking = asyncio.create_task(ask_all(client, 3))
            await until(lambda: bool(sizes(fake)))
            await senders.settle()
            assert sending.cancelled()
            assert senders.statuses[0].batches == 0
            asking.cancel()
    assert accounts(tmp_path).get("answered", 0) == len(fake.invoice.lines)


FAR = models_at("http://far/v1").endpoints[NAME]


@pytest.fixture
def table(tmp_path: Path) -> BatchTable:
    return BatchTable(Spending(tmp_path / "spending.sqlite"))


def test_nothing_is_asked_once_a_budget_is_used_up(tmp_path: Path, table: BatchTable) -> None:
    table.ask(NAME, FAR, asked(1), {"model": "large"})
    Spending(tmp_path / "spending.sqlite").limit(Budget(tokens=0))
    with pytest.raises(BudgetUsed):
        table.ask(NAME, FAR, asked(2), {"model": "large"})
    with pytest.raises(BudgetUsed):
        table.fill(NAME, 10, 1_000)
    assert table.waiting(NAME).requests == 1
    # What is asked already needs no budget.
    table.ask(NAME, FAR, asked(1), {"model": "large"})


@in_every_form
async def test_a_batch_that_had_not_gone_when_the_budget_was_used_up_goes_with_a_higher_one(
    tmp_path: Path, form: str
) -> None:
    fake, spending = faulty(dialect=DIALECT_OF[form]), Spending(tmp_path / "spending.sqlite")
    async with fake.serving("127.0.0.1:0") as url:
        models = models_at(url, dialect=DIALECT_OF[form])
        async with waiting(models, tmp_path) as client:
            asking = asyncio.create_task(ask_all(client, 4))
            table = BatchTable(spending)
            await until(lambda: table.waiting(NAME).requests == 4)
            table.fill(NAME, 3, 1_000_000)
            spending.limit(Budget(tokens=0))
            async with sending(models, tmp_path) as senders:
                # The sender has looked, and says what waits.
                labels = {"endpoint": NAME}
                await until(lambda: REGISTRY.get_sample_value("soliloquy_model_unbatched_requests", labels) == 4)
                assert (fake.batches.made, senders.statuses[0].batches, senders.statuses[0].error) == ([], 0, "")
                spending.limit(Budget(tokens=1_000_000))
                await asking
    assert sizes(fake) == [3, 1]
    assert accounts(tmp_path) == {"answered": 4}


def test_a_batch_holds_no_more_bytes_than_it_may(table: BatchTable) -> None:
    for seed in range(5):
        table.ask(NAME, FAR, asked(seed), {"model": "large", "text": "x" * 1_000})
    for _ in range(3):
        table.fill(NAME, 10, 2_500)
    assert [batch.requests for batch in table.open_batches(NAME)] == [2, 2, 1]


def answer(request: str, **body: Any) -> Line:
    line = line_of({"custom_id": request, "response": {"status_code": 200, "body": body}}, "large")
    assert line
    return line


def test_an_answer_is_taken_in_and_billed_once(tmp_path: Path, table: BatchTable) -> None:
    request = table.ask(NAME, FAR, asked(1), {"model": "large"})
    batch = table.fill(NAME, 1, 1_000)
    said = answer(request, choices=[{"message": {"content": "yes"}, "finish_reason": "stop"}])
    for _ in range(2):
        table.take_in(batch, FAR, [said, said])
    assert accounts(tmp_path) == {"answered": 1}
    assert [number for number, _ in table.replied(0)] == [1]


def test_an_answer_that_cannot_be_read_may_have_its_cost_and_is_asked_again(tmp_path: Path, table: BatchTable) -> None:
    request = table.ask(NAME, FAR, asked(1), {"model": "large"})
    for tries in range(1, TRIES + 1):
        batch = table.fill(NAME, 1, 1_000)
        for _ in range(2):
            table.take_in(batch, FAR, [answer(request, choices="none")])
        table.end(batch, ENDED)
        assert accounts(tmp_path) == {"lost": tries}
    assert table.reply(request) == (500, b"no answer that can be read")
    assert table.waiting(NAME).requests == 0


def test_ids_of_requests_are_short_and_tell_requests_apart() -> None:
    bodies = ({"model": "large"}, {"model": "large", "seed": 1})
    ids = {request_id(asked(seed), body) for seed in (1, 2**64 - 1) for body in bodies}
    assert len(ids) == 4
    assert max(map(len, ids)) <= 64
