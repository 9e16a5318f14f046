"""The slips of real models that the recipe accepts, and those it asks about again."""

import json
import time
from contextlib import suppress
from typing import Any

import pytest

from soliloquy.recipes.answers import Decision, Program, StudentMessage, TutorMessage
from soliloquy.recipes.scaffold.answers import PlanAnswer
from soliloquy.recipes.soliloquy.answers import Enriched, Reply
from soliloquy.runtime.answers import Answer, Unreadable
from tests.cases import each_case

REPLY = {
    "Thoughts of Tutorbot": "The number agrees.",
    "Evaluation of Student Response": "b",
    "Action Based on Evaluation": "3",
    "Step Number": "2",
    "Step State": "r",
    "Tutorbot Response": "That's right.",
}


def reply(**bent: Any) -> tuple[Reply, bool]:
    names = {"evaluation": 1, "action": 2, "step": 3, "state": 4, "text": 5}
    fields = dict(REPLY)
    for name, value in bent.items():
        fields[list(REPLY)[names[name]]] = value
    return Reply.read(json.dumps(fields))


def test_the_six_fields_as_asked_for_are_strict() -> None:
    answer, strict = reply()
    assert strict
    assert (answer.evaluation, answer.action, answer.step, answer.state) == ("b", "3", "2", "r")


@each_case
def test_a_label_in_other_words_is_read_and_counted_as_repaired(bent: dict[str, Any], field: str, read: str) -> None:
    answer, strict = reply(**bent)
    assert getattr(answer, field) == read
    assert not strict


def test_the_other_name_of_the_action_field_is_read() -> None:
    fields = {name.replace("on Evaluation", "on the Evaluation"): value for name, value in REPLY.items()}
    answer, strict = Reply.read(json.dumps(fields))
    assert (answer.action, strict) == ("3", False)


@each_case
def test_what_cannot_be_meant_is_asked_about(bent: dict[str, Any], reason: str) -> None:
    with pytest.raises(Unreadable, match=reason):
        reply(**bent)


def test_a_program_keeps_its_indentation_and_splits_its_variables() -> None:
    code = "```python\ndef f():\n    return 1\n\nx = f()\n```"
    program, strict = Program.read(json.dumps({"Python": {"Python Code": code, "Result Variable": "x, is_correct"}}))
    assert strict
    assert program.code == "def f():\n    return 1\n\nx = f()"
    assert program.result_variables == ["x", "is_correct"]


def test_a_yes_without_a_description_is_asked_about() -> None:
    with pytest.raises(Unreadable, match="must say what to calculate"):
        Decision.read('{"Use Python": "y"}')


@pytest.mark.parametrize(("text", "read"), [("Yes", "y"), ("y) use it", "y"), ("No.", "n")])
def test_a_decision_in_words_is_read(text: str, read: str) -> None:
    assert Decision.read(json.dumps({"Use Python": text, "Description": "d"}))[0].use_python == read


def test_a_student_who_is_announced_is_heard_and_one_who_plays_the_tutor_is_not() -> None:
    spoken, strict = StudentMessage.read("Student: is it 5 N?")
    assert (spoken.text, strict) == ("is it 5 N?", False)
    with pytest.raises(Unreadable, match="speaks for another"):
        StudentMessage.read("Is it 5 N?\nTutor: Yes!")


@pytest.mark.parametrize(
    "steps", [["Step 1) Think.", "Step 2) Add."], {"Step 1": "Think.", "Step 2": "Add."}], ids=["list", "object"]
)
def test_steps_that_are_not_one_text_are_put_together(steps: object) -> None:
    enriched, strict = Enriched.read(json.dumps({"Detailed Solution": steps, "Solution Outline": "Step 1) Think."}))
    assert enriched.detailed_solution == "Step 1) Think.\nStep 2) Add."
    assert not strict


def test_a_solution_that_does_not_end_is_not_carried_along() -> None:
    with pytest.raises(Unreadable, match="Detailed Solution: String should have at most 8000 characters"):
        Enriched.read(
            json.dumps({"Detailed Solution": "Step 1) " + "and " * 2000, "Solution Outline": "Step 1) Think."})
        )


@pytest.mark.parametrize("number", [6666018010356348, -(10**9)])
def test_a_step_number_that_no_record_could_hold_is_asked_for_again(number: int) -> None:
    question = {"Question": "What force acts?", "Expected Answer": "5 N", "Steps": [number]}
    with pytest.raises(Unreadable, match=f"there is no step {number}"):
        PlanAnswer.read(json.dumps({"Analysis": "Two steps.", "Sub-Questions": [question]}))
    with pytest.raises(Unreadable, match="Step Number: String should match pattern"):
        Reply.read(json.dumps(REPLY | {"Step Number": 6666018010356348}))


@each_case
def test_an_answer_that_repeats_itself_without_end_is_read_in_time(endless: str) -> None:
    text = f"What is 3 + 4?\n{endless * (8_000 // len(endless))}this reply: x"
    began = time.process_time()
    with suppress(Unreadable):
        TutorMessage.read(text)
    # A nested repetition would take hours; on any machine the others take far less than this.
    assert time.process_time() - began < 2


@pytest.mark.parametrize(
    ("kind", "answer"),
    [
        (Decision, {"Use Python": "y", "Description": "<the calculation, complete in itself>"}),
        (Program, {"Python": {"Python Code": "```python\n<the program>\n```", "Result Variable": "v"}}),
        (Program, {"Python": {"Python Code": "v = 3", "Result Variable": "<name>, <name>"}}),
        (StudentMessage, {"Message": "<what the student says>", "Claims": []}),
        (Reply, REPLY | {"Tutorbot Response": "<what the student gets to read>"}),
    ],
)
def test_a_model_that_copies_the_form_of_its_answer_is_asked_again(kind: type[Answer], answer: dict[str, Any]) -> None:
    with pytest.raises(Unreadable, match="of the form; write your answer in its place"):
        kind.read(json.dumps(answer))


@pytest.mark.parametrize(
    "form",
    ["<what the student says>", "<what the student says", "<your message>", 'Yes.\n<intent kind="right">\nIt is 3 N.'],
)
def test_a_message_with_the_form_or_a_mark_of_the_prompt_is_asked_for_again(form: str) -> None:
    with pytest.raises(Unreadable, match="it is about the message"):
        StudentMessage.read(form)


def test_a_message_may_hold_signs_of_less_and_more() -> None:
    for message in ("<3 thank you", "So 3 < x and y > 4?", "I get <x> = 3 for the mean"):
        assert StudentMessage.read(json.dumps({"Message": message, "Claims": []}))[0].text == message
