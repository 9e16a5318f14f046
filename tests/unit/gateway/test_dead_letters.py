import asyncio
from collections.abc import AsyncGenerator, Collection, Mapping
from pathlib import Path

import pytest

from soliloquy.runtime.reading import replay
from soliloquy.runtime.retry import dead
from soliloquy.runtime.transports.embedded.transport import EmbeddedTransport
from soliloquy.runtime.transports.port import Delivery
from soliloquy_services.gateway.dead_letters import DeadLetters, cause_of
from tests.integration.transport.support import started


class SlowLog(EmbeddedTransport):
    """Waits before a read ends while `open` is not set."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.open = asyncio.Event()
        self.is_waiting = asyncio.Event()

    async def read(
        self, topic: str, numbers: Collection[int] | None = None, starts: Mapping[int, int] | None = None
    ) -> AsyncGenerator[Delivery, None]:
        async for delivery in super().read(topic, numbers, starts):
            yield delivery
        self.is_waiting.set()
        await self.open.wait()


@pytest.mark.parametrize(
    ("error", "cause"),
    [
        ("OSError: no route to 10.0.0.7:8000", "OSError: no route to …"),
        ("Refused: problem 4 breaks whatever touches it", "Refused: problem … breaks whatever touches it"),
        ("conversation 0ce0077b6b4514d628209771-dade1803 is lost", "conversation … is lost"),
        ("a deadbeef is no number\nTraceback 1", "a deadbeef is no number"),
        ("waited 1,200.5 s", "waited … s"),
        ("x" * 300, "x" * 200),
        ("", ""),
    ],
)
def test_a_cause_is_the_first_line_without_what_differs_between_letters(error: str, cause: str) -> None:
    assert cause_of(error) == cause


async def test_a_slow_refresh_does_not_overwrite_the_letters_of_a_later_one(tmp_path: Path) -> None:
    async with SlowLog(tmp_path / "log") as transport, EmbeddedTransport(tmp_path / "log") as another:
        await transport.publish([dead(started("c1"), RuntimeError("nobody was there"))])
        letters = DeadLetters(transport)
        earlier = asyncio.create_task(letters.refresh())
        await transport.is_waiting.wait()
        await replay(another, ())
        later = asyncio.create_task(letters.refresh(at_once=True))
        await asyncio.wait({later}, timeout=0.1)
        transport.open.set()
        await asyncio.gather(earlier, later)
        assert list(letters.chosen()) == []
