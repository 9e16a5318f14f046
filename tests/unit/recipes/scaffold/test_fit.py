"""Which messages show the state that was drawn, by whom that is found, and what becomes of the others."""

import pytest

from soliloquy.recipes.judges import Judges
from soliloquy.recipes.scaffold.answers import Tutored
from soliloquy.recipes.scaffold.composer import reply
from soliloquy.recipes.scaffold.expected_answers import expected_number, gives_expected
from soliloquy.recipes.scaffold.fit import TRIES_AGAIN, find_misfit, misfit, send_back
from soliloquy.recipes.scaffold.labels_pb2 import (
    EnrichmentLabels,
    LearnerState,
    Plan,
    StudentLabels,
    SubQuestion,
    TutorLabels,
)
from soliloquy.recipes.scaffold.memory import next_turn, plan_of, store_solved
from soliloquy.recipes.scaffold.reply_rules import count_questions, reply_faults
from soliloquy.recipes.scaffold.rules import check
from soliloquy.recipes.scaffold.states import COMPREHENSION, CORRECT, END, INCORRECT, NAMES, START, STATES
from soliloquy.runtime.answers import Unreadable
from soliloquy.runtime.ask import Ask
from soliloquy.v1.conversation_pb2 import (
    CLAIM_READER_SPEAKER,
    PLAN_SOURCE_PROSE,
    Calculation,
    CodeAttempt,
    Conversation,
    Ending,
    Judge,
    Problem,
    Quantity,
)
from soliloquy.v1.events_pb2 import ConversationFinished, ReplyNeeded, StudentRejected, TutorReplied
from soliloquy.v1.sandbox_pb2 import STATUS_ERROR, STATUS_OK, Execution, NamedValue, Value
from tests.cases import each_case
from tests.unit.answering import Answering

FORMULA, NUMBER, WORDS = 1, 2, 3
ANSWERS = {FORMULA: "d = v × t", NUMBER: "96 pupils", WORDS: "add the two halves of the way"}


def conversation(text: str, state: LearnerState, *, at: int = NUMBER, found: bool | None = None) -> Conversation:
    """A plan with an answer of each kind, at one of its sub-questions; `found` is what a program says."""
    questions = [SubQuestion(question=f"What about part {number}?", answer=one) for number, one in ANSWERS.items()]
    problem = Problem(question="4 classes of 24 pupils each come by bus. How far do they go?")
    problem.enrichment.labels = EnrichmentLabels(plan=Plan(questions=questions)).SerializeToString()
    made = Conversation(problem=problem)
    first = next_turn(made)
    store_solved(first, [number < at for number in ANSWERS])
    made.turns.append(first)
    turn = next_turn(made)
    turn.student.text, turn.student.labels = text, StudentLabels(learner_state=state).SerializeToString()
    if found is not None:
        execution = Execution(status=STATUS_OK, values=[NamedValue(name="is_correct", value=Value(boolean=found))])
        turn.calculation.CopyFrom(Calculation(attempts=[CodeAttempt(execution=execution)]))
    made.turns.append(turn)
    return made


def judged(made: Conversation) -> tuple[str, Judge] | None:
    rejected = find_misfit(made, made.turns[-1])
    return (rejected.because, rejected.judge) if rejected else None


@pytest.mark.parametrize(
    "form",
    ["d = v × t", "v * t = d", "t = d / v", "I would take d = t·v.", "It is d/t = v, I think."],
)
def test_an_equivalent_form_of_an_expression_is_the_answer(form: str) -> None:
    assert judged(conversation(form, CORRECT, at=FORMULA)) is None
    assert judged(conversation(form, INCORRECT, at=FORMULA)) == (
        "its answer is right, and was to be wrong",
        Judge.JUDGE_ALGEBRA,
    )


@pytest.mark.parametrize(
    ("text", "is_given"), [("So 3y = 12.", True), ("3y = 22", False), ("It's 3y = 12, I think.", True)]
)
def test_an_equation_behind_its_words_is_the_answer_and_no_number(text: str, is_given: bool) -> None:
    assert gives_expected(text, SubQuestion(answer="Take 5 from both sides: 3y = 12.")) is is_given


def test_another_expression_is_no_answer() -> None:
    assert judged(conversation("d = v / t", INCORRECT, at=FORMULA)) is None
    assert judged(conversation("d = v / t", CORRECT, at=FORMULA)) == (
        "its answer is wrong, and was to be right",
        Judge.JUDGE_ALGEBRA,
    )


@pytest.mark.parametrize("found", [True, False])
def test_of_a_number_the_program_has_the_say(found: bool) -> None:
    fitting, other = (CORRECT, INCORRECT) if found else (INCORRECT, CORRECT)
    text = "It is 96." if found else "It is 90."
    assert judged(conversation(text, fitting, found=found)) is None
    rejected = judged(conversation(text, other, found=found))
    assert rejected
    assert rejected[1] == Judge.JUDGE_CODE


