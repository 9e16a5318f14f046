"""What the fault tests share: a broker for those that do it no harm, and the datasets that all must come to."""

from collections.abc import Callable

import pytest

from tests.e2e.runs import dataset, grown
from tests.kafka.fixtures import kafka as kafka

Undisturbed = Callable[[int], dict[str, bytes]]


@pytest.fixture(scope="session")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Undisturbed:
    """The dataset of so many conversations, grown without Kafka and without a fault."""
    folder = tmp_path_factory.mktemp("undisturbed")

    def of(conversations: int) -> dict[str, bytes]:
        out = folder / str(conversations)
        grown(out, conversations=conversations)
        return dataset(out)

    return of
