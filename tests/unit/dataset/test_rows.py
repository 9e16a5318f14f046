"""A row loses nothing of its conversation."""

import asyncio

import pytest

from soliloquy.dataset.prompt_reuse import PARTS, PromptReuse, held, replayed, share, tokens_in
from soliloquy.dataset.rows import messages, rows
from soliloquy.recipes.packages import DEFAULT
from soliloquy.v1.conversation_pb2 import Conversation, Ending
from soliloquy.v1.sandbox_pb2 import Complex, Entries, Entry, Items, NamedValue, Value
from tests.unit.scripted.growing import grown

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


@pytest.fixture(scope="module")
def reuse() -> PromptReuse:
    async def conversations() -> PromptReuse:
        return replayed([await grown(ordinal, seed=3) for ordinal in range(6)])

    return asyncio.run(conversations())


def test_a_cache_holds_prefixes_from_its_fewest_tokens_on_in_steps() -> None:
    assert [held(tokens, 0) for tokens in (0, 7)] == [0, 7]
    assert [held(tokens, 128) for tokens in (127, 128, 300)] == [0, 128, 256]
    assert [held(tokens, 1024) for tokens in (1023, 1024, 1151, 1152)] == [0, 1024, 1024, 1152]


def test_a_token_is_a_word_a_sign_or_three_digits() -> None:
    assert tokens_in("The net force is 1250 N.") == 9


def test_the_parts_of_all_prompts_are_the_prompts(reuse: PromptReuse) -> None:
    total = reuse.total
    assert {*total.parts} <= {*PARTS}
    # Cutting a text may cut a token in two.
    assert total.parts.total() == pytest.approx(total.tokens, rel=0.01)


def test_most_of_each_prompt_of_the_tutor_is_held(reuse: PromptReuse) -> None:
    assert {reuse.role_of(state) for state in reuse.states} == {"student", "tutor", "codegen", "composer"}
    for state in ("deciding", "received_python", "no_python", "use_python"):
        use = reuse.states[f"soliloquy/{state}"]
        # The first conversation fills the cache.
        assert share(use, 0) > share(use, 128) > 0.5
