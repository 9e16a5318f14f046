from soliloquy.runtime.model.settings import Endpoint, Models, Role
from soliloquy.v1.conversation_pb2 import Conversation, Ending, Summary, TokenUse
from soliloquy.v1.events_pb2 import ConversationCollected, RunChanged, RunProgress, RunStored
from soliloquy.v1.gateway_pb2 import DatasetState
from soliloquy.v1.runs_pb2 import Run, RunRequest, RunState
from soliloquy_services.gateway.changes import turned
from soliloquy_services.gateway.pace import Pace
from soliloquy_services.gateway.runs import FAULT_OF_INSTALLATION, KnownRun, RunTable

RUN = Run(id="r", growing="g", recipe="soliloquy", max_attempts=2)
ID = "r-g"
PRICED = Endpoint(engine="scripted", prompt_price=10_000.0, completion_price=5_000.0)
ROLE = Role(temperature=1.0, top_p=1.0, max_tokens=1, endpoint="priced")
MODELS = Models(endpoints={"priced": PRICED}, roles={"tutor": (ROLE,)})


def runs(*, conversations: int = 10) -> RunTable:
    known = RunTable(MODELS)
    request = RunRequest(recipe="soliloquy", conversations=conversations)
    begun = RunChanged(run=RUN, request=request, request_id="one", requested_at=100.0, state=RunState.RUN_STATE_RUNNING)
    known.take(ID, KnownRun(changed=begun))
    return known


def tell(known: RunTable, ordinal: int, *reasons: str, attempt: int = 0, ending: Ending = Ending.ENDING_SOLVED) -> None:
    conversation = Conversation(run=RUN, ordinal=ordinal, attempt=attempt, ending=ending)
    summary = Summary(
        turns=4,
        python_turns=2,
        failed_executions=1,
        tokens={"tutor": TokenUse(prompt=7, completion=3)},
        verdicts=3,
        unverified=1,
    )
    collected = ConversationCollected(conversation=conversation, accepted=not reasons, reasons=reasons, summary=summary)
    known.by_id[ID].count(collected)
    if collected.accepted:
        known.by_id[ID].pace.add(110.0, 1)


def test_a_run_is_what_was_collected_of_it() -> None:
    known = runs()
    tell(known, 0)
    tell(known, 1, "length: turn 1: long")
    tell(known, 1, "length: turn 1: long", attempt=1)
    tell(known, 2, "not solved: of no use", ending=Ending.ENDING_UNFIT)
    known.by_id[ID].places = {1: 3, 5: 4}
    assert list(known.dead_letters({ID: {4}})) == [ID]
    assert list(known.dead_letters({ID: {4}})) == []
    assert known.by_id[ID].counted() == RunProgress(
        accepted=1,
        rejected=3,
        given_up=2,
        under_way=2,
        dead_letters=1,
        turns=16,
        python_turns=8,
        failed_executions=4,
        tokens={"tutor": TokenUse(prompt=28, completion=12)},
        reasons={"length": 2, "not solved": 1},
        verdicts=12,
        unverified=4,
    )
    assert known.by_id[ID].unfit == 1


def test_a_rule_that_a_conversation_breaks_twice_is_counted_once() -> None:
    known = runs()
    tell(known, 0, "length: turn 1: long", "length: turn 3: long", "steps: turn 2: out of order")
    assert known.by_id[ID].counted().reasons == {"length": 1, "steps": 1}


def test_a_dataset_is_written_when_the_run_is_over_and_nothing_is_missing() -> None:
    known = runs()
    known.by_id[ID].stored = RunStored(run=RUN, conversations=2)
    tell(known, 0)
    tell(known, 1, "length: turn 1: long")
    run = known.by_id[ID]
    assert known.status(ID).dataset == DatasetState.DATASET_STATE_WRITING
    run.change(turned(run, RunState.RUN_STATE_FINISHED, "", at=130.0))
    assert known.status(ID).dataset == DatasetState.DATASET_STATE_WRITTEN
    known.by_id[ID].stored = RunStored(run=RUN, conversations=1)
    assert known.status(ID).dataset == DatasetState.DATASET_STATE_WRITING


def test_final_counts_are_told_again_when_another_conversation_comes() -> None:
    known = runs()
    run = known.by_id[ID]
    tell(known, 0)
    run.change(turned(run, RunState.RUN_STATE_RUNNING, "being written", at=120.0, counted=True))
    run.stored = RunStored(run=RUN, conversations=1)
    assert (run.is_counted, run.is_stored) == (True, True)
    tell(known, 1, "length: turn 1: long")
    assert not run.is_counted
    run.change(turned(run, RunState.RUN_STATE_RUNNING, "being written", at=130.0, counted=True))
    assert (run.is_counted, run.is_stored) == (True, False)
    # A pause begins anew.
    run.change(turned(run, RunState.RUN_STATE_PAUSED, "", at=140.0))
    assert not run.is_counted


def test_a_run_says_what_its_dataset_lost_whatever_its_state() -> None:
    known = runs()
    tell(known, 0)
    known.by_id[ID].change(turned(known.by_id[ID], RunState.RUN_STATE_FINISHED, "", at=130.0))
    known.by_id[ID].stored = RunStored(run=RUN, conversations=0, lost=1)
    status = known.status(ID)
    assert status.dataset == DatasetState.DATASET_STATE_INCOMPLETE
    assert status.because == "the dataset has lost conversations that conversation.finished no longer holds: 1"
    known.by_id[ID].change(turned(known.by_id[ID], RunState.RUN_STATE_SHORT, status.because, at=140.0))
    assert known.status(ID).because == status.because


