"""What the model says before and after a training, for its report."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from soliloquy_training import state

PROMPTS = 3
_MOST_TOKENS = 128
_FILE = "samples.json"
# Says something to each of the same prompts.
Speak = Callable[[Any], Sequence[str]]


@dataclass(frozen=True, kw_only=True, slots=True)
class Prompt:
    # The last message, for people.
    asked: str
    ids: list[int]


class Samples:
    def __init__(self, folder: Path, asked: Sequence[str], speak: Speak) -> None:
        self._file = folder / _FILE
        self._asked = asked
        self._speak = speak

    def before(self, model: Any) -> None:
        """Keeps what the model says that a training starts from; one that resumes has it."""
        if not self._file.exists():
            state.write_json(self._file, {"before": self._speak(model)})

    def compared(self, model: Any) -> list[dict[str, str]]:
        said = zip(self._asked, state.read(self._file)["before"], self._speak(model), strict=True)
        return [{"prompt": asked, "before": before, "after": after} for asked, before, after in said]


def answers(model: Any, tokenizer: Any, prompts: Sequence[Prompt]) -> list[str]:
    """Returns the most probable answers."""
    written = [generate(model, tokenizer, [prompt.ids], most=_MOST_TOKENS)[0] for prompt in prompts]
    return [tokenizer.decode(ids, skip_special_tokens=True).strip() for ids in written]


def generate(
    model: Any, tokenizer: Any, prompts: Sequence[list[int]], *, most: int, temperature: float = 0.0
) -> list[list[int]]:
    """Returns the tokens of an answer to each prompt, with the one that ends it; the most probable ones at 0."""
    longest = max(map(len, prompts))
    padding = [longest - len(ids) for ids in prompts]
    end = tokenizer.eos_token_id
    given = torch.tensor([[end] * pad + ids for pad, ids in zip(padding, prompts, strict=True)], device=model.device)
    seen = torch.tensor([[0] * pad + [1] * (longest - pad) for pad in padding], device=model.device)
    drawing = {"do_sample": True, "temperature": temperature, "top_k": 0} if temperature else {"do_sample": False}
    was = model.training
    model.eval()
    half = model.dtype != torch.float32
    with torch.no_grad(), torch.autocast(model.device.type, dtype=model.dtype, enabled=half):
        written = model.generate(
            input_ids=given, attention_mask=seen, max_new_tokens=most, eos_token_id=end, pad_token_id=end, **drawing
        )
    model.train(was)
    return [_until(ids, end) for ids in written[:, longest:].tolist()]


def _until(ids: list[int], end: int) -> list[int]:
    return ids[: ids.index(end) + 1] if end in ids else ids
