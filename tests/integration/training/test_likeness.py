"""BERTScore by a small encoder: what it says of texts that are the same, alike and empty."""

from pathlib import Path

import pytest

from soliloquy.runtime.failure import Failure
from soliloquy_training.evaluation.text_models import BertScore

TEXTS = ["how many apples are there ?", "why did you add ?", "what is next ?"]
REFERENCES = ["how many apples are in all ?", "what is the next step ?", "what is next ?"]
WORDS = sorted({word for text in (*TEXTS, *REFERENCES) for word in text.split()})


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    # Every process that only looks for tests would pay for it.
    from transformers import BertConfig, BertModel, BertTokenizerFast

    folder = tmp_path_factory.mktemp("encoder")
    vocabulary = folder / "vocab.txt"
    vocabulary.write_text("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS]), "utf-8")
    BertTokenizerFast(vocab=str(vocabulary)).save_pretrained(folder)
    shape = BertConfig(
        vocab_size=5 + len(WORDS),
        hidden_size=16,
        num_hidden_layers=4,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=32,
    )
    BertModel(shape).save_pretrained(folder)
    return folder


def test_a_text_is_wholly_like_itself_and_less_like_another(encoder: Path) -> None:
    first, second, same = BertScore(encoder).scores(TEXTS, REFERENCES)
    assert same == pytest.approx(100, abs=1e-3)
    assert max(first, second) < 99.9


def test_a_pair_has_its_score_whatever_stands_beside_it_and_whichever_comes_first(encoder: Path) -> None:
    score = BertScore(encoder)
    together = score.scores(TEXTS, REFERENCES)
    assert [score.scores([one], [other])[0] for one, other in zip(TEXTS, REFERENCES, strict=True)] == pytest.approx(
        together, abs=1e-3
    )
    assert score.scores(REFERENCES, TEXTS) == pytest.approx(together, abs=1e-3)


def test_no_words_are_like_nothing(encoder: Path) -> None:
    assert BertScore(encoder).scores(["", "how many ?"], ["why ?", ""]) == [0.0, 0.0]


def test_a_folder_without_an_encoder_is_named_with_what_it_lacks(tmp_path: Path) -> None:
    with pytest.raises(Failure, match="it lacks config"):
        BertScore(tmp_path)
    (tmp_path / "config.json").write_text("{}", "utf-8")
    with pytest.raises(Failure, match="holds no encoder"):
        BertScore(tmp_path)
