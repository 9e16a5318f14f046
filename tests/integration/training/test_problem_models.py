"""Word problems measured by an untrained language model and an encoder."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from soliloquy.cli.problems import problems
from soliloquy_training.evaluation.text_models import Perplexity

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

QUESTIONS = ["how many apples are there ?", "how many pears are left ?", "how many apples are left ?"]
WORDS = ["[PAD]", "[UNK]", *sorted({word for text in QUESTIONS for word in text.split()})]


@pytest.fixture(scope="module")
def tokenizer() -> "PreTrainedTokenizerFast":
    # Every process that only looks for tests would pay for it.
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    made = Tokenizer(models.WordLevel({word: place for place, word in enumerate(WORDS)}, unk_token="[UNK]"))
    made.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return PreTrainedTokenizerFast(tokenizer_object=made, pad_token="[PAD]", unk_token="[UNK]")


@pytest.fixture(scope="module")
def language_model(tokenizer: "PreTrainedTokenizerFast", tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Gives all words the same probability."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    folder = tmp_path_factory.mktemp("language-model")
    shape = LlamaConfig(
        vocab_size=len(WORDS),
        hidden_size=16,
        intermediate_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        max_position_embeddings=8,
    )
    model = LlamaForCausalLM(shape)
    torch.nn.init.zeros_(model.lm_head.weight)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def encoder(tokenizer: "PreTrainedTokenizerFast", tmp_path_factory: pytest.TempPathFactory) -> Path:
    from transformers import BertConfig, BertModel

    folder = tmp_path_factory.mktemp("encoder")
    shape = BertConfig(
        vocab_size=len(WORDS), hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32
    )
    BertModel(shape).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def test_to_a_model_that_knows_nothing_every_text_is_one_of_all_its_words(language_model: Path) -> None:
    scores = Perplexity(language_model).scores([QUESTIONS[0], "how", "", " ".join(QUESTIONS)])
    assert scores == pytest.approx([len(WORDS)] * 2, rel=1e-4)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "problems.jsonl"
    code = "def solution():\n    return 2 + 3"
    path.write_text("\n".join(json.dumps({"question": one, "solution": code}) for one in QUESTIONS), "utf-8")
    return path


def test_a_score_holds_what_the_named_models_say(language_model: Path, encoder: Path, source: Path) -> None:
    named = ["--perplexity", str(language_model), "--bertscore", str(encoder), "--references", str(source)]
    done = CliRunner().invoke(problems, ["score", str(source), *named, "--json"])
    assert done.exit_code == 0, done.output
    measures = json.loads(done.stdout)["measures"]
    assert measures["perplexity"] == pytest.approx(len(WORDS), abs=0.01)
    assert 0 < measures["bertscore"] < measures["bertscore_references"] == 100


@pytest.mark.parametrize(
    ("option", "said"),
    [("--bertscore", "holds no encoder: it lacks config.json"), ("--perplexity", "holds no language model")],
)
def test_a_folder_without_a_model_is_named(source: Path, tmp_path: Path, option: str, said: str) -> None:
    assert said in CliRunner().invoke(problems, ["score", str(source), option, str(tmp_path)]).output
