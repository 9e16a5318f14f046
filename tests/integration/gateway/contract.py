"""The gateway's promises: those that rest on the transport, and the others."""

import asyncio
from collections import Counter
from contextlib import aclosing
from typing import Any

import pytest

from soliloquy.recipes.prompts import own_texts
from soliloquy.runtime.events import first_event, message_of
from soliloquy.runtime.reading import replay
from soliloquy.v1.conversation_pb2 import Conversation, Ending, Problem, Summary
from soliloquy.v1.dataset_pb2 import Origin
from soliloquy.v1.events_pb2 import (
    CallAudited,
    ConversationCollected,
    ConversationFinished,
    ProblemSubmitted,
)
from soliloquy.v1.gateway_pb2 import (
    CancelRunRequest,
    FinishedConversation,
    ListAuditRequest,
    ListConversationsRequest,
    ListDeadLetterCausesRequest,
    ListDeadLettersRequest,
    ListRunsRequest,
    PauseRunRequest,
    ReplayDeadLetterRequest,
    ReplayDeadLettersRequest,
    ResumeRunRequest,
    RunStatus,
    TailConversationsRequest,
    Verdict,
    WatchRunRequest,
)
from soliloquy.v1.runs_pb2 import Run, RunState
from soliloquy_services.gateway.datasets import read_conversation
from soliloquy_services.gateway.index import Entry
from soliloquy_services.gateway.refusals import Code, Refusal
from soliloquy_services.gateway.service import Gateway
from tests.integration.gateway.support import Collecting, asked, audited, growing, opened, status_of
from tests.integration.transport.support import Connect, held
from tests.waiting import until

RUNNING, PAUSED = RunState.RUN_STATE_RUNNING, RunState.RUN_STATE_PAUSED
FINISHED, CANCELLED, SHORT, DELETED = (
    RunState.RUN_STATE_FINISHED,
    RunState.RUN_STATE_CANCELLED,
    RunState.RUN_STATE_SHORT,
    RunState.RUN_STATE_DELETED,
)

# The topic whose events the collector of these tests cannot handle.
BROKEN = "conversation.started"


async def last_of(gateway: Gateway, run_id: str, seconds: float = 90.0) -> RunStatus:
    """The last status that a watcher receives."""
    async with asyncio.timeout(seconds):
        told = [status async for status in gateway.watch_run(WatchRunRequest(run=run_id))]
    return told[-1]


