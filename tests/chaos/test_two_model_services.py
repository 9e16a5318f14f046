"""Two model services on one host answer their own callers and nobody else's."""

import asyncio
from collections import Counter
from pathlib import Path

import pytest

from tests.integration.model.serving import Service, request

CHANNELS, CALLS = 20, 5


async def _answering(service: Service) -> Counter[str]:
    """Counts the answers of each replica; each channel is balanced anew."""
    found: Counter[str] = Counter()
    for _ in range(CHANNELS):
        async with service.client() as stub:
            for _ in range(CALLS):
                found[(await stub.Generate(request(), timeout=20)).model] += 1
    return found


@pytest.mark.timeout(600)
def test_two_services_on_one_host_answer_their_own_callers(tmp_path: Path) -> None:
    adapter = tmp_path / "adapter"
    adapter.mkdir()
    (adapter / "adapter_model.safetensors").write_text("one")
    one = Service(adapter)
    try:
        one.line()
        alone = asyncio.run(_answering(one))
        other = Service(adapter)
        try:
            other.line()
            beside, others = asyncio.run(_answering(one)), asyncio.run(_answering(other))
        finally:
            other.end()
    finally:
        one.end()
    assert beside.keys() == alone.keys()
    assert not beside.keys() & others.keys()
    assert beside.total() == others.total() == CHANNELS * CALLS
