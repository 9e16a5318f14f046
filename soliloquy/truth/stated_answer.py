"""Finds what a message puts forward as its own: neither denied, taken back, quoted, asked nor calculated with."""

import math
import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from soliloquy.truth.markup import without_markup
from soliloquy.truth.number_meanings import Value
from soliloquy.truth.numbers import numbers_in_digits
from soliloquy.truth.patterns import lazy_pattern
from soliloquy.truth.quantities import BEFORE, WrittenQuantity, quantities_in
from soliloquy.truth.units import unit


def _cue(pattern: str) -> re.Pattern[str]:
    return lazy_pattern(pattern, re.IGNORECASE)


_DENIED = _cue(
    r"(?:\bnot(?: just| only| really| quite)?|n['’]t(?: be)?|\b(?:instead of|rather than|no longer|than"
    r"|at least|at most|up to|no way it['’]?s"
    r"|to (?:get|come|reach) to|(?:can ?not|won['’]t) be|don['’]?t want to say|give or take)|(?:\bI (?:first "
    r"|had )?thought"
    r"|what if|suppose|imagine|(?:not|n['’]t) (?:really )?think)\b[^;.]{0,20})[\s:$€£\"'“(]*$"
)
_DENIED_BEHIND = _cue(
    r"\W*(?:(?:was|is) (?:wrong|incorrect|not right|false)|and (?:a bit|something|some more)|or so many)"
)
_TAKES_BACK = _cue(
    r"\b(?:(?:oh )?no,? wait|oh no|wait|sorry|I mean(?:t)?|oops|correction|scratch that|hang on|hold on"
    r"|make that|let me (?:correct|redo)"
    r"|nope|or rather|typo|my bad|no,? (?=\d))\b"
)
# Quotes of others, struck-out text, the bounds of an error, remarks in brackets, and repetitions of the problem.
_BESIDE = lazy_pattern(
    r"[\"“„][^\"”“]{20,}[\"”“]|~~[^~]*~~|(?:±|\+/-)\s*\d+(?:[.,]\d+)?|^[ \t]*>[^\n]*\n"
    r"|(?<=[\w%°€$]) \((?:[^()=]*[^\W\d_]{2}|\s?=)[^()]*\)"
    r"|\b(?:we know|given\s?:|in the (?:text|problem|table|question)|(?:it|problem|text|question) says"
    r"|you (?:said|told|wrote|meant)"
    r"|my (?:friend|sister|brother|mum|mom|dad|teacher|neighbou?r)(?: \w+)? (?:says|said|got|gets|wrote))"
    r"(?:(?!\b(?:so|therefore|thus|hence|but I|(?:we|I) (?:get|got))\b)(?:[^.!?\n]|[.](?=\d)))*",
    re.MULTILINE | re.IGNORECASE,
)
SENTENCE = lazy_pattern(r"(?:[^.!?\n;]|[.](?=\d))+[.!?;\n]*")
_ASKS = _cue(
    r"\b(?:why|how(?! about)|what|which|whose|whom|tell me|(?:do|does|did|can|could|should|would|will|shall|may"
    r"|must|am|have) "
    r"(?:I|we|you|he|she|they)\b(?! (?:get|got)\b))|^\W*(?:(?:so|and|but|ok|okay|well|hey)\W+)*(?:where|when|who"
    r"|(?:do|does|did|are|was|were|has|have|can|could|is)\b(?! (?:it|that|this|the (?:answer|result)|I|we)\b))"
    r"|(?:=|\b(?:is|are|equals?|makes?|gives?|and))\W*$"
)
_REASON = _cue(
    r"\b(?:because|since|cause|cuz|bc|using|if|with|given that|as (?:there|it|the|we|I)|for (?:there|it))\b"
    r"(?:(?!,\s|[.!?;]\s|\n|\bto get\b|\bso\b|\b(?:gives|got|makes|is)\b|=).)*"
)
# The number is worked with: "I divided 57 by 3", "5 times", "groups of 10".
_OPERAND = _cue(
    r"\b(?:(?:add(?!s? up)|subtract|divid|multipl|doubl|halv|split|squar)\w*|take|took|taking|us(?:ed|ing))\b"
    r"(?:(?!\b(?:get|got|is|are|makes?|gives?|leaves|have|so|which)\b)[^,.;:=?!]){0,40}$"
    r"|[\d)]\s*(?:[x÷]|\b(?:times|plus|minus|divided by|multiplied by))\s*\(?\s*$"
    r"|\b(?:minus|plus)\s$|(?:\b(?:half|thirds?|quarters?|percent)|\d|%) of (?:(?:the|these|those|all) )?$"
    r"|\b(?:groups?|sets?|piles?|rows?|bundles?|packs?) of $|\b(?:page|line|lines|exercise|task|book|grade|row"
    r"|chapter|level)\s*#?$|[\^√]$|_\{$"
    r"|(?:\bout of|\d in) (?:the )?$"
)
_OPERAND_BEHIND = _cue(
    r"\s*(?:[x÷]|\b(?:times|plus|minus|divided by|multiplied by)\b)\s*\(?[\d$€£√]|\s?(?:st|nd|rd|th)\b"
    r"|\s?[×*·÷/]\s?[^\W\d_]|\s[-−/]\s(?:[-−]?[(\d√]|\w*_\w|(?!I\b)[^\W\d_](?!\w))"
    r"|\s(?:out of|(?<=\d\s)in) (?:the )?\d|\s?([^\W\d_]+?)s?\s[-−+×*·x/]\s[$€£]?[\d.,]+\s\1"
)
_CONCLUDES = _cue(
    r"\b(?:so+|(?:that|which) means|therefore|thus|hence|at (?:last|the end)|in (?:all|total|the end)"
    r"|altogether|together|adds? up to)\b[^\d.!?;]*$"
    r"|\b(?:leaves?|makes?|it['’]?s|that['’]?s|there (?:are|is|were|was|will be)|to get|(?:I|we) (?:get|got)"
    r"|can only|would|gives?|is it"
    r"|ends? up (?:with|at)|means|then)\b[^\d.!?;,]{0,30}$|\b(?:largest|smallest|total)(?: is| of)?:? $"
)
_CONCLUDES_BEHIND = _cue(
    r"[^,;.\d]{0,25}\b(?:altogether|(?<!the )(?:in )?total|in all|overall|in the end|left|remain(?:s|ing)?|to go)\b"
)
_NAMED = _cue(r"\b(?:answer|final(?:ly)?)\b[^.!?;\n]*$")
_FILLERS = (
    r"yes|ye+a+h*|ye+p|ok(?:ay)?|al+right|o+h+|a+h+|u+m+|u+h+|e+r+m*|h+m+|well|so+|like|then|it['’]?s|it is"
    r"|that['’]?s|maybe|about|probably"
    r"|around|just|only|perhaps|I (?:think|guess|suppose|got|say)|I['’]d say|is (?:it|that)|would it be"
    r"|the answer is|not sure,? but"
)
_ALONE = _cue(rf"\W*(?:(?:{_FILLERS})\b\W*)*(?:[^\W\d]\w? ?= ?)?")
_ENDS = _cue(
    r"\s*(?:[^\W\d_]+)?\s*(?:[.!?;,\n](?!\d)|$|→|[-–—(:]\s*(?=[^\W\d])|(?:because|since|cause|cuz|bc|as"
    r"|for (?:there|it))\b)"
)
# A rounded number is no other choice.
_CHOICE = _cue(r"\W*(?:[^\W\d]+\W+)?or(?: (?!about|approx|around|nearly|roughly|rounded)[^\W\d]+)?\W*|\?\s*")
# Smaller numbers in words are more often pronouns than numbers.
_COUNTED = 12
# A text without end is read from these last ones.
_MOST = 50

