"""How well a language model foretells texts: the less it is surprised, the more they are like what it has read."""

import math
from collections.abc import Sequence
from pathlib import Path

from training.evaluation.local_model import tokenizer_and_model


class Perplexity:
    """Of each text by itself, over its tokens but the first; one language model for all that is compared."""

    def __init__(self, folder: Path) -> None:
        self._tokenizer, self._model = tokenizer_and_model(folder, "language model", "AutoModelForCausalLM")
        # Beyond what it was made for, a model is surprised by everything.
        self._longest: int | None = getattr(self._model.config, "max_position_embeddings", None)

    def scores(self, texts: Sequence[str]) -> list[float]:
        """A text of a single token, which follows from nothing, has none."""
        return [score for text in texts if (score := self._score(text)) is not None]

    def _score(self, text: str) -> float | None:
        import torch

        ids = self._tokenizer(text, return_tensors="pt").input_ids[:, : self._longest]
        if ids.shape[1] < 2:
            return None
        with torch.inference_mode():
            foretold = self._model(input_ids=ids).logits[0, :-1].float()
        return math.exp(float(torch.nn.functional.cross_entropy(foretold, ids[0, 1:])))
