from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from soliloquy.v1.conversation_pb2 import Conversation, Ending, Summary
from soliloquy.v1.dataset_pb2 import Origin
from soliloquy.v1.events_pb2 import ConversationCollected
from soliloquy.v1.gateway_pb2 import ListConversationsRequest, Verdict
from soliloquy.v1.runs_pb2 import Run
from soliloquy_services.gateway.index import Index
from soliloquy_services.gateway.refusals import Refusal

RUN = Run(id="r", growing="g", max_attempts=2)


def collected(number: int, *reasons: str, attempt: int = 0, question: str = "", **fields: Any) -> ConversationCollected:
    conversation = Conversation(id=f"c{number}-{attempt}", run=RUN, ordinal=number, attempt=attempt, **fields)
    summary = Summary(topic="Straße", question=question, flags=len(reasons))
    return ConversationCollected(
        conversation=conversation,
        accepted=not reasons,
        reasons=reasons,
        summary=summary,
        finished=Origin(topic="t", partition=1, offset=number),
    )


@pytest.fixture
def index() -> Iterator[Index]:
    with closing(Index()) as opened:
        for number in range(10):
            reasons = ["length: turn 2: long"] if number % 3 == 0 else []
            opened.add(collected(number, *reasons, question=f"How many % of _apples_ {number}?"), at=float(number))
        yield opened


def test_the_first_problems_of_a_run_come_in_their_order_with_all_their_attempts(index: Index) -> None:
    index.add(collected(3, attempt=1), at=20.0)
    found = [(one.ordinal, one.attempt) for one in index.beginning("r-g", 5)]
    assert found == [(0, 0), (1, 0), (2, 0), (3, 0), (3, 1), (4, 0)]
    assert index.beginning("another", 5) == []


def ordinals(index: Index, **asked: Any) -> list[int]:
    listed = index.listed(ListConversationsRequest(run="r-g", **asked))
    return [one.ordinal for one in listed.conversations]


def test_what_is_announced_again_is_not_counted_again(index: Index) -> None:
    assert index.add(collected(4), at=99.0) is None
    assert index.listed(ListConversationsRequest(run="r-g")).total == 10


def test_pages_hold_all_with_the_latest_first_and_say_how_many_there_are(index: Index) -> None:
    first = index.listed(ListConversationsRequest(run="r-g", page_size=6))
    rest = index.listed(ListConversationsRequest(run="r-g", page_size=6, page_token=first.next_page_token))
    assert [one.ordinal for one in (*first.conversations, *rest.conversations)] == list(range(9, -1, -1))
    assert (first.total, rest.total, rest.next_page_token) == (10, 10, "")


def test_filters_hold_together(index: Index) -> None:
    assert ordinals(index, verdict=Verdict.VERDICT_REJECTED) == [9, 6, 3, 0]
    assert ordinals(index, verdict=Verdict.VERDICT_ACCEPTED, text="APPLES_ 4") == [4]
    assert ordinals(index, flagged=True, text="strasse") == [9, 6, 3, 0]
    assert ordinals(index, text="%%") == []
    assert ordinals(index, reason="length") == [9, 6, 3, 0]
    assert ordinals(index, reason="leng") == ordinals(index, reason="%") == []
    assert index.listed(ListConversationsRequest(run="other")).total == 0


@pytest.mark.parametrize("token", ["-1", "x", "1.5", "9" * 40, "\u0661", "1 OR 1=1"])
def test_a_forged_page_token_is_refused(index: Index, token: str) -> None:
    with pytest.raises(Refusal, match="invalid page_token"):
        index.listed(ListConversationsRequest(run="r-g", page_token=token))


def test_one_is_found_by_its_run_and_its_id_with_the_place_of_the_whole(index: Index) -> None:
    found = index.find("r-g", "c7-0")
    assert found
    assert (found.shown.ordinal, found.origin) == (7, Origin(topic="t", partition=1, offset=7))
    assert index.find("other", "c7-0") is None


def test_a_problem_is_settled_by_a_conversation_that_is_kept_or_when_nothing_more_is_tried(index: Index) -> None:
    assert index.settled("r-g") == {1, 2, 4, 5, 7, 8}
    index.add(collected(3, "length: turn 2: long", attempt=1), at=1.0)
    index.add(collected(20, "not solved: of no use", ending=Ending.ENDING_UNFIT), at=1.0)
    assert index.settled("r-g") == {1, 2, 3, 4, 5, 7, 8, 20}
