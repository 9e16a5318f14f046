"""Loads models that measure texts, from local folders only."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from soliloquy.runtime.extensions import check_installed
from soliloquy.runtime.failure import Failure, one_line
from soliloquy.runtime.weights import FOLDER_ONLY, flaw_of_files


def tokenizer_and_model(folder: Path, kind: str, auto: str) -> tuple[Any, Any]:
    """Loads a model with the named class of transformers; raises Failure."""
    check_installed("serve", "torch", "transformers")
    if not (folder / "config.json").is_file():
        raise Failure(f"{folder} holds no {kind}: it lacks config.json")
    if flaw := flaw_of_files(folder):
        raise Failure(f"{folder} holds no {kind}: {flaw}")
    import transformers

    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder, **FOLDER_ONLY)
        model = getattr(transformers, auto).from_pretrained(folder, use_safetensors=True, **FOLDER_ONLY)
    except (OSError, ValueError) as error:
        raise Failure(f"{folder} holds no {kind} ({one_line(error)})") from error
    return tokenizer, model.eval()


if TYPE_CHECKING:
    from torch import Tensor

# The 18th of 24 layers of deberta-large-mnli, which MathDial's figures use.
_LAYER = 0.75
_BATCH = 32


class BertScore:
    """BERTScore F1: each token's nearest match in the other text, without weights for rare words or rescaling."""

    def __init__(self, folder: Path) -> None:
        self._tokenizer, self._model = tokenizer_and_model(folder, "encoder", "AutoModel")

    def scores(self, texts: Sequence[str], references: Sequence[str]) -> list[float]:
        """Returns a score from 0 to 100 per pair; an empty text scores 0."""
        return [
            100 * _f1(text, reference)
            for at in range(0, len(texts), _BATCH)
            for text, reference in zip(
                self._vectors(texts[at : at + _BATCH]), self._vectors(references[at : at + _BATCH]), strict=True
            )
        ]

    def _vectors(self, texts: Sequence[str]) -> list["Tensor"]:
        """Returns the unit vectors of each text's own tokens."""
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


class Perplexity:
    """The perplexity of each text over its tokens except the first."""

    def __init__(self, folder: Path) -> None:
        self._tokenizer, self._model = tokenizer_and_model(folder, "language model", "AutoModelForCausalLM")
        # Beyond the length it was trained for, a model finds any text surprising.
        self._longest: int | None = getattr(self._model.config, "max_position_embeddings", None)

    def scores(self, texts: Sequence[str]) -> list[float]:
        """Skips texts of a single token, which have no perplexity."""
        return [score for text in texts if (score := self._score(text)) is not None]

    def _score(self, text: str) -> float | None:
        import torch

        ids = self._tokenizer(text, return_tensors="pt").input_ids[:, : self._longest]
        if ids.shape[1] < 2:
            return None
        with torch.inference_mode():
            foretold = self._model(input_ids=ids).logits[0, :-1].float()
        return math.exp(float(torch.nn.functional.cross_entropy(foretold, ids[0, 1:])))