ALONE, STATED, MENTIONED, REASON = 3, 2, 1, 0


class Statement(NamedTuple):
    quantity: WrittenQuantity
    # ALONE if nothing else stands there or it is called the answer, STATED as a result, MENTIONED, or in a REASON.
    force: int
    # The words around it.
    sentence: str


# A message is read for several rules, at its turn and at the end.
@lru_cache(1024)
def statements(message: str) -> Sequence[Statement] | None:
    """Returns what a message puts forward; None if it leaves the choice between two values open."""
    text = _told(message)
    reasons = [found.span() for found in _REASON.finditer(text)]
    sentences = [(found.start(), found[0]) for found in SENTENCE.finditer(text)]
    found = list[Statement]()
    for one in quantities_in(text, pronouns=True)[-_MOST:]:
        start, sentence = next((own for own in reversed(sentences) if own[0] <= one.start), (0, text))
        force = _force(text, one, start, first=not found)
        is_counted = one.spelled and one.value <= _COUNTED and one.unit is None
        if is_counted and (force < STATED or (one.word and (one.value == 1 or not _ENDS.match(text, one.end)))):
            continue
        if not _is_beside(text, one):
            in_reason = force < ALONE and any(start <= one.start < end for start, end in reasons)
            found.append(Statement(one, REASON if in_reason else force, sentence))
    return None if _leaves_open(text, [one.quantity for one in found]) else found


