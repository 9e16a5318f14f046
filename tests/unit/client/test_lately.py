"""What a tail that is taken up again tells of."""

from collections.abc import AsyncIterator

from soliloquy.client.lately import Lately
from soliloquy.v1.gateway_pb2 import FinishedConversation


def finished(number: int) -> FinishedConversation:
    """One a second."""
    return FinishedConversation(id=str(number), finished_at=1_000.0 + number)


async def listed(numbers: range) -> AsyncIterator[FinishedConversation]:
    """The latest first, as a gateway lists them."""
    for number in reversed(numbers):
        yield finished(number)


async def missed(lately: Lately, numbers: range) -> list[int]:
    return [int(each.id) for each in await lately.missed(listed(numbers))]


async def test_what_was_there_before_the_tail_is_never_told() -> None:
    lately = Lately()
    assert await missed(lately, range(100)) == []
    assert await missed(lately, range(103)) == [100, 101, 102]


async def test_what_finishes_meanwhile_is_told_once_and_in_its_order() -> None:
    lately = Lately()
    assert await missed(lately, range(10)) == []
    assert [lately.is_news(finished(number)) for number in (10, 11, 12, 11)] == [True, True, True, False]
    assert await missed(lately, range(300)) == list(range(13, 300))
    assert not lately.is_news(finished(299))
    assert lately.is_news(finished(300))


async def test_a_tail_of_a_run_that_had_nothing_misses_nothing() -> None:
    lately = Lately()
    assert await missed(lately, range(0)) == []
    assert await missed(lately, range(200)) == list(range(200))
