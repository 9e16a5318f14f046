"""Encoder-decoder models such as BART and T5: a sample is a plain text and its answer, and none shares a sequence."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from soliloquy.recipes.recipe import TrainingMessage
from soliloquy.runtime.failure import Failure
from soliloquy.runtime.weights import encoder_decoder_text, is_encoder_decoder, positions
from soliloquy_training.settings import TrainingSettings
from soliloquy_training.templating import MarkedTokens, Template, load_tokenizer

if TYPE_CHECKING:
    import torch

# The label of a position that is not learned.
_PADDED = -100


class PairBatch(NamedTuple):
    """Padded samples as model input."""

    ids: "torch.Tensor"
    mask: "torch.Tensor"
    labels: "torch.Tensor"


class PairTemplate:
    """Converts a prompt and its answer to token ids: the encoder's, then the decoder's, which are learned."""

    pairs = True

    def __init__(self, folder: Path) -> None:
        self._tokenizer = load_tokenizer(folder)
        self._special = {str(token) for token in self._tokenizer.all_special_tokens}

    def tokens(self, chats: Sequence[Sequence[TrainingMessage]]) -> list[MarkedTokens | None]:
        """Tokenizes each chat; None for a chat that contains the text of a special token."""
        return [None if self._holds_special(chat) else self._pair(chat) for chat in chats]

    def _pair(self, chat: Sequence[TrainingMessage]) -> MarkedTokens:
        *prompt, answer = chat
        source = self._tokenizer(encoder_decoder_text(message.text for message in prompt), verbose=False)["input_ids"]
        target = self._tokenizer(text_target=answer.text, verbose=False)["input_ids"]
        if target[-1:] != [self._tokenizer.eos_token_id]:
            target = [*target, self._tokenizer.eos_token_id]
        return MarkedTokens([*source, *target], [False] * len(source) + [True] * len(target))

    def _holds_special(self, chat: Sequence[TrainingMessage]) -> bool:
        return any(token in message.text for message in chat for token in self._special)


def template(base: Path) -> Template | PairTemplate:
    return PairTemplate(base) if is_encoder_decoder(base) else Template(base)


def check_settings(base: Path, settings: TrainingSettings) -> None:
    """Raises Failure for settings that an encoder-decoder model cannot be tuned with."""
    kind = f"{base} is an encoder-decoder model"
    if settings.method != "sft":
        raise Failure(f"{kind}, which learns by method: sft alone, not {settings.method}")
    if settings.layout == "dialogue":
        raise Failure(f"{kind}, which writes one answer to a text: use layout: replies or states, not dialogue")
    if settings.tune != "full":
        raise Failure(f"{kind}, of which all weights are tuned: use tune: full, not {settings.tune}")
    if settings.learn != "tutor":
        raise Failure(f"{kind}, whose input cannot be learned: use learn: tutor, not {settings.learn}")
    if (most := positions(base)) and settings.sequence_length > most:
        raise Failure(f"{base} has {most} positions: lower sequence_length ({settings.sequence_length})")


def pair_batch(samples: Sequence[tuple[Sequence[int], Sequence[int]]]) -> PairBatch:
    """Pads the encoder's and the decoder's ids of samples."""
    import torch
    from torch.nn.utils.rnn import pad_sequence

    sources, targets = ([torch.tensor(ids) for ids in side] for side in zip(*samples, strict=True))
    ids = pad_sequence(sources, batch_first=True)
    mask = pad_sequence([torch.ones_like(source) for source in sources], batch_first=True)
    return PairBatch(ids, mask, pad_sequence(targets, batch_first=True, padding_value=_PADDED))


def summed_loss(model: Any, batch: PairBatch) -> "torch.Tensor":
    """Returns the loss summed over the answers' tokens; the model shifts the labels itself."""
    from torch.nn.functional import cross_entropy

    scores = model(input_ids=batch.ids, attention_mask=batch.mask, labels=batch.labels, use_cache=False).logits
    return cross_entropy(scores.float().flatten(0, 1), batch.labels.flatten(), ignore_index=_PADDED, reduction="sum")