@pytest.mark.parametrize(("text", "found"), [("It is 96.", False), ("It is 90.", True)])
@pytest.mark.parametrize("drawn", [CORRECT, INCORRECT])
def test_no_program_sends_an_answer_back_against_what_the_plan_expects(
    text: str, found: bool, drawn: LearnerState
) -> None:
    assert judged(conversation(text, drawn, found=found)) is None


@pytest.mark.parametrize(("value", "drawn", "first"), [(96, CORRECT, "Incorrect"), (90, INCORRECT, "Correct")])
async def test_what_a_model_thinks_sends_no_answer_back_against_what_the_solution_states(
    value: float, drawn: LearnerState, first: str
) -> None:
    made = conversation(f"It is {value:g}.", drawn)
    made.run.max_turns, made.problem.plan = 9, PLAN_SOURCE_PROSE
    made.problem.steps.add(number=1).result.CopyFrom(Quantity(symbol="x1", value=96, unit="pupils"))
    opening, turn = made.turns
    opening.tutor.labels = TutorLabels(learner_state=START).SerializeToString()
    turn.student.claims.add(quantity="x1", value=value, half=0.5)
    turn.student.claims_by = CLAIM_READER_SPEAKER
    # Programs that nothing settles were outvoted.
    turn.calculation.overruled = True
    model = Answering(
        *(
            f"[Analysis and Decision] Well.\n[Learner State] {state}\n[Reply] And then?\n[Results Told] []"
            for state in (first, NAMES[drawn].capitalize())
        )
    )
    [event] = await reply(ReplyNeeded(conversation=made), Ask(model=model, role="tutor", origin=(1,)), Judges())
    assert isinstance(event, TutorReplied)
    assert not event.conversation.turns[-1].rejected
    assert "compared with the solution" in model.requests[1].messages[-1].text


def test_where_no_program_ran_the_expected_number_is_compared() -> None:
    made = conversation("That makes ninety-six pupils.", CORRECT)
    made.turns[-1].calculation.attempts.add(execution=Execution(status=STATUS_ERROR))
    assert judged(made) is None
    assert judged(conversation("That makes 95 pupils.", CORRECT)) == (
        "its answer is wrong, and was to be right",
        Judge.JUDGE_RULE,
    )


@pytest.mark.parametrize(
    "text", ["96! There are 4 classes of 24.", "Not 86 but 96.", "96 pupils, because 4 × 24 and not 4 + 24."]
)
def test_the_answer_may_stand_anywhere_in_a_message(text: str) -> None:
    assert judged(conversation(text, CORRECT)) is None
    rejected = judged(conversation(text, INCORRECT))
    assert rejected
    assert rejected[0] == "its answer is right, and was to be wrong"


@each_case
def test_a_message_that_shows_something_else_is_found_without_a_model(text: str, state: str, because: str) -> None:
    rejected = judged(conversation(text, STATES[state]))
    assert rejected
    assert rejected[0].startswith(because)
    assert rejected[1] == Judge.JUDGE_RULE


@pytest.mark.parametrize(
    ("text", "state"),
    [("Why 24?", "question"), ("I'm lost with the 4 classes.", "confusion"), ("My dog!", "irrelevant")],
)
def test_what_the_problem_says_itself_is_no_answer(text: str, state: str) -> None:
    assert judged(conversation(text, STATES[state])) is None


@each_case
def test_a_number_among_words_is_not_what_is_expected(answer: str, number: float | None) -> None:
    found = expected_number(answer)
    assert (found.value if found else None) == number


@each_case
def test_the_expected_quantity_may_have_its_unit_in_any_spelling(text: str, expected: str, is_given: bool) -> None:
    assert (gives_expected(text, SubQuestion(answer=expected)) is True) is is_given


@each_case
def test_the_unit_counts_in_latex_too(message: str, given: bool) -> None:
    assert (gives_expected(message, SubQuestion(answer="250 N")) is True) is given


def test_an_answer_in_words_is_left_to_the_model() -> None:
    assert judged(conversation("Put both halves together.", CORRECT, at=WORDS)) is None
    assert judged(conversation("Put both halves together.", INCORRECT, at=WORDS)) is None


def test_a_message_goes_back_with_its_reason_until_the_student_has_tried_often_enough() -> None:
    made = conversation("I see.", CORRECT, found=False)
    for number in range(1, TRIES_AGAIN + 1):
        (event,) = send_back(made, misfit(f"reason {number}", Judge.JUDGE_CODE))
        assert isinstance(event, StudentRejected)
        turn = event.conversation.turns[-1]
        assert (turn.student.text, turn.rejected[-1].because) == ("", f"reason {number}")
        assert not event.conversation.turns[-1].HasField("calculation")
        turn.student.text = "I see!"
    assert [one.HasField("calculation") for one in turn.rejected] == [True, *[False] * (TRIES_AGAIN - 1)]
    (event,) = send_back(made, misfit("the last reason", Judge.JUDGE_RULE))
    assert isinstance(event, ConversationFinished)
    assert made.ending == Ending.ENDING_REJECTED
    assert made.ending_reason.endswith("do not show 'correct', the last because the last reason")


