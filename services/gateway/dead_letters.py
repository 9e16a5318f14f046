"""Reads dead letters, groups them by their causes, and replays them."""

import asyncio
import re
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence

from soliloquy.runtime import reading
from soliloquy.runtime.events import (
    ConversationEvent,
    Event,
    RunEvent,
    Undecodable,
    message_of,
    ordinal_of,
    run_key,
    run_of,
)
from soliloquy.runtime.topics import origin
from soliloquy.runtime.transports.port import Transport
from soliloquy.v1.gateway_pb2 import (
    DeadLetter,
    DeadLetterCause,
    ListDeadLetterCausesRequest,
    ListDeadLetterCausesResponse,
    ListDeadLettersRequest,
    ListDeadLettersResponse,
)
from soliloquy_services.gateway.requests import LARGEST_SIZE, page

# The most letters that one call replays.
MOST_REPLAYED = 500
# After reading all letters, wait this many times as long as that took.
REST = 10
# Numbers, addresses and digests, which differ between errors of one cause.
_VARIABLE = re.compile(r"\b(?=[0-9a-f-]*\d)[0-9a-f-]{8,}\b|\d+(?:[.:,]\d+)*")
_CAUSE_CHARACTERS = 200


class DeadLetters:
    def __init__(self, transport: Transport, sees: Callable[[str], bool] = lambda _: True) -> None:
        """`sees` tells by the id of a run whether the current caller sees its letters."""
        self._transport = transport
        self._sees = sees
        self.counts: Mapping[str, int] = {}
        # For each run, the ordinals of its dead problems.
        self.ordinals: Mapping[str, set[int]] = {}
        self._letters: Sequence[DeadLetter] = ()
        self._rests_until = 0.0
        # A slow refresh must not overwrite the letters that a later one has read.
        self._refreshing = asyncio.Lock()

    async def refresh(self, *, at_once: bool = False) -> None:
        """Reads the letters again if their counts have changed; raises Unanswered."""
        async with self._refreshing:
            await self._refresh(at_once=at_once)

    async def _refresh(self, *, at_once: bool) -> None:
        counts = await self._transport.dead_letters()
        if not at_once and (counts == self.counts or time.monotonic() < self._rests_until):
            return
        started = time.monotonic()
        rows: list[DeadLetter] = []
        ordinals: defaultdict[str, set[int]] = defaultdict(set)
        if counts:
            async for letter in reading.letters(self._transport):
                row, ordinal = _row(letter.event)
                rows.append(row)
                if ordinal is not None:
                    ordinals[row.run].add(ordinal)
        self.counts, self._letters, self.ordinals = counts, rows, ordinals
        self._rests_until = time.monotonic() + REST * (time.monotonic() - started)

    def listed(self, request: ListDeadLettersRequest) -> ListDeadLettersResponse:
        chosen = self.chosen(request.run, request.cause)
        rows, token = page(chosen, lambda letter: (letter.made_at, letter.id), request.page_size, request.page_token)
        return ListDeadLettersResponse(letters=rows, next_page_token=token)

    def causes(self, request: ListDeadLetterCausesRequest) -> ListDeadLetterCausesResponse:
        groups: defaultdict[str, list[DeadLetter]] = defaultdict(list)
        for letter in self.chosen(request.run):
            groups[letter.cause].append(letter)
        largest = sorted(groups.items(), key=lambda group: (-len(group[1]), group[0]))[:LARGEST_SIZE]
        return ListDeadLetterCausesResponse(causes=[_group(cause, letters) for cause, letters in largest])

    def chosen(self, run: str = "", cause: str = "", ids: Collection[str] = ()) -> list[DeadLetter]:
        """Returns the letters that the caller sees: of this run, this cause and these ids, or of all if it is empty."""
        return [
            letter
            for letter in self._letters
            if run in (letter.run, "")
            and cause in (letter.cause, "")
            and (not ids or letter.id in ids)
            and self._sees(letter.run)
        ]


def cause_of(error: str) -> str:
    """Returns the first line of an error with an ellipsis for each number and id."""
    first, *_ = error.strip().splitlines() or [""]
    return _VARIABLE.sub("…", first)[:_CAUSE_CHARACTERS]


def _group(cause: str, letters: Sequence[DeadLetter]) -> DeadLetterCause:
    latest = max(letters, key=lambda letter: letter.made_at)
    return DeadLetterCause(
        cause=cause,
        letters=len(letters),
        error=latest.error,
        topics=sorted({letter.topic for letter in letters}),
        runs=len({letter.run for letter in letters}),
        first_at=min(letter.made_at for letter in letters),
        last_at=latest.made_at,
    )


def _row(event: Event) -> tuple[DeadLetter, int | None]:
    """Returns the letter and its problem's ordinal; None where the event does not tell."""
    row = DeadLetter(
        id=event.id,
        topic=origin(event.topic),
        made_at=event.time,
        attempt=event.attempt,
        error=event.error,
        # An error without a text is a cause too, and an empty field would stand for all causes.
        cause=cause_of(event.error) or "no error message",
    )
    try:
        message = message_of(event)
    except Undecodable:
        return row, None
    assert isinstance(message, ConversationEvent | RunEvent)
    row.run = run_key(run_of(message))
    if isinstance(message, ConversationEvent):
        row.conversation = message.conversation.id
    return row, ordinal_of(message)
