"""Parses a question: its numbers and its goal."""

import functools
import re
from collections.abc import Sequence
from dataclasses import dataclass

from soliloquy_papers.mathwell.criteria.mentions import Mention, counted_thing, mentions_in, with_rate
from soliloquy_papers.mathwell.criteria.words import singular, stems

# Longer texts are not word problems for children.
MOST_CHARACTERS = 1_500
# Not behind "Mr." and not inside a number.
_SENTENCE_ENDS = re.compile(r"(?<=[.?!])(?<!\bMr\.)(?<!\bMrs\.)(?<!\bMs\.)(?<!\bDr\.)(?<!\bSt\.)(?:[\"'”])?\s+")
_ASKS = re.compile(
    r"\b(?:how (?:many|much|far|long|old|tall|fast|often|high|wide|deep|heavy|big|large|warm|cold|hot|late|soon)"
    r"|what|which|when|who|find|give|calculate|determine|work out|compute|count (?:up|all)|figure out|add up|by how)\b",
    re.IGNORECASE,
)

_REQUEST = re.compile(
    r"\W*(?:find|calculate|determine|work out|compute|count|figure out|add up|tell|give)\b", re.IGNORECASE
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Question:
    text: str
    sentences: list[str]
    mentions: Sequence[Mention]
    # The asking part of the question, in lower case; empty if the text asks nothing.
    asked: str
    # The index of the asking sentence.
    asking: int
    # The requested thing, in the singular; empty if unknown.
    thing: str
    words: frozenset[str]


@functools.lru_cache(256)
def parse_question(text: str) -> Question:
    sentences = _SENTENCE_ENDS.split(text.strip())
    asking = _asking(sentences)
    asked = _question_part(sentences[asking]) if asking >= 0 else ""
    mentions = mentions_in(text.strip(), sentences)
    thing = _thing_asked(asked)
    counted = {mention.thing for mention in mentions if not (mention.rate or mention.share)} | {thing}
    things = {mention.thing for mention in mentions} | {thing}
    return Question(
        text=text,
        sentences=sentences,
        mentions=[with_rate(mention, sentences[mention.sentence], counted, things, thing) for mention in mentions],
        asked=asked,
        asking=asking,
        thing=thing,
        words=stems(text) | ({"%"} if "%" in text else set()),
    )


def _asking(sentences: Sequence[str]) -> int:
    """Returns the index of the last question, else of the last imperative such as "find ..", else -1."""
    questions = [number for number, sentence in enumerate(sentences) if sentence.rstrip("\"'”").endswith("?")]
    wanted = [number for number, sentence in enumerate(sentences) if _REQUEST.match(sentence)]
    return (questions or wanted or [-1])[-1]


def _question_part(sentence: str) -> str:
    """Returns the sentence from its first question word on, in lower case."""
    found = _ASKS.search(sentence)
    return sentence[found.start() :].lower() if found else ""


def _thing_asked(asked: str) -> str:
    if found := re.match(r"how many (?P<rest>.*)", asked):
        return counted_thing(found["rest"])
    if found := re.search(r"\bin (?P<unit>(?:square |cubic )?[a-z]+)\W*$", asked):
        return singular(found["unit"].split()[-1])
    if re.search(r"\bmoney\b|\bcosts?\b|\bpay\b|\bprice\b|\bchange\b|\bspend|\bearn|\bsave\b|\bbill\b", asked):
        return "dollar"
    if re.match(r"how old", asked):
        return "year"
    if found := re.search(r"\b(?:number|amount|total) of (?P<rest>.*)", asked):
        return counted_thing(found["rest"])
    return ""
