"""Rates replies with MathTutorBench's reward model, from local weights."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from soliloquy_papers.tutor_benchmarks.local_copy import rating_instruction
from soliloquy_training.evaluation.text_models import tokenizer_and_model

_TEACHERS = ("Teacher", "Tutor")


class RewardModel:
    def __init__(self, weights: Path, folder: Path) -> None:
        """Raises Failure."""
        self._instruction = rating_instruction(folder)
        self._tokenizer, self._model = tokenizer_and_model(
            weights, "reward model", "AutoModelForSequenceClassification"
        )

    def score(self, row: Mapping[str, Any], reply: str) -> float:
        """Rates a reply to the dialogue of a row."""
        import torch

        problem = f"Problem: {row['problem']}\nReference Solution: {row['reference_solution']}"
        history = [("assistant" if one["user"] in _TEACHERS else "user", one["text"]) for one in row["dialog_history"]]
        said = [("system", self._instruction), ("user", problem), *history, ("assistant", reply)]
        chat = [{"role": role, "content": text} for role, text in said]
        text = self._tokenizer.apply_chat_template(chat, tokenize=False)
        # The template has written the special tokens.
        ids = self._tokenizer(text, add_special_tokens=False, return_tensors="pt")
        with torch.inference_mode():
            return float(self._model(**ids).logits[0, 0])
