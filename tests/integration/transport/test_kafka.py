"""Kafka holds the contract, and what only a broker between processes can promise."""

from functools import partial

import pytest

from tests.integration.transport.contract import TransportContract
from tests.integration.transport.kafka import connect as open_kafka
from tests.integration.transport.kafka import fresh_address
from tests.integration.transport.recovery import RecoveryContract
from tests.integration.transport.runs import RunsContract
from tests.integration.transport.support import Connect


@pytest.fixture
async def address(kafka: str) -> str:
    return await fresh_address(kafka)


@pytest.fixture
def adapter() -> str:
    return "tests.integration.transport.kafka"


@pytest.fixture
def connect(address: str) -> Connect:
    return partial(open_kafka, address)


class TestKafka(TransportContract):
    pass


class TestKafkaRuns(RunsContract):
    pass


class TestKafkaRecovery(RecoveryContract):
    # The 16 that a worker runs at once, and as many whose outputs were out before their positions were.
    repeats_after_a_kill = 32
