"""Assigns tests to test processes: those of one file together, and files that share a slow start, such as a broker."""

import logging
import os
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

from soliloquy.runtime import logs

# Imported here alone: each further import would be a fixture, and a broker, of its own.
from tests.kafka.fixtures import kafka as kafka

# A broker, a sandbox or torch takes seconds to start: each starts in one process only. Maps a group to its paths.
TOGETHER = {
    "kafka": ("tests/integration/kafka/", "tests/integration/traces/test_kafka.py", "tests/integration/transport/"),
    # These use a second broker: both groups in one process would finish long after all others.
    "services": ("tests/integration/gateway/", "tests/integration/observability/"),
    "torch": (
        "tests/integration/model/",
        "tests/integration/adapters/",
        "tests/integration/training/",
        "tests/integration/benchmarks/test_engine.py",
    ),
    "sandboxes": ("tests/integration/executor/",),
    "console": ("tests/e2e/console/",),
    "report": ("tests/e2e/report/",),
}


# A busy machine is slow, and finds no fault by it. A landing fails for what it changes, not for a new draw.
settings.register_profile(
    "patient", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize="CI" in os.environ
)
settings.load_profile("patient")


class Sharing(LoadScopeScheduling):
    def _split_scope(self, nodeid: str) -> str:
        file, _, _ = nodeid.partition("::")
        return next((group for group, folders in TOGETHER.items() if file.startswith(folders)), file)


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> Sharing:
    return Sharing(config, log)


@pytest.fixture(autouse=True)
def restored_logging() -> Iterator[None]:
    """Undoes what commands called in this process set up: their handlers would write into later tests' output."""
    root, loggers = logging.getLogger(), [logging.getLogger(name) for name in ("", *logs.OURS)]
    handlers, levels = [*root.handlers], [log.level for log in loggers]
    yield
    root.handlers = handlers
    for log, level in zip(loggers, levels, strict=True):
        log.setLevel(level)
