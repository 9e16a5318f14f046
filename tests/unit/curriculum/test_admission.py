"""No run has more conversations under way than it asked for, before and after a restart."""

from collections.abc import Awaitable, Sequence

import pytest

from soliloquy.runtime.events import AnyOutcome, key_of
from soliloquy.runtime.handling import NotYet
from soliloquy.truth.ledger import Ledger, make_ledger
from soliloquy.v1.conversation_pb2 import EVIDENCE_KIND_PROGRAMS, Conversation, Ending, Evidence, Problem
from soliloquy.v1.events_pb2 import (
    ConversationCollected,
    ConversationStarted,
    EnrichmentNeeded,
    ProblemSubmitted,
    ProgramsNeeded,
    RunCancelled,
    RunStanding,
)
from soliloquy.v1.runs_pb2 import Run
from soliloquy_services.curriculum.admission import Admission
from soliloquy_services.curriculum.handler import cancel, follow_up, start


def submitted(ordinal: int, run: str = "run") -> ProblemSubmitted:
    spec = Run(id=run, recipe="soliloquy", seed=7, in_flight=2, max_turns=20, max_attempts=3)
    return ProblemSubmitted(run=spec, ordinal=ordinal, problem=Problem(id=f"problem-{ordinal}"))


def collected(started: ConversationStarted, *, accepted: bool) -> ConversationCollected:
    return ConversationCollected(conversation=started.conversation, accepted=accepted)


async def started(ordinal: int, admission: Admission) -> ConversationStarted:
    event, *_ = await start(submitted(ordinal), admission)
    assert isinstance(event, ConversationStarted)
    return event


async def has_room(admission: Admission) -> bool:
    """Whether another problem of the run would start without waiting."""
    try:
        return bool(await start(submitted(99), admission))
    except NotYet:
        return False


async def test_a_problem_waits_until_there_is_room() -> None:
    admission = Admission()
    first = await started(0, admission)
    await started(1, admission)
    with pytest.raises(NotYet) as waiting:
        await started(2, admission)
    assert not waiting.value.until.done()
    await follow_up(collected(first, accepted=True), admission)
    assert waiting.value.until.done()
    assert (await started(2, admission)).conversation.ordinal == 2


async def test_a_run_does_not_wait_for_the_room_of_another() -> None:
    admission = Admission()
    for ordinal in range(2):
        await started(ordinal, admission)
    assert await start(submitted(0, run="another"), admission)


async def test_a_rejected_conversation_is_tried_again_in_its_own_place() -> None:
    admission = Admission()
    first = await started(0, admission)
    await started(1, admission)
    [again] = await follow_up(collected(first, accepted=False), admission)
    assert isinstance(again, ConversationStarted)
    assert (again.conversation.ordinal, again.conversation.attempt) == (0, 1)
    assert again.conversation.id != first.conversation.id
    assert not await has_room(admission)


async def test_problems_are_enriched_first_where_the_run_asks_for_it() -> None:
    asked = submitted(0)
    asked.run.enrich = True
    event, standing = await start(asked, Admission())
    assert isinstance(event, EnrichmentNeeded)
    assert isinstance(standing, RunStanding)
    assert (event.conversation.id, list(standing.under_way)) == ((await started(0, Admission())).conversation.id, [0])


@pytest.mark.parametrize(
    ("programs", "weighed", "first"),
    [(True, False, ProgramsNeeded), (True, True, ConversationStarted), (False, False, ConversationStarted)],
)
async def test_an_answer_needs_programs_once_where_the_run_has_a_model_for_them(
    programs: bool, weighed: bool, first: type
) -> None:
    asked = submitted(0)
    asked.run.programs = programs
    asked.problem.answer.value = 35.0
    if weighed:
        evidence = Evidence(kind=EVIDENCE_KIND_PROGRAMS, value=35.0, agreeing=2, programs=3)
        asked.problem.ledger.CopyFrom(make_ledger(asked.problem, evidence))
    event, _ = await start(asked, Admission())
    assert isinstance(event, first)


async def test_a_conversation_starts_with_the_ledger_of_its_problem() -> None:
    asked = submitted(0)
    asked.problem.steps.add(number=1).result.value = 35.0
    asked.problem.answer.value = 35.0
    event, _ = await start(asked, Admission())
    assert isinstance(event, ConversationStarted)
    assert [entry.quantity.value for entry in Ledger(event.conversation.problem.ledger).results] == [35.0]


async def test_another_attempt_has_the_problem_as_it_was_enriched() -> None:
    asked = submitted(0)
    asked.run.enrich = True
    admission = Admission()
    first, _ = await start(asked, admission)
    assert isinstance(first, EnrichmentNeeded)
    first.conversation.problem.enrichment.outline = "Step 1) Think."
    rejected = ConversationCollected(conversation=first.conversation, accepted=False)
    [again] = await follow_up(rejected, admission)
    assert isinstance(again, ConversationStarted)
    assert again.conversation.problem == first.conversation.problem


async def test_a_problem_is_given_up_after_its_last_attempt() -> None:
    admission = Admission()
    event = await started(0, admission)
    for _ in range(2):
        [again] = await follow_up(collected(event, accepted=False), admission)
        assert isinstance(again, ConversationStarted)
        event = again
    await follow_up(collected(event, accepted=False), admission)
    await started(1, admission)
    assert await has_room(admission)


async def test_a_problem_that_is_no_use_to_the_recipe_is_not_tried_again() -> None:
    admission = Admission()
    event = await started(0, admission)
    event.conversation.ending = Ending.ENDING_UNFIT
    [standing] = await follow_up(collected(event, accepted=False), admission)
    assert isinstance(standing, RunStanding)
    assert not standing.under_way


