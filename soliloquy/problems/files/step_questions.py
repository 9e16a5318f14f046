"""The question that leads to a step of a solution in prose, without its number."""

import re
from collections.abc import Collection, Iterable, Iterator

from soliloquy.truth.numbers import has_number_word
from soliloquy.v1.conversation_pb2 import Step

# The question for a step that only states the answer.
ANSWER_ASK = "What is the answer to the question, then?"
# The questions for steps without a number.
_ONWARD = (
    "What comes next?",
    "What follows from that?",
    "What else matters here?",
    "How do you go on?",
    "What do you know now?",
    "And what does that mean?",
)
# The questions for a number of which the text says nothing before it, by the number of the step.
_UNNAMED = (
    "What do you work out first?",
    "What do you get next?",
    "What does the next calculation give?",
    "And what do you find after that?",
    "What comes out then?",
    "What is the next number?",
)
_NUMBER = re.compile(r"[=≈\d]|<<")
# Marks of Markdown and LaTeX, and the number of a step.
_MARKS = re.compile(r"[*_#$`]+|\\[()\[\]]|^\s*-\s|^\W*step\s+\d+\W*", re.IGNORECASE | re.MULTILINE)
# The rests of LaTeX or a currency before a number, and the letter that the number is called.
_TAIL = re.compile(r"(?:\\\w*|[\s({€£¥-]|(?<=[\s,])[^\W\d]\b)+$")
_CONNECTIVE = re.compile(r"^(?:(?:so|then|now|therefore|thus|hence|and|but|next|finally|first)\b,?\s+)+", re.IGNORECASE)
_IS = re.compile(r"(?P<text>.+)\s(?P<verb>is|are|was|were)", re.IGNORECASE)
# Begins a subject, unless it belongs to the words before it: "the time of the flight".
_DETERMINER = re.compile(r"\b(?:the|his|her|its|their|our|my|your|this)\s", re.IGNORECASE)
_BELONGING = re.compile(
    r"\b(?:of|in|for|to|from|by|with|at|on|per|than|over|after|between|into|and|that|which|who|when|where|if)\s+$",
    re.IGNORECASE,
)
_WHAT_IS = re.compile(r"^(?P<subject>what\s[^,.;:]+?)\s+(?:is|are)$", re.IGNORECASE)
# "By Ohm's law,": a few words, and no clause of its own.
_SETTING = re.compile(r"^(?:by|with|from|using|for|in|on|at|after|according to)(?:\s[^\s.;:,]+){1,4},?$", re.IGNORECASE)


def question_for(explanation: str, *, number: int, symbol: str) -> str:
    """Returns a tutor's question that leads to a step; `symbol` is empty if the step yields no number."""
    if not symbol:
        return "How would you begin?" if number == 1 else _ONWARD[number % len(_ONWARD)]
    if explanation.lstrip().startswith("####"):
        return ANSWER_ASK
    before = _text_before_number(explanation, symbol)
    asked = "" if has_number_word(before) else _label(before) or _what_is(before) or _setting(before)
    return asked or _of_symbol(symbol, number)


def ask_differently(steps: Iterable[Step], own: Collection[str] = ()) -> None:
    """Replaces questions that repeat another one, since a question says which step it leads to; keeps a user's own."""
    asked = set[str]()
    for step in steps:
        if step.ask in asked and step.ask not in own:
            others = _others(step.number, step.result.symbol if step.HasField("result") else "")
            step.ask = next((one for one in others if one not in asked), step.ask)
        asked.add(step.ask)


def _others(number: int, symbol: str) -> Iterator[str]:
    if symbol:
        yield _of_symbol(symbol, number)
    phrases = _UNNAMED if symbol else _ONWARD
    yield from (phrases[(number - 1 + more) % len(phrases)] for more in range(len(phrases)))


def _text_before_number(explanation: str, symbol: str) -> str:
    text = " ".join(_NUMBER.split(_MARKS.sub(" ", explanation), maxsplit=1)[0].split())
    text = re.sub(rf"(?<!\w){re.escape(symbol)}$", "", text).rstrip()
    return _CONNECTIVE.sub("", _TAIL.sub("", text))


def _label(before: str) -> str:
    """Asks by what stands before a colon, or by a whole sentence."""
    head, colon, _ = before.rpartition(":")
    if colon or before.endswith((".", "!")):
        head = (head if colon else before).strip(" .!?-")
        return f"{capital(head)}: what do you get?" if head else ""
    return ""


def _what_is(before: str) -> str:
    """Turns "the discount is" into "What is the discount?"."""
    if found := _WHAT_IS.match(before):
        return f"{capital(found['subject'])}?"
    found = _IS.fullmatch(before)
    text = found["text"] if found else ""
    starts = [one.start() for one in _DETERMINER.finditer(text) if not _BELONGING.search(text, 0, one.start())]
    if found is None or not starts or re.search(r"[,.;:]", text[starts[-1] :]):
        return ""
    lead, subject = text[: starts[-1]].strip(), text[starts[-1] :]
    if lead and not _SETTING.match(lead):
        return ""
    asked = f"what {found['verb'].lower()} {subject[0].lower()}{subject[1:]}?"
    return capital(f"{lead.rstrip(',')}, {asked}" if lead else asked)


def _setting(before: str) -> str:
    return f"{capital(before)} what do you get?" if before.endswith(",") and _SETTING.match(before) else ""


def _of_symbol(symbol: str, number: int) -> str:
    unnamed = symbol == f"x{number}"
    return _UNNAMED[number - 1] if unnamed and number <= len(_UNNAMED) else f"What do you get for {symbol}?"


def capital(text: str) -> str:
    return text[:1].upper() + text[1:]