@lru_cache(1024)
def answer_quantity(message: str, wanted: str, given: frozenset[float] = frozenset()) -> WrittenQuantity | None:
    """Returns what a message comes to, preferably in this unit, and none of the given values if there is another."""
    found = statements(message) or ()
    kind = unit(wanted).kind
    said = [one for one in found if wanted and one.quantity.unit and one.quantity.unit.kind == kind] or found
    said = (
        [one for one in said if one.force > MENTIONED]
        or [one for one in said if one.quantity.value not in given]
        or said
    )
    strongest = max((one.force for one in said), default=0)
    return next((one.quantity for one in reversed(said) if one.force == strongest), None)


def answer_in(message: str, wanted: str, given: frozenset[float] = frozenset()) -> float | None:
    """Returns the number of what a message comes to."""
    found = answer_quantity(message, wanted, given)
    return found.value if found else None


def denied_numbers(text: str) -> list[Value]:
    """Returns the numbers that a text denies: "not 5 seconds"."""
    text = without_markup(text)
    return [one for one in numbers_in_digits(text) if _DENIED.search(_before(text, one.start))]


def _told(message: str) -> str:
    """Blanks markup and what is taken back, quoted, repeated or asked."""
    text = _BESIDE.sub(_blank, without_markup(message).replace("->", " →"))
    for found in reversed([*_TAKES_BACK.finditer(text)]):
        if re.search(r"\d", text[found.end() :]):
            text = " " * found.end() + text[found.end() :]
            break
    return SENTENCE.sub(_without_question, text)


def _without_question(sentence: re.Match[str]) -> str:
    said = sentence[0]
    asks = _ASKS.search(said.rstrip(" ?!")) if said.rstrip().endswith("?") else None
    if asks is None:
        return said
    # "That's 36, why?"
    kept = said[: said.rfind(",", 0, asks.start()) + 1]
    return kept + " " * (len(said) - len(kept))


def _force(text: str, one: WrittenQuantity, sentence: int, *, first: bool) -> int:
    before = _before(text, one.start)
    if _NAMED.search(before):
        return ALONE
    start = 0 if first else sentence
    begins = one.start - start < 2 * BEFORE and _ALONE.fullmatch(text, start, one.start)
    if begins and (ends := _ENDS.match(text, one.end)):
        # Reasons may follow the first number of a message, and nothing a later one.
        is_all = first or not ends[0].strip(" .!?\n") or ends[0][-1:] in ".!?\n"
        return ALONE if is_all else STATED
    is_stated = one.stated or _CONCLUDES.search(before) or _CONCLUDES_BEHIND.match(text, one.end)
    return STATED if is_stated else MENTIONED


def _is_beside(text: str, one: WrittenQuantity) -> bool:
    """Whether a number is denied, names something, or is still to be calculated with."""
    before = _before(text, one.start)
    return bool(
        one.term
        or _DENIED.search(before)
        or _DENIED_BEHIND.match(text, one.end)
        or _OPERAND.search(before)
        or _OPERAND_BEHIND.match(text, one.end)
    )


def _leaves_open(text: str, found: Sequence[WrittenQuantity]) -> bool:
    """Whether a message ends with a choice: "either 4 or -4", "13? 14?"."""
    if len(found) < 2:
        return False
    one, other = found[-2:]
    if one.unit and other.unit and math.isclose(one.unit.in_base(one.value), other.unit.in_base(other.value)):
        # "3 kilograms, or 3000 g"
        return False
    between = text[one.end : other.start]
    return _CHOICE.fullmatch(between) is not None


def _before(text: str, start: int) -> str:
    return text[max(0, start - 2 * BEFORE) : start]


def _blank(found: re.Match[str]) -> str:
    return " " * len(found[0])
