from collections.abc import Iterator

import pytest

from tests.images import built, registry


@pytest.fixture(scope="session")
def digests() -> Iterator[dict[str, str]]:
    built.install()
    with registry.serving():
        yield built.build()
