"""Between messages and token ids: the chat template on the way in, whole characters on the way out."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from jinja2 import TemplateError
from tokenizers.decoders import DecodeStream
from transformers import AutoTokenizer

from services.model.engines.engine import InvalidRequest, MissingWeights
from soliloquy.v1.model_pb2 import Message

_ROLES = {"system", "user", "assistant"}
# What stands for bytes that are no character yet.
_UNFINISHED = "\ufffd"


class ChatTokenizer:
    """The tokenizer of a model, with its chat template."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._tokenizer: Any = AutoTokenizer.from_pretrained(folder, local_files_only=True)
        if not self._tokenizer.chat_template:
            raise MissingWeights(f"the tokenizer of {folder} has no chat template: add its chat_template.jinja")

    def prompt(self, messages: Sequence[Message]) -> list[int]:
        if not messages:
            raise InvalidRequest("the request has no messages: send at least one")
        if unknown := {message.role for message in messages} - _ROLES:
            raise InvalidRequest(f"{unknown.pop()!r} is no role of a message: use {', '.join(sorted(_ROLES))}")
        told = [{"role": message.role, "content": message.text} for message in messages]
        try:
            # What a message says in the words of the template's own marks stays words.
            tokens = self._tokenizer.apply_chat_template(
                told, add_generation_prompt=True, return_dict=False, sanitize_control_tokens=True
            )
        except TemplateError as error:
            raise InvalidRequest(f"the chat template of {self._folder.name} refuses the messages: {error}") from error
        return list(tokens)

    def characters(self) -> "TextStream":
        return TextStream(self._tokenizer.backend_tokenizer)


class TextStream:
    """The text of an answer that comes in tokens, of which some end within a character."""

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        self._decoding = DecodeStream(skip_special_tokens=True)
        self._held: list[int] = []
        self.text = ""

    def more(self, tokens: Sequence[int]) -> str:
        """As much text as is certain with these tokens."""
        pieces = []
        for token in tokens:
            self._held.append(token)
            if piece := self._decoding.step(self._tokenizer, token):
                self._held.clear()
                pieces.append(piece)
        return self._said("".join(pieces))

    def rest(self) -> str:
        """What was held back, without the character that it breaks off in."""
        return self._said(self._tokenizer.decode(self._held).rstrip(_UNFINISHED))

    def _said(self, piece: str) -> str:
        self.text += piece
        return piece
