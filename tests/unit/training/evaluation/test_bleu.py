"""BLEU is the BLEU that others publish."""

import pytest

from soliloquy_training.evaluation.bleu import bleu, sentence_bleu

TEXTS = [
    "Can you tell me how many boxes there are?",
    "That's right, 3 + 4 = 7. What is next?",
    "Why did you multiply by 2.5?",
]
REFERENCES = [
    "Could you tell me how many boxes Anna has?",
    "Right, 3 + 4 = 7! So what's the next step?",
    "Why did you divide by 2.5 and not multiply?",
]


# By sacrebleu 2.6.0, corpus_bleu with its defaults.
@pytest.mark.parametrize(
    ("texts", "references", "score"),
    [
        (TEXTS, REFERENCES, 38.59714029352475),
        (TEXTS[:1], ["How many boxes are there?"], 10.552670315936318),
        (["no"], ["yes it is"], 0.0),
        (TEXTS, TEXTS, 100.0),
    ],
)
def test_bleu_is_sacrebleus(texts: list[str], references: list[str], score: float) -> None:
    assert bleu(texts, references) == pytest.approx(score, abs=1e-9)


def test_no_text_has_no_bleu() -> None:
    assert bleu([], []) is None


# By sacrebleu 2.6.0, sentence_bleu with its defaults.
@pytest.mark.parametrize(
    ("text", "references", "score"),
    [
        (
            "How many eggs does Eva sell? How much does she make?",
            ["How many eggs does Eva sell?", "How much does Eva make at the market every day?"],
            56.332187176495054,
        ),
        ("no", ["yes it is", "no"], 100.0),
        ("How many?", ["How many boxes are there?", "How many boxes?"], 45.13864405503391),
        ("nothing alike here", ["What is the sum?"], 0.0),
        (
            "How many boxes are there in total now?",
            ["How many boxes are there?", "What is the total of boxes in the room?"],
            44.91846617388953,
        ),
    ],
)
def test_a_text_has_the_score_against_several_references_that_sacrebleu_gives(
    text: str, references: list[str], score: float
) -> None:
    assert sentence_bleu(text, references) == pytest.approx(score, abs=1e-9)