class LogContract:
    """Every transport keeps it. Needs a fixture `connect` that opens the same, at first empty, transport each time."""

    async def test_a_cancelled_run_is_over_and_stays_so(self, connect: Connect) -> None:
        collecting = Collecting()
        collecting.open.clear()
        async with connect() as transport, growing(transport, collecting), opened(transport) as gateway:
            run = await gateway.start_run(asked(conversations=60))
            await until(lambda: under_way(gateway, run.id, 4))
            assert (await gateway.cancel_run(CancelRunRequest(run=run.id))).state == CANCELLED
            assert (await gateway.cancel_run(CancelRunRequest(run=run.id))).state == CANCELLED
            with pytest.raises(Refusal, match="is cancelled and cannot be resumed") as refused:
                await gateway.resume_run(ResumeRunRequest(run=run.id))
            assert refused.value.code == Code.NOT_NOW
            await until(lambda: under_way(gateway, run.id, 0))
        assert collecting.seen == []

    async def test_a_gateway_that_comes_after_another_goes_on_where_everything_stands(self, connect: Connect) -> None:
        collecting = Collecting()
        async with connect() as transport, growing(transport, collecting):
            async with opened(transport) as gateway:
                run = await gateway.start_run(asked(conversations=100))
                await until(lambda: accepted(gateway, run.id, 10))
            async with opened(transport) as gateway:
                assert (await status_of(gateway, run.id)).progress.accepted >= 10
                assert (await last_of(gateway, run.id)).state == FINISHED
            async with opened(transport) as gateway:
                last = await status_of(gateway, run.id)
        assert (last.state, last.progress.accepted) == (FINISHED, 100)
        assert sorted(collecting.seen) == [(ordinal, 0) for ordinal in range(100)]

    async def test_a_run_that_ended_short_goes_on_when_its_letters_are_replayed_beside_the_gateway(
        self, connect: Connect
    ) -> None:
        collecting = Collecting()
        collecting.broken = {1, 4}
        async with connect() as transport, growing(transport, collecting), opened(transport) as gateway:
            run = await gateway.start_run(asked(conversations=6))
            assert (await last_of(gateway, run.id)).state == SHORT
            collecting.broken.clear()
            assert await replay(transport, ()) == 2
            async with asyncio.timeout(120), aclosing(gateway.watch_runs(ListRunsRequest(page_size=1))) as watched:
                last = (await anext(watched)).runs[0]
                # Kafka marks letters as replayed after it has published them, so the run may finish before.
                while last.state != FINISHED or last.progress.dead_letters:
                    last = (await anext(watched)).runs[0]
            assert last.progress.accepted == 6

    async def test_who_follows_the_conversations_is_told_of_each_once(self, connect: Connect) -> None:
        collecting = Collecting()
        collecting.open.clear()
        async with connect() as transport, growing(transport, collecting), opened(transport) as gateway:
            run = await gateway.start_run(asked(conversations=6))
            async with aclosing(gateway.tail_conversations(TailConversationsRequest(run=run.id))) as tail:
                first = asyncio.create_task(anext(tail))
                await asyncio.sleep(0)
                collecting.open.set()
                told = [await first, *[await anext(tail) for _ in range(5)]]
        assert sorted(one.ordinal for one in told if isinstance(one, FinishedConversation)) == [0, 1, 2, 3, 4, 5]

    async def test_a_whole_conversation_is_read_from_its_topic(self, connect: Connect) -> None:
        of_run, ending = Run(id="run"), Ending.ENDING_SOLVED
        whole: dict[str, Any] = {"run": of_run, "problem": Problem(question="How far?"), "ending": ending}
        conversations = [Conversation(id=f"c{number}", person=number == 3, **whole) for number in range(6)]
        async with connect() as transport:
            finished = [ConversationFinished(conversation=one) for one in conversations]
            await transport.publish([first_event(one, source="test", time=0.0) for one in finished])
            [place] = [one for one in await held(transport, "conversation.finished") if one.event.key == "c3"]
            origin = Origin(topic=place.partition.topic, partition=place.partition.number, offset=place.offset)
            shown = FinishedConversation(id="c3", run="run")
            assert await read_conversation(Entry(shown=shown, origin=origin), transport, None) == conversations[3]
            # The others are what a forged event may name.
            after, another = Origin(topic=origin.topic, offset=10_000), Origin(topic="run.changed")
            for elsewhere in (None, after, another, Origin(topic="../x"), Origin(topic=origin.topic, partition=10_000)):
                with pytest.raises(Refusal, match="conversation c3 of run run cannot be read"):
                    await read_conversation(Entry(shown=shown, origin=elsewhere), transport, None)

    async def test_what_others_grow_is_found_and_read_and_left_to_them(self, connect: Connect) -> None:
        run = Run(id="chats", growing="soliloquy", recipe="soliloquy", max_turns=50, max_attempts=1)
        conversation = Conversation(id="kept", run=run, ending=Ending.ENDING_SOLVED, person=True)
        collected = ConversationCollected(conversation=conversation, accepted=True, summary=Summary(turns=2))
        asking = PauseRunRequest(run="chats-soliloquy")
        async with connect() as transport:
            async with opened(transport) as gateway:
                await transport.publish([first_event(collected, source="collector", time=5.0)])
                await until(lambda: is_known(gateway, asking.run))
            # Another gateway finds it anew.
            async with opened(transport) as gateway:
                [found] = (await gateway.list_runs(ListRunsRequest(state=RunState.RUN_STATE_OPEN))).runs
                [one] = (await gateway.list_conversations(ListConversationsRequest(run=found.id))).conversations
                with pytest.raises(Refusal, match="run chats-soliloquy is open and cannot be paused") as refused:
                    await gateway.pause_run(asking)
        assert (found.id, found.request.recipe, found.progress.accepted) == (asking.run, "soliloquy", 1)
        assert (one.id, one.finished_at) == ("kept", 5.0)
        assert refused.value.code == Code.NOT_NOW

    async def test_a_gateway_that_comes_later_shows_the_latest_audited_calls(
        self, connect: Connect, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("soliloquy_services.gateway.audit.MOST_KEPT", 5)
        async with connect() as transport:
            async with opened(transport) as gateway:
                for number in range(8):
                    gateway.audit.add(audited(number))
            # They are written when the gateway stops, if not before.
            assert len(await held(transport, "call.audited")) == 8
            # An event that is none of ours hides none of them.
            forged = CallAudited(at=float("nan"), who="nobody")
            await transport.publish([first_event(forged, source="test", time=0.0)])
            async with opened(transport) as gateway:

                async def are_listed() -> bool:
                    return len((await gateway.list_audit(ListAuditRequest())).calls) == 5

                await until(are_listed)
                listed = (await gateway.list_audit(ListAuditRequest())).calls
        assert [call.who for call in listed] == [f"caller {number}" for number in (7, 6, 5, 4, 3)]


class GatewayContract(LogContract):
    """One transport suffices for what the gateway alone promises."""

    async def test_a_run_ends_with_exactly_what_was_asked_for_whatever_is_rejected(self, connect: Connect) -> None:
        collecting = Collecting(lambda one: ["length: turn 2: long"] if (one.ordinal + one.attempt) % 3 == 0 else [])
        async with connect() as transport, growing(transport, collecting), opened(transport) as gateway:
            run = await gateway.start_run(asked(conversations=10))
            last = await last_of(gateway, run.id)
            listed = await gateway.list_conversations(
                ListConversationsRequest(run=run.id, verdict=Verdict.VERDICT_REJECTED, page_size=3)
            )
        assert (last.state, last.progress.accepted) == (FINISHED, 10)
        assert last.progress.rejected == listed.total == len(collecting.seen) - 10
        assert last.progress.tokens["tutor"].prompt == 10 * len(collecting.seen)
        assert last.progress.flags == last.progress.reasons["length"] == last.progress.rejected
        assert Counter(collecting.seen).most_common(1)[0][1] == 1

    async def test_a_paused_run_starts_nothing_further_until_it_is_resumed(self, connect: Connect) -> None:
        collecting = Collecting()
        collecting.open.clear()
        async with connect() as transport, growing(transport, collecting), opened(transport) as gateway:
            run = await gateway.start_run(asked(conversations=30))
            await until(lambda: under_way(gateway, run.id, 4))
            paused = await gateway.pause_run(PauseRunRequest(run=run.id))
            assert paused.state == PAUSED
            collecting.open.set()
            await until(lambda: under_way(gateway, run.id, 0))
            # Four in flight, and eight that were submitted ahead of need; topics are followed one beside the other.
            await until(lambda: accepted(gateway, run.id, 4))
            assert (await status_of(gateway, run.id)).progress.accepted <= 12
            await gateway.resume_run(ResumeRunRequest(run=run.id))
            assert (await last_of(gateway, run.id)).progress.accepted == 30

    async def test_a_run_whose_problems_are_given_up_ends_short_and_says_why(self, connect: Connect) -> None:
        collecting = Collecting(lambda one: ["length: turn 2: long"])
        async with connect() as transport, growing(transport, collecting), opened(transport) as gateway:
            run = await gateway.start_run(asked(conversations=3, max_attempts=2))
            last = await last_of(gateway, run.id)
        assert (last.state, last.progress.given_up) == (SHORT, 6)
        assert last.because == "0 of 3 after 6 problems: 6 had every attempt rejected (2 each)"

    async def test_a_run_that_waits_for_its_dead_letters_goes_on_when_they_are_replayed(self, connect: Connect) -> None:
        collecting = Collecting()
        collecting.broken = {1, 4}
        async with connect() as transport, growing(transport, collecting), opened(transport) as gateway:
            run = await gateway.start_run(asked(conversations=6))
            last = await last_of(gateway, run.id)
            assert (last.state, last.progress.accepted, last.progress.dead_letters) == (SHORT, 4, 2)
            assert last.because == "2 conversations ended among the dead letters: replay them, and the run goes on"
            letters = (await gateway.list_dead_letters(ListDeadLettersRequest(run=run.id))).letters
            assert {letter.error for letter in letters} == {
                f"Refused: problem {ordinal} breaks whatever touches it" for ordinal in collecting.broken
            }
            collecting.broken.clear()
            for letter in letters:
                await gateway.replay_dead_letter(ReplayDeadLetterRequest(id=letter.id))
            last = await last_of(gateway, run.id)
            assert (last.state, last.progress.accepted, last.progress.dead_letters) == (FINISHED, 6, 0)
            with pytest.raises(Refusal, match="no dead letter has the id") as refused:
                await gateway.replay_dead_letter(ReplayDeadLetterRequest(id=letters[0].id))
            assert refused.value.code == Code.UNKNOWN

    async def test_dead_letters_of_one_cause_are_replayed_together_and_others_stay(
        self, connect: Connect, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("soliloquy_services.gateway.service.MOST_REPLAYED", 2)
        collecting = Collecting()
        collecting.broken = {0, 1, 4}
        cause = "Refused: problem … breaks whatever touches it"
        async with connect() as transport, growing(transport, collecting), opened(transport) as gateway:
            run = await gateway.start_run(asked(conversations=6))
            assert (await last_of(gateway, run.id)).state == SHORT
            [group] = (await gateway.list_dead_letter_causes(ListDeadLetterCausesRequest())).causes
            assert (group.cause, group.letters, group.runs, list(group.topics)) == (cause, 3, 1, [BROKEN])
            assert group.first_at <= group.last_at
            listed = await gateway.list_dead_letters(ListDeadLettersRequest(run=run.id, cause=cause))
            assert len(listed.letters) == 3
            other = await gateway.replay_dead_letters(ReplayDeadLettersRequest(cause="another cause"))
            assert (other.replayed, other.left) == (0, 0)
            collecting.broken.clear()
            first = await gateway.replay_dead_letters(ReplayDeadLettersRequest(cause=cause, run=run.id))
            second = await gateway.replay_dead_letters(ReplayDeadLettersRequest(cause=cause))
            assert [(each.replayed, each.left) for each in (first, second)] == [(2, 1), (1, 0)]
            last = await last_of(gateway, run.id)
            assert (last.state, last.progress.accepted, last.progress.dead_letters) == (FINISHED, 6, 0)
            assert not (await gateway.list_dead_letter_causes(ListDeadLetterCausesRequest())).causes

    async def test_a_run_keeps_its_name_and_its_model_when_another_gateway_comes(self, connect: Connect) -> None:
        request = asked()
        request.request.name = "a name"
        async with connect() as transport:
            async with opened(transport) as gateway:
                named = await gateway.start_run(request)
                assert await gateway.start_run(request) == named
                unnamed = [await gateway.start_run(asked(request_id)) for request_id in ("two", "three")]
            async with opened(transport) as gateway:
                again = [await status_of(gateway, run.id) for run in (named, *unnamed)]
        assert [run.name for run in again] == [
            "a name",
            "arithmetic, 6 conversations",
            "arithmetic, 6 conversations (2)",
        ]
        assert {run.model for run in again} == {"scripted"}

    async def test_the_events_of_a_run_carry_its_prompts_and_its_status_names_them(self, connect: Connect) -> None:
        request = asked()
        request.request.prompts["deciding.txt"] = own_texts("soliloquy")["deciding.txt"] + "Be brief."
        async with connect() as transport:
            async with opened(transport) as gateway:
                run = await gateway.start_run(request)
                assert await gateway.start_run(request) == run
                request.request.prompts["deciding.txt"] = "$nobody"
                with pytest.raises(Refusal, match=r"has started run .* with other settings"):
                    await gateway.start_run(request)
                request.request_id = "two"
                with pytest.raises(Refusal, match=r"the prompts cannot be used \(deciding.txt: .*: correct the file"):
                    await gateway.start_run(request)
            async with opened(transport) as gateway:
                assert [*(await status_of(gateway, run.id)).changed_prompts] == ["deciding.txt"]

                async def is_submitted() -> bool:
                    return bool(await held(transport, "problem.submitted"))

                await until(is_submitted)
            submitted = [message_of(one.event) for one in await held(transport, "problem.submitted")]
        assert not run.request.prompts
        assert submitted
        for message in submitted:
            assert isinstance(message, ProblemSubmitted)
            assert message.run.prompts["deciding.txt"].endswith("Be brief.")


async def is_known(gateway: Gateway, run_id: str) -> bool:
    return any(run.id == run_id for run in (await gateway.list_runs(ListRunsRequest())).runs)


async def under_way(gateway: Gateway, run_id: str, number: int) -> bool:
    return (await status_of(gateway, run_id)).progress.under_way == number


async def accepted(gateway: Gateway, run_id: str, number: int) -> bool:
    return (await status_of(gateway, run_id)).progress.accepted >= number
