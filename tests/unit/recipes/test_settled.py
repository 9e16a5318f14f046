"""A settled value overrules programs, a majority decides where nothing is settled, and no false verdict leaves."""

import pytest

from soliloquy.recipes.judges import Judges
from soliloquy.recipes.recipe import find
from soliloquy.runtime.ask import Prompt
from soliloquy.runtime.events import ConversationEvent
from soliloquy.v1.conversation_pb2 import (
    CLAIM_READER_SPEAKER,
    EVALUATION_CORRECT,
    EVALUATION_INCORRECT,
    PLAN_SOURCE_PROSE,
    Claim,
    CodeAttempt,
    Conversation,
    Ending,
    Evaluation,
    Turn,
)
from soliloquy.v1.events_pb2 import CalculationNeeded, CodeWritten, ReplyNeeded
from soliloquy.v1.sandbox_pb2 import STATUS_ERROR, STATUS_OK, Execution
from soliloquy_services.codegen.handler import write
from soliloquy_services.composer.handler import reply
from tests.cases import each_case
from tests.unit.answering import Answering
from tests.unit.recipes.conversations import calculated, conversation, sound_turns

RECIPE = find("soliloquy")
assert RECIPE.rules
TRIES = RECIPE.rules.book.mending.tries.codegen
PROGRAM = '{"Python": {"Python Code": "```python\\nresult = 1500 * 2.4\\n```", "Result Variable": "result"}}'


def text(prompt: Prompt) -> str:
    return "\n".join(text for _, text in prompt.said)


def claiming(value: float, *, correct: bool | None, settled: bool = True) -> Conversation:
    """A conversation whose student claims the work, and whose program calls that right or wrong."""
    made = conversation(*sound_turns())
    made.ending = Ending.ENDING_UNSPECIFIED
    if not settled:
        made.problem.plan = PLAN_SOURCE_PROSE
    turn = made.turns[-1]
    turn.ClearField("tutor")
    turn.student.text = f"The work is {value:g} J."
    turn.student.claims.add(quantity="W", value=value, unit="J", half=0.5)
    turn.student.claims_by = CLAIM_READER_SPEAKER
    turn.calculation.CopyFrom(calculated(correct))
    for role, prompt in (("student", "student"), ("tutor", "deciding"), ("codegen", "use_python")):
        turn.calls.add(role=role, prompt=f"soliloquy/{prompt}", raw=[PROGRAM])
    return made


async def composed(made: Conversation, model: Answering | None = None) -> ConversationEvent:
    [event] = await reply(ReplyNeeded(conversation=made), model or Answering("{}"), Judges())
    return event


async def another_program(event: ConversationEvent, *, correct: bool | None) -> Conversation:
    assert isinstance(event, CalculationNeeded)
    [written] = await write(event, Answering(PROGRAM))
    assert isinstance(written, CodeWritten)
    made = written.conversation
    made.turns[-1].calculation.attempts[-1].execution.CopyFrom(calculated(correct).attempts[0].execution)
    return made


@pytest.mark.parametrize(("value", "correct"), [(180000, False), (90000, True)])
async def test_a_program_against_a_settled_value_goes_back_with_both_numbers_and_is_overruled_at_last(
    value: float, correct: bool
) -> None:
    made = claiming(value, correct=correct)
    for _ in range(TRIES):
        event = await composed(made)
        assert isinstance(event, CalculationNeeded)
        why = event.conversation.turns[-1].rejected[-1].because
        assert "3600" in why
        assert "W = 180000 J" in why
        made = await another_program(event, correct=correct)
    model = Answering("{}")
    told = (await composed(made, model)).conversation.turns[-1].calculation
    assert told.overruled
    assert told.settled_output == f"W = 180000 J\nstudent_is_right = {value == 180000}"
    assert told.settled_output in model.requests[0].messages[-1].text


async def test_where_nothing_is_settled_two_programs_that_agree_decide() -> None:
    event = await composed(claiming(90000, correct=False, settled=False))
    assert isinstance(event, CalculationNeeded)
    made = await another_program(event, correct=False)
    turn = (await composed(made)).conversation.turns[-1]
    assert (len(turn.calculation.opinions), turn.calculation.overruled) == (1, False)


async def test_a_program_that_failed_before_another_is_asked_for_stays_in_the_record_and_counts_for_nothing() -> None:
    made = claiming(90000, correct=False, settled=False)
    failed = CodeAttempt(code="W = F * s", execution=Execution(status=STATUS_ERROR, error="NameError"))
    made.turns[-1].calculation.attempts.insert(0, failed)
    made = await another_program(await composed(made), correct=True)
    third = await composed(made)
    assert isinstance(third, CalculationNeeded)
    calculation = third.conversation.turns[-1].calculation
    assert [one.execution.status for one in calculation.opinions] == [STATUS_ERROR, STATUS_OK, STATUS_OK]
    calculation.attempts.add(code="1").execution.CopyFrom(calculated(True).attempts[0].execution)
    recorded = RECIPE.record(third.conversation)["turns"][-1]["soliloquy"]["opinions"]
    assert [one["error"] for one in recorded] == ["NameError", "", ""]
    asked = [one for turn, one in RECIPE.prompts(third.conversation) if turn == len(made.turns)]
    first, second, *_ = (text(one) for one in asked if one.name.endswith("use_python"))
    assert "NameError" not in first
    assert "NameError" in second


