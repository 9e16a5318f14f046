"""Sources of new conversations for retraining: a topic, or a growing dataset."""

import asyncio
import time
from collections.abc import Callable
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from soliloquy.dataset.reading import Dataset, MissingDataset
from soliloquy.runtime.transports.kafka import KafkaSettings
from soliloquy.runtime.transports.opening import open_transport
from soliloquy_training.freeze import FINISHED, AcceptedFilter, LeaveOut, finished_in, freeze, freeze_topic

# The pause between two reads of a growing dataset.
LOOK_SECONDS = 2.0

Tell = Callable[[int], None]


@dataclass(frozen=True, kw_only=True, slots=True)
class SourceSpan:
    """Delimits what a round reads: from after the previous round's end up to and including its own, as JSON values."""

    conversations: int
    begin: Any
    end: Any
    # Offsets that were deleted before they were read.
    missed: int = 0


class Source(Protocol):
    @property
    def name(self) -> str: ...

    def next(self, after: Any, wanted: int, leave_out: LeaveOut, tell: Tell) -> SourceSpan:
        """Waits for so many conversations to learn from after the place; reports their number to `tell`."""

    def freeze(self, span: SourceSpan, folder: Path, leave_out: LeaveOut) -> None: ...


@dataclass(frozen=True, kw_only=True, slots=True)
class TopicSource:
    """Its begins and ends are offsets by partition number."""

    kafka: KafkaSettings

    @property
    def name(self) -> str:
        return self.kafka.prefix + FINISHED

    def next(self, after: dict[str, int] | None, wanted: int, leave_out: LeaveOut, tell: Tell) -> SourceSpan:
        return asyncio.run(
            self._next({int(number): at for number, at in (after or {}).items()}, wanted, leave_out, tell)
        )

    def freeze(self, span: SourceSpan, folder: Path, leave_out: LeaveOut) -> None:
        asyncio.run(self._freeze(span, folder, leave_out))

    async def _next(self, after: dict[int, int], wanted: int, leave_out: LeaveOut, tell: Tell) -> SourceSpan:
        sieve, found = AcceptedFilter(leave_out), 0
        begins, ends = dict(after), dict(after)
        async with open_transport(self.kafka) as transport, aclosing(transport.follow(FINISHED, after)) as deliveries:
            async for delivery in deliveries:
                number = delivery.partition.number
                if ends.get(number) == after.get(number):
                    # Later than the previous end if Kafka deleted the offsets between.
                    begins[number] = delivery.offset
                ends[number] = delivery.offset + 1
                conversation = finished_in(delivery)
                if conversation is not None and sieve.lets_through(conversation):
                    found += 1
                    tell(found)
                    if found == wanted:
                        break
        # A topic that was made anew begins before the previous end.
        missed = sum(max(0, begins[number] - at) for number, at in after.items())
        return SourceSpan(conversations=found, begin=_as_json(begins), end=_as_json(ends), missed=missed)

    async def _freeze(self, span: SourceSpan, folder: Path, leave_out: LeaveOut) -> None:
        begins, ends = ({int(number): at for number, at in offsets.items()} for offsets in (span.begin, span.end))
        async with open_transport(self.kafka) as transport:
            await freeze_topic(transport, ends, folder, begins=begins, leave_out=leave_out)


@dataclass(frozen=True, kw_only=True, slots=True)
class DatasetSource:
    """Its begins and ends are places of rows."""

    data: str

    @property
    def name(self) -> str:
        return self.data

    def next(self, after: str | None, wanted: int, leave_out: LeaveOut, tell: Tell) -> SourceSpan:
        count = None
        while True:
            dataset = self._opened()
            if dataset and count != (count := dataset.count()):
                found = 0
                # From the beginning, so that a later read up to the same place comes by the same rows.
                for place, conversation in dataset.placed(after=after):
                    found += not leave_out(conversation)
                    tell(found)
                    if found == wanted:
                        return SourceSpan(conversations=found, begin=after, end=place)
            time.sleep(LOOK_SECONDS)

    def freeze(self, span: SourceSpan, folder: Path, leave_out: LeaveOut) -> None:
        rows = Dataset(self.data).placed(after=span.begin, last=span.end)
        found = (conversation for _, conversation in rows if not leave_out(conversation))
        freeze(found, folder, {"after": span.begin, "last": span.end})

    def _opened(self) -> Dataset | None:
        """Returns None before the first conversation is written."""
        try:
            return Dataset(self.data)
        except MissingDataset:
            return None


def _as_json(offsets: dict[int, int]) -> dict[str, int]:
    return {str(number): at for number, at in sorted(offsets.items())}
