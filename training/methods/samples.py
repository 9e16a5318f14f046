"""Answers of the model to a few prompts before and after a training, for its report."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from soliloquy_training import state

PROMPTS = 3
_MOST_TOKENS = 128
_FILE = "samples.json"


@dataclass(frozen=True, kw_only=True, slots=True)
class Prompt:
    # The last message, for people.
    asked: str
    ids: list[int]


class Samples:
    def __init__(self, folder: Path, prompts: Iterable[Prompt], tokenizer: Any) -> None:
        self._file = folder / _FILE
        self._prompts = list(prompts)
        self._tokenizer = tokenizer

    def before(self, model: Any) -> None:
        """Keeps the answers of the model that a training starts from; one that resumes has them."""
        if not self._file.exists():
            state.write_json(self._file, {"before": self._answers(model)})

    def compared(self, model: Any) -> list[dict[str, str]]:
        answers = zip(self._prompts, state.read(self._file)["before"], self._answers(model), strict=True)
        return [{"prompt": prompt.asked, "before": before, "after": after} for prompt, before, after in answers]

    def _answers(self, model: Any) -> list[str]:
        was = model.training
        model.eval()
        answers = [self._answer(model, prompt.ids) for prompt in self._prompts]
        model.train(was)
        return answers

    def _answer(self, model: Any, ids: list[int]) -> str:
        given = torch.tensor([ids], device=model.device)
        with (
            torch.no_grad(),
            torch.autocast(model.device.type, dtype=model.dtype, enabled=model.dtype != torch.float32),
        ):
            written = model.generate(
                input_ids=given,
                attention_mask=torch.ones_like(given),
                max_new_tokens=_MOST_TOKENS,
                do_sample=False,
                pad_token_id=self._tokenizer.eos_token_id,
            )
        text: str = self._tokenizer.decode(written[0, len(ids) :], skip_special_tokens=True)
        return text.strip()
