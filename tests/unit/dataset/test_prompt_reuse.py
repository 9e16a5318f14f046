"""What a cache of prefixes holds of a dataset's prompts."""

import asyncio

import pytest

from soliloquy.dataset.prompt_reuse import PARTS, PromptReuse, held, replayed, share, tokens_in
from tests.unit.scripted.growing import grown


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


def test_the_states_of_the_tutor_share_their_rules_and_most_of_each_prompt_is_held(reuse: PromptReuse) -> None:
    assert {reuse.role_of(state) for state in reuse.states} == {"student", "tutor", "codegen", "composer"}
    for state in ("deciding", "received_python", "no_python", "use_python"):
        use = reuse.states[f"soliloquy/{state}"]
        # The first conversation fills the cache.
        assert share(use, 0) > share(use, 128) > 0.6
        assert share(use, 1024) > 0.6
