"""Labels: what no row can hold is refused, and types within types are columns."""

import pytest
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.descriptor_pb2 import FieldDescriptorProto

from soliloquy.dataset.contract import labelled, row_handler
from soliloquy.recipes.labels import Labels, labels_of, places
from soliloquy.runtime.retry import Refused
from soliloquy.v1.conversation_pb2 import Conversation
from tests.unit.recipes.conversations import enriched_conversation

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
