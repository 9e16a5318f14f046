"""BLEU is the BLEU that others publish."""

import pytest

from soliloquy_training.evaluation.bleu import bleu

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