def test_a_run_without_a_name_has_one_that_no_other_run_of_its_tenant_has() -> None:
    known = runs()
    request = RunRequest(problems="physics", conversations=20)
    assert known.name_of(request, "") == "physics, 20 conversations"
    for number, name in enumerate(("physics, 20 conversations", "physics, 20 conversations (2)")):
        changed = RunChanged(run=Run(id=f"r{number}", growing="g"), request_id=f"r{number}", name=name)
        known.take(f"r{number}-g", KnownRun(changed=changed))
    assert known.name_of(request, "") == "physics, 20 conversations (3)"
    # A number would tell a tenant how many runs others have.
    assert known.name_of(request, "physics") == "physics, 20 conversations"
    assert known.name_of(RunRequest(name="mine", problems="physics", conversations=1), "") == "mine"
    assert known.name_of(RunRequest(problems="physics", conversations=1), "") == "physics, 1 conversation"


def test_a_tenant_is_told_that_there_is_a_fault_and_not_what_it_names() -> None:
    known = RunTable(MODELS, lambda: ["no space left for /data/a-run-of-others"])
    for tenant in ("", "physics"):
        changed = RunChanged(run=Run(id=f"r{tenant}"), tenant=tenant, state=RunState.RUN_STATE_RUNNING)
        known.take(f"r{tenant}", KnownRun(changed=changed))
    assert known.status("r").because == "no space left for /data/a-run-of-others"
    assert known.status("rphysics").because == FAULT_OF_INSTALLATION


def test_runs_of_earlier_versions_and_of_other_programs_have_a_name_too() -> None:
    known = RunTable(MODELS)
    request = RunRequest(problems="physics", conversations=1_000)
    known.take(ID, KnownRun(changed=RunChanged(run=RUN, request=request, request_id="one")))
    assert known.status(ID).name == "physics, 1,000 conversations"
    chats = KnownRun()
    chats.find(Run(id="chats", growing="soliloquy"), at=1.0)
    known.take("chats-soliloquy", chats)
    assert known.status("chats-soliloquy").name == "chats-soliloquy"


def test_a_run_that_its_conversations_told_first_is_the_one_that_was_requested() -> None:
    stored = KnownRun()
    stored.find(RUN, at=200.0)
    stored.change(runs().by_id[ID].changed)
    assert stored.changed.state == RunState.RUN_STATE_RUNNING


def test_a_change_that_a_topic_tells_late_undoes_no_later_one_whatever_the_clock_says() -> None:
    run = runs().by_id[ID]
    before = run.changed
    run.change(turned(run, RunState.RUN_STATE_PAUSED, "", at=50.0))
    run.change(before)
    assert run.changed.state == RunState.RUN_STATE_PAUSED


def test_a_run_takes_along_what_was_told_before_it_and_drivers_see_what_is_told_later() -> None:
    known = RunTable(MODELS)
    known.take(ID, KnownRun(places={1: 7, 2: 8}))
    assert not known.by_id
    changed = runs().by_id[ID].changed
    known.take(ID, KnownRun(changed=changed, places={3: 9}))
    run = known.by_id[ID]
    assert run.under_way == {7, 8, 9}
    known.take(ID, KnownRun(changed=changed, places={1: None, 2: 4}, revision=2))
    assert run.under_way == {4, 9}
    assert known.revision == 2


def test_rate_and_rest_are_those_of_the_last_minute() -> None:
    known = runs(conversations=10)
    for ordinal in range(4):
        tell(known, ordinal)
    status = known.status(ID, now=120.0)
    assert (status.rate, status.eta_seconds, status.cost) == (0.2, 30.0, 0.34)
    assert known.status(ID, now=1_000.0).rate == 0.0


def test_a_run_that_is_over_keeps_what_had_come_of_it() -> None:
    known = runs()
    tell(known, 0)
    over = KnownRun(changed=turned(known.by_id[ID], RunState.RUN_STATE_CANCELLED, "", at=130.0))
    again = RunTable(MODELS)
    again.take(ID, over)
    assert again.status(ID, now=131.0).progress.accepted == 1
    # One that goes on counts from what was collected.
    assert not turned(over, RunState.RUN_STATE_RUNNING, "", at=140.0).HasField("progress")


def test_no_time_is_left_until_it_can_be_known() -> None:
    pace = Pace()
    assert not pace.foretells(now=20.0, since=0.0)
    pace.add(20.0, 1)
    assert not pace.foretells(now=39.0, since=0.0)
    assert pace.foretells(now=40.0, since=0.0)
    # Conversations of an hour are paced by the last minute.
    slow = Pace()
    slow.add(3_600.0, 1)
    assert slow.foretells(now=3_660.0, since=0.0)


def test_a_pace_keeps_no_more_than_two_minutes() -> None:
    pace = Pace()
    for second in range(1_000):
        pace.add(float(second), 1)
    assert pace.rate(now=999.0, since=0.0) == 1.0
    assert len(pace._came) <= 121
