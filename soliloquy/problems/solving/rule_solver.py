"""Solves questions of one kind of step by rules, as far as their words leave no doubt; the scripted model's solver."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from soliloquy.runtime.files import table_beside
from soliloquy.truth.number_format import format_exact
from soliloquy.truth.numbers import numbers_in

_WORDS = table_beside(__file__, "rule_solver.toml")
_SENTENCE = re.compile(r"(?<=[.?!])\s+")
# "How many oranges does each child get?"
_QUESTION = re.compile(
    r"\bhow many (?P<thing>(?:[a-z]+ )+?)(?:does|do|did|will|are|is|were|can|has|have)\b[^?]*\?\s*$", re.I
)
_WORD = re.compile(r"[a-z]+")
# The thing that a number counts is one of so many words behind it.
_NEAR = 3
_PAIR = 2


@dataclass(frozen=True, slots=True)
class _Told:
    """A number of the story, whether it counts what is asked for, and its sentence."""

    value: float
    counts_asked: bool
    sentence: str


def program(question: str) -> str:
    """Returns a program whose variable `answer` is the answer, or one that fails and says that no rule applies."""
    calculation, words = solve(question)
    if not calculation:
        return 'raise ValueError("no rule of the scripted model solves this question")'
    return f"# By a rule for such words: {words}.\nanswer = {calculation}"


def solve(question: str) -> tuple[str, str]:
    """Returns the calculation that answers a question, and in words what it is; two empty texts if no rule applies."""
    asked = _QUESTION.search(question)
    if asked is None or numbers_in(asked[0]) or _says("beyond", question):
        return "", ""
    story = question[: asked.start()]
    told = list(_told(story, asked["thing"].split()[-1]))
    sign, words = _sign(told, story, asked[0]) if len(told) >= _PAIR else ("", "")
    return (f" {sign} ".join(format_exact(one.value) for one in told), words) if sign else ("", "")


def _sign(told: Sequence[_Told], story: str, asked: str) -> tuple[str, str]:
    first, *others = told
    each, is_pair, last = _says("each", story), len(told) == _PAIR, told[-1]
    if is_pair and _says("asked_each", asked) and _says("shared", story) and not each:
        is_fair = first.counts_asked and not last.counts_asked and first.value % last.value == 0
        return ("/", "what each one gets") if is_fair else ("", "")
    if _says("asked_each", asked) or _says("shared", story):
        return "", ""
    if each:
        many = is_pair and _says("each", last.sentence) and last.counts_asked and not first.counts_asked
        return ("*", "as many of them as there are for each") if many and not _says("changed", story) else ("", "")
    if all(one.counts_asked for one in told):
        if _says("asked_left", asked):
            taken = all(_says("taken", one.sentence) for one in others) and not _says("added", story)
            return ("-", "what is left") if taken and sum(one.value for one in others) < first.value else ("", "")
        if _says("asked_total", asked) and not _says("taken", story):
            return "+", "all of them together"
    return "", ""


def _told(story: str, thing: str) -> Sequence[_Told]:
    found = []
    for sentence in _SENTENCE.split(story):
        for number in numbers_in(sentence):
            behind = _WORD.findall(sentence[number.end :].lower().partition(".")[0])[:_NEAR]
            found.append(_Told(number.value, thing.lower() in behind, sentence))
    return found


def _says(kind: str, text: str) -> bool:
    return re.search(_WORDS[kind], text, re.IGNORECASE | re.VERBOSE) is not None
