"""A row loses nothing of its conversation."""

from soliloquy.dataset.rows import messages, rows
from soliloquy.recipes.packages import DEFAULT
from soliloquy.v1.conversation_pb2 import Conversation, Ending
from soliloquy.v1.sandbox_pb2 import Complex, Entries, Entry, Items, NamedValue, Value
from tests.datasets import accepted_rows

VALUES = [
    Value(boolean=False),
    Value(integer="123456789012345678901234567890"),
    Value(real=-0.0),
    Value(complex=Complex(real=1.0, imaginary=-2.0)),
    Value(text="ünïcödé"),
    Value(items=Items(items=[Value(real=1.5), Value(items=Items(items=[Value(none=True)]))])),
    Value(entries=Entries(entries=[Entry(key=Value(text="k"), value=Value(boolean=True))])),
    Value(none=True),
    Value(unserialisable="function"),
]


def conversation() -> Conversation:
    grown = Conversation(id="c1", ordinal=7, ending=Ending.ENDING_SOLVED)
    grown.run.seed = 2**64 - 1
    turn = grown.turns.add(number=1)
    attempt = turn.calculation.attempts.add(code="x = 1\n")
    attempt.execution.values.extend(NamedValue(name=f"v{i}", value=value) for i, value in enumerate(VALUES))
    grown.turns.add(number=2)
    return grown


def test_a_row_is_its_message_to_the_byte() -> None:
    serialised = [conversation().SerializeToString(), Conversation().SerializeToString()]
    assert messages(rows(serialised, DEFAULT)) == serialised


def test_an_enum_is_named_as_in_the_contract() -> None:
    assert accepted_rows([conversation()])["ending"].to_pylist() == ["ENDING_SOLVED"]


def test_an_unset_message_is_null() -> None:
    turns = accepted_rows([conversation()])["turns"].to_pylist()[0]
    assert turns[0]["calculation"] is not None
    assert turns[1]["calculation"] is None
