"""Separates what a model thought from what it said, where both come in one text."""

import re
from collections.abc import Callable
from typing import NamedTuple

_TAGS = "(?:\\w+:)?(?:think|thinking|thought|thoughts|reasoning|reflection|scratchpad)"
# The end of an opening tag, which may have attributes.
_END = r"(?:\s[^<>\[\]\n]*)?[>\]]"
_WHOLE = re.compile(
    rf"[<\[](?P<tag>{_TAGS}){_END}(?P<thought>.*?)[<\[]/(?P=tag)[>\]]|◁think▷(?P<other>.*?)◁/think▷", re.S | re.I
)
_CLOSING = rf"(?:[<\[]/(?:{_TAGS})[>\]]|◁/think▷)"
# Everything before the last closing mark, where its opening is missing.
_THROUGH_CLOSING = re.compile(rf"(?P<thought>.*){_CLOSING}", re.DOTALL | re.IGNORECASE)
_LAST_CLOSING = re.compile(rf"{_CLOSING}\s*\Z", re.IGNORECASE)
# Lists and objects of JSON open no mark.
_MAY_MARK = re.compile(r"[<\[][\w/|]|◁")
_CLOSING_MARK = re.compile(_CLOSING, re.IGNORECASE)
# Longer than any closing mark.
_LONGEST_MARK = 32
_OPENING_MARK = re.compile(rf"[<\[](?:{_TAGS}){_END}|◁think▷", re.IGNORECASE)
_OPENING = re.compile(rf"^\s*(?:[<\[](?:{_TAGS}){_END}|◁think▷)", re.IGNORECASE | re.MULTILINE)
_CHANNEL = re.compile(
    r"<\|channel\|>\s*(?P<name>\w+)[^<]*<\|message\|>(?P<text>.*?)(?:<\|(?:end|return|call)\|>|(?=<\|(?:start|channel)\|>)|\Z)",
    re.DOTALL,
)
# Channels whose marks a server has taken away, and thoughts under a heading.
_ANNOUNCED = re.compile(
    r"\A(?:(?:analysis|commentary)(?=[A-Z\s])(?P<thought>.*?)assistant ?final(?:<\|message\|>)?"
    r"|\W*(?:here(?: is|'s) my |my )?(?:thought process|thinking|reasoning)\W*?:[*_\s]*(?P<other>.*?)\n\W*"
    r"(?:here(?: is|'s) my |my |final )?(?:response|answer|reply|message)\W*?:[*_]*\s*)",
    re.DOTALL | re.IGNORECASE,
)
# Marks of a chat template that servers leave in an answer.
_MARK = re.compile(
    r"\A\s*assistant\s*\n\s*\n|<\|(?:im_end|im_start|eot_id|end_of_text|endoftext|end|return|start|assistant|eom_id)\|>(?:assistant\s)?"
    r"|</?s>|<end_of_turn>|<start_of_turn>(?:model)?|\[/?INST\]|<\|start_header_id\|>assistant<\|end_header_id\|>"
)


class Parts(NamedTuple):
    words: str
    thoughts: str


def parts_of(text: str) -> Parts:
    """Splits an answer into its words and thoughts, whose opening or closing mark may be missing."""
    if announced := _ANNOUNCED.match(text):
        return Parts(text[announced.end() :].strip(), (announced["thought"] or announced["other"]).strip())
    if not _MAY_MARK.search(text) and not text.lstrip().startswith("assistant"):
        return Parts(text, "")
    if "<|channel|>" in text:
        return _channels(text)
    thoughts: list[str] = []
    words = _WHOLE.sub(lambda whole: _kept(thoughts, whole["thought"] or whole["other"] or ""), text)
    words = _LAST_CLOSING.sub("", words) if thoughts else words
    if closing := _THROUGH_CLOSING.match(words):
        thoughts.append(closing["thought"])
        words = words[closing.end() :]
    opening = _OPENING.search(words)
    if opening:
        thoughts.append(words[opening.end() :])
        words = words[: opening.start()]
    if words == text and not _MARK.search(text):
        return Parts(text, "")
    # A model that does not stop may say the same once more after the mark.
    words = "\n\n".join(dict.fromkeys(filter(None, map(str.strip, _MARK.split(words)))))
    thought = "\n\n".join(stripped for each in thoughts if (stripped := each.strip()))
    return Parts(words, thought)


def begins_with_thoughts(text: str) -> bool:
    """Whether a mark closes a thought that none opens."""
    closing = _CLOSING_MARK.search(text) if "/" in text else None
    return closing is not None and _OPENING_MARK.search(text, 0, closing.start()) is None


def after_thoughts(receive: Callable[[str], None]) -> Callable[[str], None]:
    """Receives the pieces of an answer, and passes them on once a mark has closed its thoughts."""
    waiting: list[str] = []
    end, is_over = "", False

    def receive_later(piece: str) -> None:
        nonlocal end, is_over
        if not is_over:
            waiting.append(piece)
            # A mark may come in several pieces.
            end = (end + piece)[-_LONGEST_MARK - len(piece) :]
            is_over = _CLOSING_MARK.search(end) is not None
            if is_over:
                receive("".join(waiting))
        else:
            receive(piece)

    return receive_later


def _kept(thoughts: list[str], thought: str) -> str:
    thoughts.append(thought)
    return ""


def _channels(text: str) -> Parts:
    """Reads the channels of gpt-oss: what is final is said, the rest is thought."""
    thoughts: list[str] = []
    words: list[str] = []
    for channel in _CHANNEL.finditer(text):
        (words if channel["name"] == "final" else thoughts).append(_MARK.sub("", channel["text"]).strip())
    return Parts("\n\n".join(words), "\n\n".join(filter(None, thoughts)))