@each_case
def test_a_reply_asks_one_question_about_the_problem_and_tells_no_answer_early(
    reply: str, state: str, rules: list[str]
) -> None:
    made = conversation("Hm.", STATES[state])
    assert [rule for rule, _ in reply_faults(reply, "Fine.", STATES[state], made, made.turns[-1])] == rules


def test_a_tutor_may_quote_what_the_student_miscalculated() -> None:
    made = conversation("72 - 15 = 67 pupils", INCORRECT)
    reply = "You wrote 72-15 = 67. How many pupils are left when you count again?"
    assert not list(reply_faults(reply, "Fine.", INCORRECT, made, made.turns[-1]))
    assert [rule for rule, _ in reply_faults(reply, "Fine.", CORRECT, made, made.turns[-1])] == ["arithmetic"]


def asked(question: str, answer: str) -> Conversation:
    """A problem with this question, whose sub-question at hand has this answer."""
    made = conversation("Hm.", INCORRECT)
    made.problem.question = question
    plan = plan_of(made.problem)
    plan.questions[NUMBER - 1].answer = answer
    made.problem.enrichment.labels = EnrichmentLabels(plan=plan).SerializeToString()
    return made


def test_a_quantity_that_is_given_in_another_unit_is_still_an_answer() -> None:
    made = asked("How many lengths of a pool of 25 m make 1 km?", "1000 m")
    reply = "A kilometre of lengths is 1000 metres. What about part 2?"
    assert [rule for rule, _ in reply_faults(reply, "Fine.", INCORRECT, made, made.turns[-1])] == ["revealed"]


def test_a_quantity_that_was_given_may_be_named_as_it_was_given() -> None:
    made = asked("A kettle holds 1.5 L of tea. How many cups of 250 mL is that?", "1500 mL")
    for said, rules in (("The kettle holds 1.5 L", []), ("The kettle holds 1500 mL", ["revealed"])):
        found = reply_faults(f"{said}. What about part 2?", "Fine.", INCORRECT, made, made.turns[-1])
        assert [rule for rule, _ in found] == rules


def test_a_reply_that_names_what_a_later_part_asks_for_is_about_the_problem() -> None:
    made = conversation("Hm.", INCORRECT)
    reply = "Yes. Can you find the ferry's toll?"
    assert [rule for rule, _ in reply_faults(reply, "Fine.", INCORRECT, made, made.turns[-1])] == ["off_task"]
    made.problem.steps.add(number=1).result.name = "toll of the ferry"
    assert not list(reply_faults(reply, "Fine.", INCORRECT, made, made.turns[-1]))


def test_the_end_says_the_final_answer_and_asks_nothing() -> None:
    made = conversation("Hm.", COMPREHENSION, at=WORDS)
    told = [
        rule for rule, _ in reply_faults("You add the two halves of the way. Done!", "Fine.", END, made, made.turns[-1])
    ]
    assert told == []
    left = [rule for rule, _ in reply_faults("Done! Anything else?", "Fine.", END, made, made.turns[-1])]
    assert left == ["questions", "summary"]


@each_case
def test_an_analysis_that_contradicts_its_state_is_found(analysis: str, state: str, contradicts: bool) -> None:
    made = conversation("Hm.", STATES[state])
    found = [rule for rule, _ in reply_faults("The pupils?", analysis, STATES[state], made, made.turns[-1])]
    assert ("rationale" in found) is contradicts


def test_the_three_parts_are_read_however_they_are_set() -> None:
    text = (
        "Sure!\n**[Analysis and decision]** Right.\n[Learner State]: **Correct**\n[Reply]\nTutor: Well done. What next?"
    )
    read, strict = Tutored.read(text)
    assert (read.state, read.text, strict) == ("correct", "Well done. What next?", False)


@pytest.mark.parametrize("text", ["Well done!", "[Analysis and Decision] a [Learner State] happy [Reply] b"])
def test_an_answer_without_its_parts_is_asked_for_again(text: str) -> None:
    with pytest.raises(Unreadable):
        Tutored.read(text)


def test_a_turn_without_a_reply_breaks_no_rule_for_replies() -> None:
    made = conversation("96 pupils", CORRECT)
    made.turns[0].tutor.text = "How many pupils are there?"
    answered = [fault for fault in check(made).faults if "asks exactly one" in fault or "rationale" in fault]
    assert not answered
    assert len(check(made).turns) == 2
    made.turns[1].tutor.text = "Good."
    made.turns[1].tutor.labels = TutorLabels(learner_state=CORRECT).SerializeToString()
    assert any("questions: turn 2" in fault for fault in check(made).faults)


def test_a_conversation_without_a_turn_is_checked() -> None:
    made = conversation("96 pupils", CORRECT)
    del made.turns[:]
    assert not check(made).turns


@each_case
def test_a_request_at_the_end_is_one_question_whatever_it_begins_with(reply: str) -> None:
    assert count_questions(reply) == 1


@pytest.mark.parametrize(
    "reply",
    ["So it is 42.", "First, 6 times 7 is 42.", "So work is force times distance.", "Now think about the other bus."],
)
def test_a_statement_asks_nothing_whatever_it_begins_with(reply: str) -> None:
    assert count_questions(reply) == 0
