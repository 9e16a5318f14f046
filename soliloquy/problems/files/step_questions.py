"""The question that leads to a step of a solution in prose, without its number."""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from soliloquy.runtime.files import table_beside
from soliloquy.truth.locales import locale
from soliloquy.truth.numbers import has_number_word
from soliloquy.v1.conversation_pb2 import Step


@dataclass(frozen=True, kw_only=True, slots=True)
class Phrases:
    """The words of a plan that was read in a solution, in one language."""

    result: str
    begin: str
    onward: Sequence[str]
    unnamed: Sequence[str]
    symbol: str
    converted: str
    asks_answer: str
    states_answer: str
    gives_answer: str
    # For a step that a model has read.
    asks_sought: str
    finds_sought: str


ENGLISH = Phrases(**table_beside(__file__, "step_questions.toml"))


def phrases_in(language: str) -> Phrases:
    return Phrases(**locale(language).table["steps"]) if language else ENGLISH


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
        return unnamed_question(number, "")
    if explanation.lstrip().startswith("####"):
        return ENGLISH.asks_answer
    before = _text_before_number(explanation, symbol)
    asked = "" if has_number_word(before) else _label(before) or _what_is(before) or _setting(before)
    return asked or unnamed_question(number, symbol)


def unnamed_question(number: int, symbol: str, phrases: Phrases = ENGLISH) -> str:
    """Returns the question for a step of which nothing but its number and its symbol is known."""
    if not symbol:
        return phrases.begin if number == 1 else phrases.onward[number % len(phrases.onward)]
    is_unnamed = symbol == f"x{number}" and number <= len(phrases.unnamed)
    return phrases.unnamed[number - 1] if is_unnamed else phrases.symbol.format(symbol=symbol)


def ask_differently(steps: Iterable[Step], own: Collection[str] = (), phrases: Phrases = ENGLISH) -> None:
    """Replaces questions that repeat another one, since a question says which step it leads to; keeps a user's own."""
    asked = set[str]()
    for step in steps:
        if step.ask in asked and step.ask not in own:
            others = _others(step.number, step.result.symbol if step.HasField("result") else "", phrases)
            step.ask = next((one for one in others if one not in asked), step.ask)
        asked.add(step.ask)


def _others(number: int, symbol: str, phrases: Phrases) -> Iterator[str]:
    if symbol:
        yield unnamed_question(number, symbol, phrases)
    known = phrases.unnamed if symbol else phrases.onward
    yield from (known[(number - 1 + more) % len(known)] for more in range(len(known)))


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


def capital(text: str) -> str:
    return text[:1].upper() + text[1:]
