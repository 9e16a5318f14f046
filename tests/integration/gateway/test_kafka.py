"""The gateway on Kafka."""

from functools import partial

import pytest

from tests.integration.gateway.contract import LogContract
from tests.integration.transport.kafka import connect as open_kafka
from tests.integration.transport.kafka import fresh_address
from tests.integration.transport.support import Connect

TOPICS = (
    "problem.submitted",
    "conversation.started",
    "conversation.collected",
    "conversation.finished",
    "run.standing",
    "run.changed",
    "run.stored",
    "run.cancelled",
)


@pytest.fixture
async def connect(kafka: str) -> Connect:
    return partial(open_kafka, await fresh_address(kafka, TOPICS))


class TestOnKafka(LogContract):
    pass
