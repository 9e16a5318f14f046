"""A person's own words: the stand-in judges only what the reader of all messages can read, and asks otherwise."""

import pytest

from tests.integration.chat.journeys.grading import Graded, graded, journeys
from tests.integration.chat.support import Room, room
from tests.integration.executor.support import needs_runsc

pytestmark = [needs_runsc, pytest.mark.asyncio(loop_scope="session")]

# This share of messages gets the reply that a fair tutor gives; to most others it asks what is meant.
_FAIR_SHARE = 0.75
# The reader of all messages takes so many numbers for right that nobody meant as an answer.
_MISREAD = 0.01


async def replies(opened: Room, name: str) -> list[Graded]:
    return [one for journey in journeys(name) for one in [one async for one in graded(opened, journey)]]


@pytest.mark.parametrize("name", [pytest.param("first", marks=pytest.mark.thorough), "second", "third"])
async def test_nobody_is_told_wrong_for_words_that_cannot_be_read_nor_right_without_a_calculation(
    sandbox: str, name: str
) -> None:
    async with room(sandbox) as opened:
        found = await replies(opened, name)
    harm = [(one.message, one.harm, one.reply) for one in found if one.harm]
    assert len(harm) <= _MISREAD * len(found), harm
    unmet = [(one.message, one.due, one.did) for one in found if not one.met]
    assert len(unmet) <= (1 - _FAIR_SHARE) * len(found), unmet


async def test_a_right_student_of_the_pulley_is_told_so_at_once(sandbox: str) -> None:
    async with room(sandbox) as opened:
        [first, second] = [one async for one in graded(opened, next(journeys("first")))]
    assert (first.did, first.proven, second.did, second.proven) == ("confirm", True, "confirm", True)
