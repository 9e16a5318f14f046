"""Taking up where everything stands."""

from collections.abc import AsyncGenerator, Collection, Mapping
from pathlib import Path

from google.protobuf.message import Message

from soliloquy.runtime.events import first_event
from soliloquy.runtime.transports.embedded import EmbeddedTransport
from soliloquy.runtime.transports.port import Delivery, Unanswered
from soliloquy.v1.events_pb2 import RunChanged
from soliloquy.v1.runs_pb2 import Run
from soliloquy_services.gateway.topics import TopicFollower


class Faltering(EmbeddedTransport):
    """Gives no answer behind the first event that is read."""

    faltered = False

    async def read(
        self, topic: str, numbers: Collection[int] | None = None, starts: Mapping[int, int] | None = None
    ) -> AsyncGenerator[Delivery, None]:
        async for delivery in super().read(topic, numbers, starts):
            yield delivery
            if not self.faltered:
                self.faltered = True
                raise Unanswered("it is away")


async def test_what_was_heard_before_a_fault_is_not_heard_again(tmp_path: Path) -> None:
    heard = []

    def hear(message: Message, at: float) -> None:
        assert isinstance(message, RunChanged)
        heard.append(message.run.id)

    async with Faltering(tmp_path / "log.sqlite") as log:
        runs = [RunChanged(run=Run(id=name)) for name in "abcdef"]
        await log.publish([first_event(changed, source="gateway", time=1.0) for changed in runs])
        await TopicFollower(log, hear).catch_up()
        assert log.faltered
    assert sorted(heard) == list("abcdef")
