"""Which tests run in one process, where several share them: those of a file, and of files that start the same."""

import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

# What takes seconds to start, or torch to load, is there once and not once a process. The group of a file, by its path.
TOGETHER = {
    "kafka": ("tests/integration/kafka/", "tests/integration/traces/test_kafka.py", "tests/integration/transport/"),
    # A broker more: the two of them in one process would end long after all others.
    "services": ("tests/integration/gateway/", "tests/integration/observability/"),
    "torch": (
        "tests/integration/model/",
        "tests/integration/adapters/",
        "tests/integration/training/",
        "tests/integration/benchmarks/test_engine.py",
    ),
    "sandboxes": ("tests/integration/executor/",),
    "console": ("tests/e2e/console/",),
}


class Sharing(LoadScopeScheduling):
    def _split_scope(self, nodeid: str) -> str:
        file, _, _ = nodeid.partition("::")
        return next((group for group, folders in TOGETHER.items() if file.startswith(folders)), file)


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> Sharing:
    return Sharing(config, log)
