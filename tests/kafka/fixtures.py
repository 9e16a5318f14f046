"""Fixtures for conftest files: a Kafka for the tests, which skip without one; in CI they fail."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

import pytest

from tests.kafka.cluster import KafkaCluster
from tests.kafka.jars import KafkaUnavailable, class_path, java


def required() -> None:
    """For a test that needs a broker of this machine."""
    try:
        java()
        class_path()
    except KafkaUnavailable as error:
        _missing(error)


@contextmanager
def started(cluster: KafkaCluster) -> Iterator[KafkaCluster]:
    """For a test that has a cluster of its own."""
    try:
        cluster.start()
    except KafkaUnavailable as error:
        _missing(error)
    try:
        yield cluster
    finally:
        cluster.stop()


def _missing(error: KafkaUnavailable) -> NoReturn:
    if os.environ.get("CI"):
        pytest.fail(f"no Kafka, which CI must have: {error}", pytrace=False)
    pytest.skip(f"no Kafka: {error}")


@pytest.fixture(scope="session")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Returns the session's Kafka: the one that KAFKA_BOOTSTRAP names, or one broker that all tests share."""
    if bootstrap := os.environ.get("KAFKA_BOOTSTRAP"):
        yield bootstrap
    else:
        with started(KafkaCluster(tmp_path_factory.mktemp("kafka"))) as cluster:
            yield cluster.bootstrap
