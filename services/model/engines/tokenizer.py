"""Converts messages to token ids with the chat template, and token ids back to whole characters."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from jinja2 import TemplateError
from tokenizers.decoders import DecodeStream
from transformers import AutoTokenizer

from soliloquy.runtime.weights import FOLDER_ONLY
from soliloquy.v1.model_pb2 import Message, TokenLogprob
from soliloquy_services.model.engines.engine import InvalidRequest, MissingWeights, TokenScore

_ROLES = {"system", "user", "assistant"}
# Stands for bytes of an incomplete character.
_UNFINISHED = "\ufffd"


class ChatTokenizer:
    """A model's tokenizer with its chat template."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._tokenizer: Any = AutoTokenizer.from_pretrained(folder, **FOLDER_ONLY)
        if not self._tokenizer.chat_template:
            raise MissingWeights(f"the tokenizer of {folder} has no chat template: add its chat_template.jinja")

    def prompt(self, messages: Sequence[Message]) -> list[int]:
        if not messages:
            raise InvalidRequest("the request has no messages: send at least one")
        if unknown := {message.role for message in messages} - _ROLES:
            raise InvalidRequest(f"unknown role {unknown.pop()!r}: use one of {', '.join(sorted(_ROLES))}")
        chat = [{"role": message.role, "content": message.text} for message in messages]
        try:
            # Control tokens in a message's text stay plain text.
            tokens = self._tokenizer.apply_chat_template(
                chat, add_generation_prompt=True, return_dict=False, sanitize_control_tokens=True
            )
        except TemplateError as error:
            raise InvalidRequest(f"the chat template of {self._folder.name} rejects the messages: {error}") from error
        return list(tokens)

    def tokens(self, text: str) -> list[int]:
        """Returns the tokens of a text as it is, control tokens included, behind those that begin every text."""
        return list(self._tokenizer(text)["input_ids"])

    def known(self, tokens: Sequence[int]) -> list[int]:
        size = len(self._tokenizer)
        unknown = next((token for token in tokens if not 0 <= token < size), None)
        if unknown is not None:
            raise InvalidRequest(f"the prompt has the token {unknown}: {self._folder.name} knows 0 to {size - 1}")
        return list(tokens)

    def characters(self) -> "TextStream":
        return TextStream(self._tokenizer.backend_tokenizer)

    def logprobs(self, scores: Sequence[TokenScore], *, cut_to: int | None = None) -> list[TokenLogprob]:
        """Returns the scores in words, up to so many characters where a stop has cut the answer."""
        told, told_characters = [], 0
        for score in scores:
            token = self._text(score.token)
            if cut_to is not None and told_characters >= cut_to:
                break
            told_characters += len(token)
            top = [TokenLogprob(token=self._text(one), logprob=logprob) for one, logprob in score.top]
            told.append(TokenLogprob(token=token, logprob=score.logprob, top=top))
        return told

    def _text(self, token: int) -> str:
        text: str = self._tokenizer.decode([token])
        return text


class TextStream:
    """Decodes an answer token by token, although tokens may end within a character."""

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        self._decoding = DecodeStream(skip_special_tokens=True)
        self._held: list[int] = []

    def more(self, tokens: Sequence[int]) -> str:
        """Returns the text that these tokens complete."""
        pieces = []
        for token in tokens:
            self._held.append(token)
            if piece := self._decoding.step(self._tokenizer, token):
                self._held.clear()
                pieces.append(piece)
        return "".join(pieces)

    def rest(self) -> str:
        """Returns the held-back text, without an incomplete last character."""
        text: str = self._tokenizer.decode(self._held)
        return text.rstrip(_UNFINISHED)
