"""The small model's tokenizer: nothing is lost, what is always the same is short, and numbers can be copied."""

from typing import Any

import pytest

from soliloquy.problems.bank.bank import load_bank
from soliloquy.recipes.soliloquy.prompting import TEMPLATES, deciding
from tests.models import needs_torch
from tests.unit.training.growing import conversations

pytestmark = needs_torch


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    from benchmarks.small_model.base import train_tokenizer

    bank = load_bank("physics")
    texts = [problem.question + problem.solution for problem in map(bank.draw, range(60))]
    return train_tokenizer(texts, TEMPLATES.folder, vocabulary=1500)


def test_every_text_comes_back_as_it_was(tokenizer: Any) -> None:
    prompt = "\n".join(message.text for message in deciding(conversations(1)[0]).messages)
    for text in (prompt, "µ = 3.4 × 10⁻⁵ … “ok” 😀", '{"Use Python":"n"}', "  two\n\n\tlines "):
        assert tokenizer.decode(tokenizer.encode(text, add_special_tokens=False)) == text


def test_a_passage_that_every_prompt_has_is_one_token(tokenizer: Any) -> None:
    from benchmarks.small_model.base import fixed_passages

    passages = fixed_passages(TEMPLATES.folder)
    assert len(passages) > 20
    assert all(len(tokenizer.encode(passage, add_special_tokens=False)) == 1 for passage in passages)
    assert len(tokenizer) <= 1500


def test_a_number_has_a_token_for_each_digit_wherever_it_stands(tokenizer: Any) -> None:
    tokens = tokenizer.convert_ids_to_tokens(tokenizer.encode("r = 2.3757e-05", add_special_tokens=False))
    assert [token for token in tokens if token.isdigit()] == list("2375705")