async def test_a_program_in_the_minority_gives_way_to_one_of_the_majority() -> None:
    made = await another_program(await composed(claiming(90000, correct=False, settled=False)), correct=False)
    made.turns[-1].calculation.attempts[-1].execution.CopyFrom(calculated(True).attempts[0].execution)
    made = await another_program(await composed(made), correct=False)
    turn = (await composed(made)).conversation.turns[-1]
    assert not turn.calculation.attempts[-1].execution.values[-1].value.boolean
    assert [one.execution.values[-1].value.boolean for one in turn.calculation.opinions] == [False, True]


@pytest.mark.parametrize(("value", "correct"), [(180000, False), (90000, True)])
async def test_no_majority_decides_against_a_value_that_the_solution_states(value: float, correct: bool) -> None:
    event = await composed(claiming(value, correct=correct, settled=False))
    turn = (await composed(await another_program(event, correct=correct))).conversation.turns[-1]
    assert (turn.calculation.overruled, turn.calculation.settled_output) == (True, "")


async def test_no_majority_calls_a_number_wrong_that_the_solution_states_in_a_unit_of_no_table() -> None:
    made = claiming(180000, correct=False, settled=False)
    made.problem.steps[-1].result.unit = "% per annum"
    event = await composed(made)
    turn = (await composed(await another_program(event, correct=False))).conversation.turns[-1]
    assert (turn.calculation.overruled, turn.calculation.settled_output) == (True, "")


async def test_the_program_that_comes_to_what_the_solution_states_leads_its_majority() -> None:
    made = await another_program(await composed(claiming(90000, correct=False, settled=False)), correct=False)
    first, last = made.turns[-1].calculation.opinions[0].execution, made.turns[-1].calculation.attempts[-1].execution
    for execution, value in ((first, 180000.0), (last, 3600.0)):
        execution.values.add(name="result").value.real = value
    calculation = (await composed(made)).conversation.turns[-1].calculation
    assert calculation.attempts[-1].execution.values[-1].value.real == 180000


async def test_without_a_majority_the_verdict_is_open_and_the_tutor_is_told_to_judge_nothing() -> None:
    made = await another_program(await composed(claiming(90000, correct=False, settled=False)), correct=True)
    made = await another_program(await composed(made), correct=None)
    model = Answering("{}")
    turn = (await composed(made, model)).conversation.turns[-1]
    assert (turn.calculation.overruled, turn.calculation.settled_output) == (True, "")
    assert "judge none" in model.requests[0].messages[-1].text


def judged(value: float, evaluation: Evaluation, text: str = "Well done.", *, settled: bool = True) -> list[str]:
    made = conversation(*sound_turns())
    if not settled:
        made.problem.plan = PLAN_SOURCE_PROSE
    turn: Turn = made.turns[-1]
    turn.student.text = f"The work is {value:g} J."
    turn.student.claims.append(Claim(quantity="W", value=value, unit="J", half=0.5))
    turn.student.claims_by = CLAIM_READER_SPEAKER
    turn.tutor.evaluation, turn.tutor.text = evaluation, text
    return [fault for fault in RECIPE.check(made).faults if fault.startswith("verdict")]


@pytest.mark.parametrize(("value", "evaluation"), [(90000, EVALUATION_CORRECT), (180000, EVALUATION_INCORRECT)])
def test_a_verdict_against_a_settled_value_rejects_the_conversation(value: float, evaluation: Evaluation) -> None:
    [fault] = judged(value, evaluation)
    assert f"{value:g}" in fault.replace(",", "")


def test_a_verdict_that_agrees_with_the_settled_value_is_no_fault() -> None:
    assert judged(180000, EVALUATION_CORRECT) == []
    assert judged(90000, EVALUATION_INCORRECT) == []


@pytest.mark.parametrize(("value", "evaluation"), [(90000, EVALUATION_CORRECT), (180000, EVALUATION_INCORRECT)])
def test_a_verdict_against_what_the_solution_states_rejects_the_conversation_though_nothing_settles_it(
    value: float, evaluation: Evaluation
) -> None:
    [fault] = judged(value, evaluation, settled=False)
    assert "contradicts what the solution states" in fault


def test_a_verdict_that_agrees_with_what_the_solution_states_is_no_fault() -> None:
    assert judged(180000, EVALUATION_CORRECT, settled=False) == []
    assert judged(90000, EVALUATION_INCORRECT, settled=False) == []


def test_a_result_told_against_what_the_solution_states_rejects_the_conversation() -> None:
    made = conversation(*sound_turns())
    made.problem.plan = PLAN_SOURCE_PROSE
    made.turns[-1].student.claims_by = CLAIM_READER_SPEAKER
    made.turns[-1].tutor.text = "It is 90000 J."
    made.turns[-1].tutor.claims.add(quantity="W", value=90000, unit="J", half=0.5)
    [fault] = [fault for fault in RECIPE.check(made).faults if fault.startswith("verdict")]
    assert "90000 J, and W = 180000 J" in fault


def test_a_reply_that_miscalculates_rejects_the_conversation() -> None:
    [fault] = judged(180000, EVALUATION_CORRECT, "Right: 1500 * 120 = 18000 J, as you say.")
    assert "'1500 * 120 = 18000 J', which does not come out" in fault


@each_case
def test_a_wrong_sum_that_a_reply_takes_up_or_asks_about_is_not_its_own(text: str) -> None:
    assert judged(90000, EVALUATION_INCORRECT, text) == []


def test_a_denial_of_a_settled_value_rejects_the_conversation() -> None:
    [fault] = judged(180000, EVALUATION_CORRECT, "It is 90000 J and not 180000 J.")
    assert "denies W = 180000 J" in fault
