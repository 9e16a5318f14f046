"""Which conversations a reconnected tail yields."""

from collections.abc import AsyncIterator

from soliloquy.client.async_runs import SeenConversations
from soliloquy.v1.gateway_pb2 import FinishedConversation


def finished(number: int) -> FinishedConversation:
    """One a second."""
    return FinishedConversation(id=str(number), finished_at=1_000.0 + number)


async def listed(numbers: range) -> AsyncIterator[FinishedConversation]:
    """The latest first, as a gateway lists them."""
    for number in reversed(numbers):
        yield finished(number)


async def missed(seen: SeenConversations, numbers: range) -> list[int]:
    return [int(each.id) for each in await seen.missed(listed(numbers))]


async def test_a_conversation_from_before_the_tail_is_never_yielded() -> None:
    seen = SeenConversations()
    await seen.begin(listed(range(100)))
    assert await missed(seen, range(103)) == [100, 101, 102]


async def test_a_conversation_that_finishes_meanwhile_is_yielded_once_and_in_order() -> None:
    seen = SeenConversations()
    await seen.begin(listed(range(10)))
    assert [seen.is_unseen(finished(number)) for number in (10, 11, 12, 11)] == [True, True, True, False]
    assert await missed(seen, range(300)) == list(range(13, 300))
    assert not seen.is_unseen(finished(299))
    assert seen.is_unseen(finished(300))


async def test_a_tail_of_a_run_that_had_nothing_misses_nothing() -> None:
    seen = SeenConversations()
    await seen.begin(listed(range(0)))
    assert await missed(seen, range(200)) == list(range(200))
