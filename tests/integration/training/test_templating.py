"""Samples have the same tokens as in service, with exactly the right ones learned, for any chat template."""

import json
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from soliloquy.recipes.recipe import ReplyContext, TrainingMessage
from soliloquy.runtime.failure import Failure
from soliloquy.v1.model_pb2 import Message
from soliloquy_training.data import Sample, samples
from soliloquy_training.templating import Template, load_tokenizer
from tests.unit.training.growing import conversations, dialogues
from tests.unit.training.test_replies import VARIANTS

CHATML = (
    "{% for message in messages %}<|begin|>{{ message['role'] }}\n{{ message['content'] | trim }}<|end|>\n"
    "{% endfor %}{% if add_generation_prompt %}<|begin|>assistant\n{% endif %}"
)
# Puts an empty thought before the last answer, as some templates do; the prompt as it is served has none.
THINKING = CHATML.replace(
    "{{ message['content'] | trim }}",
    "{% if message['role'] == 'assistant' and loop.last %}<think>\n\n</think>\n\n{% endif %}{{ message['content'] }}",
)
# The text before a message says how many messages there are in all.
COUNTING = "{{ messages | length }}" + CHATML
MARKED_COUNTING = "{{ messages | length }}" + (
    "{% for message in messages %}<|begin|>{{ message['role'] }}\n{% if message['role'] == 'assistant' %}"
    "{% generation %}{{ message['content'] }}<|end|>{% endgeneration %}{% else %}{{ message['content'] }}<|end|>"
    "{% endif %}\n{% endfor %}{% if add_generation_prompt %}<|begin|>assistant\n{% endif %}"
)


@pytest.fixture
def with_template(base: Path, tmp_path: Path) -> Callable[[str], Path]:
    def make(template: str) -> Path:
        folder = tmp_path / "other"
        shutil.copytree(base, folder, ignore=shutil.ignore_patterns("*.safetensors"))
        (folder / "chat_template.jinja").write_text(template)
        return folder

    return make


def learned_texts(folder: Path, chats: Sequence[Sample]) -> list[str]:
    tokenizer, found = load_tokenizer(folder), Template(folder).tokens(chats)
    return [tokenizer.decode([id for id, learned in zip(*each, strict=True) if learned]) for each in found if each]


@pytest.mark.parametrize("source", [None, CHATML, THINKING])
def test_the_prompt_of_a_sample_is_token_for_token_what_the_model_service_makes_of_it(
    base: Path, with_template: Callable[[str], Path], source: str | None
) -> None:
    from soliloquy_services.model.engines.tokenizer import ChatTokenizer

    folder = with_template(source) if source else base
    served, template = ChatTokenizer(folder), Template(folder)
    for sample in samples(conversations(1)[0], "states"):
        prompt = served.prompt([Message(role=told.role, text=told.text) for told in sample[:-1]])
        (tokens,) = template.tokens([sample])
        assert tokens
        assert tokens.ids[: len(prompt)] == prompt
        assert tokens.learned == [False] * len(prompt) + [True] * (len(tokens.ids) - len(prompt))


@pytest.mark.parametrize("given", VARIANTS, ids=str)
def test_a_replys_words_and_its_end_are_learned_whatever_is_given_with_it(base: Path, given: ReplyContext) -> None:
    found = samples(dialogues()[0], "replies", given)
    assert learned_texts(base, found) == [f"{sample[-1].text}<|end|>" for sample in found]


@pytest.mark.parametrize("source", [None, CHATML, THINKING])
def test_what_is_learned_is_the_answer_and_its_end_and_nothing_else(
    base: Path, with_template: Callable[[str], Path], source: str | None
) -> None:
    found = samples(conversations(1)[0], "states")
    assert all(json.loads(sample[-1].text) for sample in found)
    learned = learned_texts(with_template(source) if source else base, found)
    assert learned == [f"{sample[-1].text}<|end|>" for sample in found]


@pytest.mark.parametrize("source", [None, CHATML, MARKED_COUNTING])
def test_of_a_dialogue_the_tutors_messages_are_learned_each_with_its_end(
    base: Path, with_template: Callable[[str], Path], source: str | None
) -> None:
    [sample] = samples(conversations(1)[0], "dialogue")
    expected = "".join(f"{told.text}<|end|>" for told in sample if told.learned)
    assert learned_texts(with_template(source) if source else base, [sample]) == [expected]


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ("{% for message in messages %}{{ message['content'] }}\n{% endfor %}", "no special token ends a reply"),
        (COUNTING, "depends on later messages"),
        (CHATML.replace("| trim", "| upper"), "is not rendered verbatim"),
    ],
)
def test_a_template_that_cannot_be_marked_is_one_line(
    with_template: Callable[[str], Path], source: str, told: str
) -> None:
    [sample] = samples(conversations(1)[0], "dialogue")
    with pytest.raises(
        Failure, match=r"cannot mark learned tokens with the chat template of other: .*\{% generation %\}"
    ) as error:
        Template(with_template(source)).tokens([sample])
    assert told in str(error.value)


def test_a_template_that_knows_no_tools_says_so(with_template: Callable[[str], Path]) -> None:
    strict = (
        "{% for m in messages %}{% if m['role'] == 'tool' %}{{ raise_exception('no tools') }}{% endif %}{% endfor %}"
    )
    calculated = next(one for one in conversations(3) if any(turn.HasField("calculation") for turn in one.turns))
    [sample] = samples(calculated, "dialogue")
    with pytest.raises(Failure, match="rejects a chat of system, user, assistant, tool: no tools"):
        Template(with_template(strict + CHATML)).tokens([sample])


def test_words_of_a_special_token_are_never_taken_for_one(base: Path) -> None:
    chat = [
        TrainingMessage("user", "What does <|end|> mean?", 1),
        TrainingMessage("assistant", "Nothing.", 1, learned=True),
    ]
    assert Template(base).tokens([chat]) == [None]


def test_the_grammar_that_holds_a_served_model_lets_every_learned_answer_through(base: Path) -> None:
    import llguidance.hf
    from llguidance import LLMatcher
    from transformers import AutoTokenizer

    from soliloquy.recipes.recipe import find
    from soliloquy_services.model.engines.grammar import grammar
    from tests.unit.training.test_samples import ANSWERS

    tokenizer = AutoTokenizer.from_pretrained(base, local_files_only=True)
    guide = llguidance.hf.from_tokenizer(tokenizer)
    for lesson in find("soliloquy").lessons(conversations(1)[0]):
        matcher = LLMatcher(guide, grammar(ANSWERS[lesson.prompt.name].json_schema()))
        ids = tokenizer(lesson.answer, add_special_tokens=False)["input_ids"]
        assert matcher.validate_tokens(ids) == len(ids), lesson.answer
