from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from soliloquy.runtime.events import first_event
from soliloquy.runtime.transports.port import Delivery, Partition
from soliloquy.v1.conversation_pb2 import Conversation, Ending, Summary
from soliloquy.v1.dataset_pb2 import Origin
from soliloquy.v1.events_pb2 import ConversationCollected
from soliloquy.v1.gateway_pb2 import ListConversationsRequest, ListConversationsResponse, Verdict
from soliloquy.v1.runs_pb2 import Run
from soliloquy_services.gateway.refusals import Refusal
from soliloquy_services.gateway.runs import KnownRun, judged
from soliloquy_services.gateway.store import Store
from tests.lakehouse.postgres import Postgres

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


class Index:
    """A store that takes one conversation after the other, and the pages it gives."""

    def __init__(self, url: str) -> None:
        self._store = Store(url)
        self._store.open()
        assert self._store.lease.take()
        self._positions = self._store.begin(ConversationCollected, "topic")
        self.close = self._store.close
        self.beginning, self.find, self.settled = (
            self._store.index.beginning,
            self._store.index.find,
            self._store.settled,
        )

    def add(self, *events: ConversationCollected, at: float) -> int:
        """Returns how many were counted."""
        first = self._positions.get(0, 0)
        made = [first_event(event, source="test", time=at) for event in events]
        received = [
            (Delivery(event=event, partition=Partition("topic", 0), offset=first + place), message)
            for place, (event, message) in enumerate(zip(made, events, strict=True))
        ]
        before = judged(self._known("r-g").progress)
        self._positions = self._store.take(ConversationCollected, "topic", self._positions, received)
        return judged(self._known("r-g").progress) - before

    def listed(self, request: ListConversationsRequest) -> ListConversationsResponse:
        return self._store.index.listed(request, self._known(request.run))

    def _known(self, run: str) -> KnownRun:
        news = self._store.news(since=-1)
        return news[run].known if run in news else KnownRun()


@pytest.fixture(scope="module")
def postgres() -> Iterator[Postgres]:
    with Postgres() as server:
        yield server


@pytest.fixture(params=["sqlite", "postgresql"])
def index(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Index]:
    url = f"sqlite:///{tmp_path}/gateway.db"
    if request.param == "postgresql":
        url = request.getfixturevalue("postgres").database()
    with closing(Index(url)) as opened:
        for number in range(10):
            reasons = ["length: turn 2: long"] if number % 3 == 0 else []
            ending = Ending.ENDING_TURN_LIMIT if number > 6 else Ending.ENDING_SOLVED
            one = collected(number, *reasons, question=f"How many % of _apples_ {number}?", ending=ending)
            one.summary.persona = ("casual", "shy")[number % 2]
            opened.add(one, at=float(number))
        yield opened


@pytest.fixture
def _first_five(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("soliloquy_services.gateway.index.FIRST_PROBLEMS", 5)


@pytest.mark.usefixtures("_first_five")
def test_the_first_problems_of_a_run_come_in_their_order_with_all_their_attempts(index: Index) -> None:
    index.add(collected(3, attempt=1), at=20.0)
    found = [(one.ordinal, one.attempt) for one in index.beginning("r-g")]
    assert found == [(0, 0), (1, 0), (2, 0), (3, 0), (3, 1), (4, 0)]
    assert index.beginning("another") == []


def ordinals(index: Index, **asked: Any) -> list[int]:
    listed = index.listed(ListConversationsRequest(run="r-g", **asked))
    return [one.ordinal for one in listed.conversations]


@pytest.mark.usefixtures("_first_five")
def test_a_long_run_keeps_the_rows_of_its_first_problems_and_the_latest_of_each_kind(
    index: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("soliloquy_services.gateway.index.KEPT", 8)
    for first in range(10, 40, 3):
        index.add(*[collected(number) for number in range(first, first + 3)], at=20.0)
    assert ordinals(index, verdict=Verdict.VERDICT_ACCEPTED) == [39, 38, 37, 36, 35, 4, 2, 1]
    assert ordinals(index, verdict=Verdict.VERDICT_REJECTED) == [9, 6, 3, 0]
    assert index.listed(ListConversationsRequest(run="r-g")).total == 40


def test_what_is_announced_again_is_not_counted_again(index: Index) -> None:
    assert index.add(collected(4), collected(11), collected(11), at=99.0) == 1
    assert index.listed(ListConversationsRequest(run="r-g")).total == 11


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
    assert ordinals(index, ending=Ending.ENDING_TURN_LIMIT) == [9, 8, 7]
    assert ordinals(index, ending=Ending.ENDING_TURN_LIMIT, persona="shy") == [9, 7]
    assert ordinals(index, persona="shy", reason="length", text="apples_") == [9, 3]
    assert ordinals(index, persona="sh") == []
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
    assert list(index.settled("r-g")) == [1, 3, 4, 6, 7, 9]
    index.add(collected(3, "length: turn 2: long", attempt=1), at=1.0)
    index.add(collected(20, "not solved: of no use", ending=Ending.ENDING_UNFIT), at=1.0)
    assert list(index.settled("r-g")) == [1, 6, 7, 9, 20, 21]
    assert list(index.settled("other")) == []


def test_a_name_that_no_index_takes_holds_nothing_up(index: Index) -> None:
    forged = [Conversation(id=name, run=RUN, ending=Ending.ENDING_SOLVED) for name in ("\0", "x" * 100_000)]
    events = [ConversationCollected(conversation=conversation, accepted=True) for conversation in forged]
    assert index.add(*events, collected(12, question="zero \0 inside"), at=1.0) == 1
    assert ordinals(index, text="zero \0 inside") == [12]
