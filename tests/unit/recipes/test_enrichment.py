"""An enriched solution keeps to its source, and what is right is not taken for wrong."""

import pytest
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.descriptor_pb2 import FieldDescriptorProto

from soliloquy.dataset.contract import labelled, row_handler
from soliloquy.recipes.labels import Labels, labels_of, places
from soliloquy.recipes.soliloquy.answers import Enriched
from soliloquy.recipes.soliloquy.planner import check, faults, one_step_per_line, steps_in
from soliloquy.runtime.answers import Unreadable
from soliloquy.runtime.retry import Refused
from soliloquy.v1.conversation_pb2 import Conversation, Problem, Step
from tests.cases import each_case
from tests.unit.recipes.conversations import enriched_conversation

CAR = Problem(
    question="A 1,500 kg car speeds up from rest at 2.40 m/s^2 over 0.5 km. Three friends watch. How fast is it then?",
    solution="Step 1) s = 0.5 × 1000 = 500 m. Step 2) v² = 2 × a × s, so v = √(2 × 2.4 × 500) = 48.99 m/s. "
    "With K = ⅓ m v² or 3.4e5 J at hand it takes 50 / 20 = 2.5 times as long.",
    steps=[Step(number=1, formula="T = t + 273.15")],
)


def enriched(detailed: str, outline: str) -> Enriched:
    return Enriched.model_validate({"Detailed Solution": detailed, "Solution Outline": outline})


def found(*, detailed: str = "Nothing.", outline: str = "Nothing.") -> list[str]:
    return list(faults(enriched(f"Step 1) {detailed}", f"Step 1) {outline}"), CAR))


@each_case
def test_what_the_source_says_in_any_writing_is_no_fault(text: str) -> None:
    assert found(detailed=text) == []


@each_case
def test_a_number_that_is_not_in_the_source_is_named(text: str, named: str) -> None:
    fault, *_ = found(detailed=text)
    assert fault.startswith(f'"Detailed Solution": {named!r} is in neither the question nor the solution')


def test_the_outline_is_held_to_the_source_too() -> None:
    assert any("'77 m' is in neither" in fault for fault in found(outline="Go on for 77 m."))


@each_case
def test_an_outline_may_name_formulas(text: str) -> None:
    assert found(outline=text) == []


@each_case
def test_a_calculation_in_the_outline_is_named(text: str, named: str) -> None:
    assert f'"Solution Outline": {named!r} is a calculation; name what is done' in found(outline=text)


@each_case
def test_steps_are_read_however_they_are_numbered(text: str) -> None:
    assert steps_in(text) == ["First.", "Second, by Step 1)."]
    assert one_step_per_line(text) == "Step 1) First.\nStep 2) Second, by Step 1)."


@pytest.mark.parametrize(
    "text", ["First, then second.", "Step 1) First.", "Step 2) First. Step 1) Second.", "Step 1) a 3) b"]
)
def test_steps_that_are_missing_or_out_of_order_are_told(text: str) -> None:
    right = "Step 1) First. Step 2) Second."
    problem = Problem(steps=[Step(number=1), Step(number=2)])
    for detailed, outline, name in ((text, right, "Detailed Solution"), (right, text, "Solution Outline")):
        [fault] = faults(enriched(detailed, outline), problem)
        assert (
            fault
            == f'"{name}": {len(steps_in(text))} steps are numbered in order; 2 are wanted, "Step 1)" to "Step 2)"'
        )


def test_an_empty_step_is_told() -> None:
    problem = Problem(steps=[Step(number=1), Step(number=2)])
    answer = enriched("Step 1) . Step 2) Second.", "Step 1) First. Step 2) Second.")
    assert list(faults(answer, problem)) == ['"Detailed Solution": step 1 is empty']


def test_a_model_is_told_the_first_few_faults_once_each() -> None:
    answer = enriched("Step 1) 7 m, 7 m, 11 m, 13 m and 17 m", "Step 1) Nothing.")
    with pytest.raises(Unreadable) as told:
        check(answer, CAR)
    assert [number for number in ("7 m", "11 m", "13 m", "17 m") if repr(number) in str(told.value)] == [
        "7 m",
        "11 m",
        "13 m",
    ]
    assert str(told.value).count("'7 m'") == 1


# A field with a length that the bytes do not have.
NO_MESSAGE = b"\x0a\xff"


@pytest.mark.parametrize("place", ["student", "tutor"])
def test_labels_that_are_no_message_of_the_recipe_are_refused_with_their_place(place: str) -> None:
    conversation, labels = enriched_conversation(), labels_of("soliloquy")
    labels.check(conversation)
    next(one for name, one in places(conversation) if name == place).labels = NO_MESSAGE
    with pytest.raises(Refused, match=f"the labels of its {place} are no soliloquy.recipes.soliloquy."):
        labels.check(conversation)


def test_a_message_within_a_label_is_a_column_of_its_own_type() -> None:
    file = descriptor_pb2.FileDescriptorProto(name="within.proto", package="within", syntax="proto3")
    outer = file.message_type.add(name="TurnLabels")
    outer.nested_type.add(name="Middle").field.add(
        name="inner", number=1, type=FieldDescriptorProto.TYPE_MESSAGE, type_name=".within.Inner", label=1
    )
    outer.field.add(
        name="middle", number=1, type=FieldDescriptorProto.TYPE_MESSAGE, type_name=".within.TurnLabels.Middle", label=1
    )
    file.message_type.add(name="Inner").field.add(name="depth", number=1, type=FieldDescriptorProto.TYPE_INT32, label=1)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    kind = message_factory.GetMessageClass(pool.FindMessageTypeByName("within.TurnLabels"))
    conversation = Conversation()
    # The field `middle` with the field `inner` with the field `depth`, which is 7.
    conversation.turns.add(labels=b"\x0a\x04\x0a\x02\x08\x07")
    handler = row_handler(labelled(Labels(turn=kind)), "Conversation")
    batch = handler.list_to_record_batch([conversation.SerializeToString()])
    [turn] = batch["turns"].to_pylist()[0]
    assert turn["labels"] == {"middle": {"inner": {"depth": 7}}}
    assert handler.record_batch_to_array(batch).to_pylist() == [conversation.SerializeToString()]
