"""The gateway on Kafka."""

from functools import partial

import pytest

from tests.integration.gateway.contract import FINISHED, LogContract, last_of, under_way
from tests.integration.gateway.deletion_contract import DeletionContract
from tests.integration.gateway.support import Collecting, asked, growing, opened, status_of
from tests.integration.transport.kafka import changing_topics, fresh_address
from tests.integration.transport.kafka import connect as open_kafka
from tests.integration.transport.support import Connect
from tests.waiting import until

TOPICS = (
    "problem.submitted",
    "conversation.started",
    "conversation.collected",
    "conversation.finished",
    "run.held",
    "run.standing",
    "run.changed",
    "run.stored",
    "run.cancelled",
    "call.audited",
)


@pytest.fixture
async def address(kafka: str) -> str:
    return await fresh_address(kafka, TOPICS)


@pytest.fixture
def connect(address: str) -> Connect:
    return partial(open_kafka, address)


class TestOnKafka(LogContract, DeletionContract):
    pass


async def test_a_run_names_a_topic_that_is_gone_and_the_next_one_ends_well_once_it_is_back(
    connect: Connect, address: str
) -> None:
    collecting = Collecting()
    async with (
        connect() as transport,
        growing(transport, collecting),
        opened(transport) as gateway,
        changing_topics(address) as topics,
    ):
        first = await gateway.start_run(asked("first"))
        assert (await last_of(gateway, first.id)).state == FINISHED
        collecting.open.clear()
        run = await gateway.start_run(asked("lost", conversations=20))
        await until(lambda: under_way(gateway, run.id, 4))
        for topic in ("conversation.collected", "run.standing"):
            await topics.delete(topic)

        async def because() -> str:
            return (await status_of(gateway, run.id)).because

        async def is_named() -> bool:
            return "conversation.collected, run.standing are missing" in await because()

        await until(is_named)
        for topic in ("conversation.collected", "run.standing"):
            await topics.make(topic)
        collecting.open.set()
        last = await gateway.start_run(asked("last"))
        assert (await last_of(gateway, last.id)).state == FINISHED

        async def is_over() -> bool:
            return await because() == ""

        await until(is_over)
