"""Converts samples to token ids with the learned ones marked, for any chat template.

A learned message starts right after the template's generation prompt, as when it is generated, and ends with the token
that ends it. Text and tokens are split there, as they are when the model is served.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from jinja2 import TemplateError

from soliloquy.recipes.recipe import TrainingMessage
from soliloquy.runtime.failure import Failure, one_line
from soliloquy.runtime.weights import FOLDER_ONLY

_MARK = "{% generation"


# The start and end of the template's own generation marks in a text.
Marks = list[tuple[int, int]]


class MarkedTokens(NamedTuple):
    ids: list[int]
    learned: list[bool]


class _Piece(NamedTuple):
    text: str
    learned: bool
    # True for the end of the tutor's message, of which only the end token is learned.
    ending: bool = False


def load_tokenizer(folder: Path) -> Any:
    """Raises Failure."""
    # It takes seconds to load, which a check of the settings does without.
    from transformers import AutoTokenizer

    try:
        return AutoTokenizer.from_pretrained(folder, **FOLDER_ONLY)
    except (OSError, ValueError) as error:
        raise Failure(f"cannot load the tokenizer in {folder}: {one_line(error)}") from error


class Template:
    # Whether a sample is a text and its answer, for a model of two halves.
    pairs = False

    def __init__(self, folder: Path) -> None:
        self._name = folder.name
        self._tokenizer = load_tokenizer(folder)
        if not self._tokenizer.chat_template:
            raise Failure(f"the tokenizer of {folder} has no chat template: add its chat_template.jinja")
        self._special = {str(token) for token in self._tokenizer.all_special_tokens}
        self._special_ids = set(self._tokenizer.all_special_ids)
        # Ends an answer.
        self.end: int = self._tokenizer.eos_token_id
        self._newline = self._encoded(["\n"])[0]

    def tokens(self, chats: Sequence[Sequence[TrainingMessage]]) -> list[MarkedTokens | None]:
        """Tokenizes each chat; None for a chat that contains the text of a special token."""
        pieces_of = [None if self._holds_special(chat) else list(self._pieces(chat)) for chat in chats]
        first = iter(self._encoded([pieces[0].text for pieces in pieces_of if pieces]))
        # Some tokenizers insert a space at the start of a text, but none does after a newline.
        rest = iter(self._encoded(["\n" + piece.text for pieces in pieces_of if pieces for piece in pieces[1:]]))
        return [self._join(pieces, next(first), rest) if pieces else None for pieces in pieces_of]

    def prompt(self, messages: Sequence[Mapping[str, str]]) -> list[int]:
        """Returns the tokens after which the model answers."""
        text, _ = self._rendered([dict(message) for message in messages], prompt=True)
        return self._encoded([text])[0]

    def answer(self, ids: Sequence[int]) -> tuple[str, bool]:
        """Returns the text of an answer's tokens, and whether it came to its end."""
        ended = bool(ids) and ids[-1] == self.end
        return self._tokenizer.decode(ids, skip_special_tokens=True), ended

    def _join(self, pieces: Sequence[_Piece], first: list[int], rest: Iterator[list[int]]) -> MarkedTokens:
        ids, learned = list(first), [False] * len(first)
        for piece in pieces[1:]:
            encoded = self._after_newline(next(rest), piece.text)
            ids += encoded
            if piece.ending:
                last = next(at for at, id in enumerate(encoded) if id in self._special_ids)
                learned += [at <= last for at in range(len(encoded))]
            else:
                learned += [piece.learned] * len(encoded)
        return MarkedTokens(ids, learned)

    def _after_newline(self, encoded: list[int], text: str) -> list[int]:
        """Strips the newline again, which a tokenizer may have merged with the text after it."""
        if encoded[: len(self._newline)] == self._newline:
            return encoded[len(self._newline) :]
        return self._encoded([text])[0]

    def _encoded(self, texts: list[str]) -> list[list[int]]:
        if not texts:
            return []
        encoded: list[list[int]] = self._tokenizer(texts, add_special_tokens=False, verbose=False)["input_ids"]
        return encoded

    def _holds_special(self, chat: Sequence[TrainingMessage]) -> bool:
        return any(token in message.text for message in chat for token in self._special)

    def _pieces(self, chat: Sequence[TrainingMessage]) -> Iterator[_Piece]:
        """Yields, for each learned message, the text before it, the message and its end."""
        messages = [{"role": message.role, "content": message.text} for message in chat]
        text, marks = self._rendered(messages)
        reached = 0
        for number, message in enumerate(chat):
            if not message.learned:
                continue
            start = self._start(messages, number, text, marks)
            at = text.find(message.text.strip(), start)
            if at < 0:
                raise self._cannot_mark(f"message {number + 1} is not rendered verbatim")
            end = at + len(message.text.strip())
            yield _Piece(text[reached:start], False)
            yield _Piece(text[at:end], True)
            reached = self._end(text, end)
            yield _Piece(text[end:reached], True, ending=True)
        if reached < len(text) and chat[-1].learned is False:
            yield _Piece(text[reached:], False)

    def _start(self, messages: list[dict[str, str]], number: int, text: str, marks: Marks | None) -> int:
        before, _ = self._rendered(messages[:number], prompt=True)
        if text.startswith(before):
            return len(before)
        if marks:
            place = sum(message["role"] == "assistant" for message in messages[:number])
            return marks[place][0]
        raise self._cannot_mark(f"the text before message {number + 1} depends on later messages")

    def _end(self, text: str, end: int) -> int:
        """Returns the end of the next special token."""
        ends = [at + len(token) for token in self._special if (at := text.find(token, end)) >= 0]
        if not ends:
            raise self._cannot_mark("no special token ends a reply")
        return min(ends)

    def _rendered(self, messages: list[dict[str, str]], *, prompt: bool = False) -> tuple[str, Marks | None]:
        from transformers.utils.chat_template_utils import render_jinja_template

        marked = _MARK in self._tokenizer.chat_template and not prompt
        try:
            (text,), marks = render_jinja_template(
                conversations=[messages],
                chat_template=self._tokenizer.chat_template,
                add_generation_prompt=prompt,
                return_assistant_tokens_mask=marked,
                **self._tokenizer.special_tokens_map,
            )
        except TemplateError as error:
            roles = ", ".join(dict.fromkeys(message["role"] for message in messages))
            raise Failure(f"the chat template of {self._name} rejects a chat of {roles}: {error}") from error
        return text, marks[0] if marked else None

    def _cannot_mark(self, why: str) -> Failure:
        return Failure(
            f"cannot mark learned tokens with the chat template of {self._name}: {why}; put {{% generation %}} around "
            "the assistant's messages in it, or use another template"
        )