class Table:
    """The latest row of each place, as a transport keeps them."""

    def __init__(self) -> None:
        self._rows: dict[str, RunStanding] = {}

    async def keep(self, outcome: Awaitable[AnyOutcome]) -> AnyOutcome:
        messages = await outcome
        for message in messages:
            if isinstance(message, RunStanding):
                # In the order of the log.
                self._rows.pop(key_of(message), None)
                self._rows[key_of(message)] = message
        return messages

    @property
    def rows(self) -> list[RunStanding]:
        return list(self._rows.values())


def recalled(rows: Sequence[RunStanding]) -> Admission:
    admission = Admission()
    admission.recall(rows)
    return admission


async def test_the_count_is_recalled_from_the_rows_of_places() -> None:
    admission, table = Admission(), Table()
    first, *_ = await table.keep(start(submitted(0), admission))
    await table.keep(start(submitted(1), admission))
    assert isinstance(first, ConversationStarted)
    assert not await has_room(recalled(table.rows))
    await table.keep(follow_up(collected(first, accepted=True), admission))
    assert await has_room(recalled(table.rows))


async def test_a_run_of_any_length_has_a_small_row_for_each_place_and_no_more() -> None:
    admission, table, most = Admission(), Table(), 64
    for ordinal in range(20 * most):
        event = submitted(ordinal)
        event.run.in_flight, event.run.prompts["first.txt"] = most, "a long prompt " * 1000
        if ordinal >= most:
            # Every second problem overtakes the one before it.
            await table.keep(end_of((ordinal - most) ^ 1, event.run, admission))
        await table.keep(start(event, admission))
        assert len(table.rows) == min(ordinal + 1, most)
        assert max(row.ByteSize() for row in table.rows) < 50
    # A successor takes the same places.
    admission = recalled(table.rows)
    await table.keep(end_of(20 * most - 1, event.run, admission))
    event.ordinal += 1
    assert await table.keep(start(event, admission))
    assert len(table.rows) == most


def end_of(ordinal: int, run: Run, admission: Admission) -> Awaitable[AnyOutcome]:
    accepted = ConversationCollected(conversation=Conversation(run=run, ordinal=ordinal), accepted=True)
    return follow_up(accepted, admission)


async def test_a_run_that_an_earlier_release_has_begun_goes_on() -> None:
    first = submitted(0).run
    before = RunStanding(run=first, under_way=[3, 4], begun=[0, 5])
    admission, table = recalled([before]), Table()
    await table.keep(end_of(3, first, admission))
    for each in (admission, recalled([before, *table.rows])):
        assert await start(submitted(4), each) == ()
        await started(5, each)
        assert not await has_room(each)


async def test_nothing_that_was_not_written_is_left_when_a_partition_is_back() -> None:
    admission, table = Admission(), Table()
    await table.keep(start(submitted(0), admission))
    # The row of this one is lost with the partition.
    await started(1, admission)
    admission.recall(table.rows)
    assert await started(1, admission)


async def test_a_cancelled_run_has_no_place_taken_after_a_restart() -> None:
    admission, table = Admission(), Table()
    for ordinal in range(2):
        await table.keep(start(submitted(ordinal), admission))
    await table.keep(cancel(RunCancelled(run=submitted(0).run), admission))
    again = recalled(table.rows)
    for ordinal in range(2):
        await table.keep(start(submitted(ordinal), again))
    assert not await has_room(again)
    assert len(table.rows) == 3
    assert not await has_room(recalled(table.rows))


async def test_a_judgement_heard_twice_frees_one_place() -> None:
    admission = Admission()
    first, _ = await started(0, admission), await started(1, admission)
    assert len(await follow_up(collected(first, accepted=True), admission)) == 1
    await started(2, admission)
    assert await follow_up(collected(first, accepted=True), admission) == ()
    assert not await has_room(admission)


async def test_a_cancelled_run_has_nothing_under_way_and_nothing_waiting() -> None:
    admission = Admission()
    for ordinal in range(2):
        await started(ordinal, admission)
    with pytest.raises(NotYet) as waiting:
        await started(2, admission)
    run = submitted(0).run
    [standing] = await cancel(RunCancelled(run=run), admission)
    assert isinstance(standing, RunStanding)
    assert (standing.place, [*standing.under_way], [*standing.begun]) == (0, [], [])
    assert waiting.value.until.done()


async def test_two_growings_of_a_run_do_not_share_room() -> None:
    admission = Admission()
    for ordinal in range(2):
        await started(ordinal, admission)
    other = submitted(0)
    other.run.growing = "another"
    assert await start(other, admission)


async def test_a_problem_under_way_is_not_started_twice() -> None:
    admission = Admission()
    await started(0, admission)
    assert await start(submitted(0), admission) == ()


async def test_a_problem_that_is_submitted_again_after_its_end_is_not_started_twice_even_after_a_restart() -> None:
    admission, table = Admission(), Table()
    first, *_ = await table.keep(start(submitted(0), admission))
    assert isinstance(first, ConversationStarted)
    await table.keep(follow_up(collected(first, accepted=True), admission))
    for each in (admission, recalled(table.rows)):
        assert await start(submitted(0), each) == ()
        assert await started(1, each)


async def test_a_cancelled_run_may_start_its_problems_again() -> None:
    admission = Admission()
    first = await started(0, admission)
    await cancel(RunCancelled(run=first.conversation.run), admission)
    assert await started(0, admission) == first
