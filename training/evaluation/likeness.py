"""How alike two texts are in meaning, by BERTScore: each token's nearest in the other, in an encoder's own vectors."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from training.evaluation.local_model import tokenizer_and_model

if TYPE_CHECKING:
    from torch import Tensor

# Three quarters up: the 18th of 24 layers of deberta-large-mnli, which MathDial's figures are by.
_LAYER = 0.75
_BATCH = 32


class BertScore:
    """F1 without weights for rare words and without rescaling; one encoder for all that is compared."""

    def __init__(self, folder: Path) -> None:
        self._tokenizer, self._model = tokenizer_and_model(folder, "encoder", "AutoModel")

    def scores(self, texts: Sequence[str], references: Sequence[str]) -> list[float]:
        """Of each pair, from 0 to 100; an empty text has nothing of its reference."""
        return [
            100 * _f1(text, reference)
            for at in range(0, len(texts), _BATCH)
            for text, reference in zip(
                self._vectors(texts[at : at + _BATCH]), self._vectors(references[at : at + _BATCH]), strict=True
            )
        ]

    def _vectors(self, texts: Sequence[str]) -> list["Tensor"]:
        """Of each text's own tokens, each of length one."""
        import torch

        batch = self._tokenizer(
            list(texts), return_tensors="pt", padding=True, truncation=True, return_special_tokens_mask=True
        )
        special = batch.pop("special_tokens_mask").bool()
        with torch.inference_mode():
            layers = self._model(**batch, output_hidden_states=True).hidden_states
        vectors = torch.nn.functional.normalize(layers[round(_LAYER * (len(layers) - 1))], dim=-1)
        return [row[~mask] for row, mask in zip(vectors, special, strict=True)]


def _f1(text: "Tensor", reference: "Tensor") -> float:
    if not len(text) or not len(reference):
        return 0.0
    alike = text @ reference.T
    precision, recall = alike.max(dim=1).values.mean(), alike.max(dim=0).values.mean()
    return float(2 * precision * recall / (precision + recall))
