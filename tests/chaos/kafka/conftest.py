"""Shares a broker among the fault tests that do it no harm, and the datasets that all of them must produce."""

from collections.abc import Callable

import pytest

from tests.e2e.runs import dataset, grown

Undisturbed = Callable[[int], dict[str, bytes]]


@pytest.fixture(scope="session")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Undisturbed:
    """Generates the reference dataset without Kafka and without faults."""
    folder = tmp_path_factory.mktemp("undisturbed")

    def of(conversations: int) -> dict[str, bytes]:
        out = folder / str(conversations)
        grown(out, conversations=conversations)
        return dataset(out)

    return of
