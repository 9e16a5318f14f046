from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from soliloquy.dataset.manifest import Shard, write_manifest
from soliloquy.dataset.storage import Storage
from soliloquy.v1.conversation_pb2 import Conversation, Ending, Summary
from soliloquy.v1.dataset_pb2 import Origin
from soliloquy.v1.events_pb2 import ConversationCollected, RunChanged, RunProgress
from soliloquy.v1.gateway_pb2 import ListConversationsRequest, Verdict
from soliloquy.v1.runs_pb2 import Run, RunState
from soliloquy_services.gateway.datasets import FIRST_PAUSE_SECONDS, MOST_LOOKS, DatasetLooks, stored
from soliloquy_services.gateway.index import Index
from soliloquy_services.gateway.refusals import Refusal
from soliloquy_services.gateway.runs import KnownRun

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


def known(state: RunState) -> KnownRun:
    changed = RunChanged(run=Run(id="r", growing="g"), state=state)
    return KnownRun(changed=changed, progress=RunProgress(accepted=3, rejected=2))


def write(folder: Path, **rows: int) -> None:
    shards = [Shard(name=f"{kind}/00000.parquet", rows=number, bytes=1, sha256="") for kind, number in rows.items()]
    (folder / "r-g").mkdir(exist_ok=True)
    write_manifest(Storage(folder / "r-g"), {"run": {}, "counts": {}, "cost": {}, "arrival": {}}, shards)


async def test_a_run_is_looked_at_until_all_its_conversations_are_written(tmp_path: Path) -> None:
    looks, run = DatasetLooks(str(tmp_path)), known(RunState.RUN_STATE_FINISHED)
    assert await looks.look([run]) == []
    write(tmp_path, accepted=3, timings=5)
    # Too soon after the first look.
    assert (await looks.look([run]), run.stored) == ([], 0)
    looks._next["r-g"] = (0.0, FIRST_PAUSE_SECONDS)
    assert (await looks.look([run]), run.stored) == ([], 3)
    write(tmp_path, accepted=3, rejected=2, timings=5)
    looks._next["r-g"] = (0.0, FIRST_PAUSE_SECONDS)
    assert (await looks.look([run]), run.is_stored) == (["r-g"], True)
    assert await looks.look([run]) == []
    assert looks._next == {}


async def test_more_runs_than_are_looked_at_in_one_go_are_looked_at_in_the_next(tmp_path: Path) -> None:
    write(tmp_path, accepted=5)
    (tmp_path / "r-g").rename(tmp_path / "several")
    runs = [known(RunState.RUN_STATE_FINISHED) for _ in range(2 * MOST_LOOKS + 1)]
    for number, run in enumerate(runs):
        run.changed.run.id = f"r{number}"
        (tmp_path / run.id).symlink_to(tmp_path / "several")
    looks = DatasetLooks(str(tmp_path))
    assert [len(await looks.look(runs)) for _ in range(4)] == [MOST_LOOKS, MOST_LOOKS, 1, 0]


async def test_a_run_under_way_is_not_looked_at_and_neither_is_one_whose_datasets_are_elsewhere(tmp_path: Path) -> None:
    write(tmp_path, accepted=5)
    run = known(RunState.RUN_STATE_RUNNING)
    assert (await DatasetLooks(str(tmp_path)).look([run]), run.stored) == ([], 0)
    run = known(RunState.RUN_STATE_FINISHED)
    assert (await DatasetLooks(None).look([run]), run.stored) == ([], 0)


def test_a_damaged_manifest_holds_nothing(tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text("{", "utf-8")
    assert stored(Storage(tmp_path)) == 0
