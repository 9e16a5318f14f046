"""The numbers of a text, with the thing that each counts and how it counts."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from soliloquy.truth.number_meanings import Value
from soliloquy.truth.numbers import numbers_in
from soliloquy_papers.mathwell.criteria.words import BETWEEN, ENDS, FACTORS, WORD, is_plural, singular

_CLAUSE_ENDS = re.compile(r"[,;:.?!](?=\s|$)|\b(?:and|but|then|while|so that|who|which)\b", re.IGNORECASE)
_NOT_COUNTED = re.compile(
    r"(?:\b(?:grades?|room|class|number|no\.|chapter|level|page|line|day|week|step|question|lesson|route|bus|the year)"
    r"|#)\s*$",
    re.IGNORECASE,
)
_ORDINAL = re.compile(
    r"(?:st|nd|rd|th)\b|\s+in the (?:morning|afternoon|evening)\b|\s?(?:a\.?m\.?|p\.?m\.?|o['’]clock)\b|:\d\d"
)
_MONEY = re.compile(r"[$€£]\s*$")
_TIME = r"(?:second|minute|hour|day|night|morning|week|weekend|month|year)"
_SOLD_BY = r"(?:box|bag|pack|piece|pound|gallon|kilogram|liter|dozen|foot|meter|mile)"
# "3 miles a day", but not "3 miles on a day in May".
_NOT_AT = "".join(rf"(?<!\b{word} )" for word in ("in", "on", "of", "to", "for", "into", "from", "with"))
_EACH_AFTER = re.compile(
    rf"^[^.,;?!]{{0,40}}?\b(?:each|apiece|per|every|(?:for|in|on|to|by) one(?=\s)"
    rf"|{_NOT_AT}an?(?=\s(?:{_TIME}|{_SOLD_BY})\b))"
    r"\s*(?:of (?:the|his|her|their)\s+(?:\w+\s+)?)?(?P<per>[a-z]+)?",
    re.IGNORECASE,
)
_EACH_BEFORE = re.compile(r"\b(?:each|every|per|apiece)\b(?P<behind>[^.;?!]*)$", re.IGNORECASE)
_EACH_OF = re.compile(
    r"\b(?:each|every|all|any) (?:one )?(?:of )?(?:the|his|her|their|its|these|those)?\s*$", re.IGNORECASE
)
_PACKED = re.compile(
    r"\b(?P<packs>[a-z]+)(?: cut| are cut| is cut)? "
    r"(?:of|with|into|in groups of|containing|holding|that (?:hold|cost|have|are)(?: \w+)?)"
    r"(?: about)? ?[$]?$",
    re.IGNORECASE,
)
_GENERIC = re.compile(
    r"^(?:\W*)(?:an?|one|the|for one|in one)\s+(?:[a-z-]+\s+){0,2}?(?P<subject>[a-z-]+)\s"
    r"(?:costs?|holds?|has|have|eats?|weighs?|takes?|needs?|uses?|walks?|lays?|gives?|contains?|seats?|jumps?"
    r"|carries|makes?|earns?|sells?|is|lasts?|requires?|can|drinks?|produces?|fits?|goes|runs?|feeds?|serves?|was|burns?)\b",
    re.IGNORECASE,
)
_TIMES = re.compile(
    r"^\s*times (?:as (?:many|much|old|long|far|big|tall|heavy|fast|high|large|wide|often)"
    r"|more|the|that|longer|older|bigger)\b",
    re.IGNORECASE,
)
_COMPARED = re.compile(
    r"^\s*(?:[a-z-]+ ){0,3}?(?:(?P<less>(?:fewer|less)\b(?=[^.;?!]*\bthan\b|\s*[.,;]|\s+[a-z]+\s*[.,;])"
    r"|younger|shorter|cheaper|lighter|slower|smaller|colder|lower)"
    r"|(?P<more>more\b(?=[^.;?!]*\bthan\b)|older|taller|longer|heavier|faster|bigger|warmer|higher|larger))\b",
    re.IGNORECASE,
)
_SHARE = re.compile(r"^\s*(?:%|percent\b|per cent\b)")
# "a third of them", not "the third line".
_OF_SHARE = re.compile(r"\s+(?:of|as|the|that|an?|price|off|full|his|her|their)\b|\W*$", re.IGNORECASE)
_REFERS = ("them", "these", "those", "it", "one", "ones")
_PART = re.compile(
    r"^(?:\s+of (?:them|these|those|the|his|her|their|its|all)\b|\s+(?:are|were|is|was|have|belong)\b)", re.I
)


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Mention:
    """A number of the text."""

    value: float
    # The counted thing or the unit, in the singular: "apple", "dollar", "hour"; empty if unknown.
    thing: str
    # A rate, such as "3 per box", and the thing that it is per, if known.
    rate: bool = False
    per: str = ""
    # "20 %", "half", "three quarters".
    share: bool = False
    # "3 times as many", "twice".
    factor: bool = False
    # A comparison: +1 for "5 more than", -1 for "5 fewer than".
    compared: int = 0
    # "3 of them", "12 are red".
    part: bool = False
    # Possibly not a quantity: "one", "the two days".
    incidental: bool = False
    sentence: int
    clause: str
    start: int
    end: int


def counted_thing(rest: str) -> str:
    """Returns the thing that the words behind a number name: the first plural, else the first word."""
    words: list[str] = []
    for word in re.findall(r"[^\W\d_]+(?:['’-][^\W\d_]+)*|[^\s\w]", rest)[:8]:
        lower = word.lower()
        if not words and lower in BETWEEN:
            continue
        if lower in ENDS or not word[0].isalpha():
            break
        if is_plural(lower) and not lower.endswith(("'s", "’s")):
            return singular(lower)
        words.append(lower)
        if len(words) == 3:
            break
    # "1 gallon", "60 puzzle": the first word if none is a plural.
    return "" if not words or words[0] in _REFERS else singular(words[0])


def mentions_in(text: str, sentences: Sequence[str]) -> list[Mention]:
    bounds, at = [], 0
    for sentence in sentences:
        at = text.index(sentence, at)
        bounds.append((at, at + len(sentence)))
        at += len(sentence)
    found = [_mention(number, text, bounds) for number in numbers_in(text)]
    worded = _in_words(text, bounds, [(one.start, one.end) for one in found if one])
    return sorted((one for one in [*found, *worded] if one), key=lambda one: one.start)


def _in_words(text: str, bounds: Sequence[tuple[int, int]], taken: Sequence[tuple[int, int]]) -> list[Mention]:
    """Returns the factors and shares that are words: "twice", "half"."""
    found: list[Mention] = []
    for word in WORD.finditer(text):
        value = FACTORS.get(word[0].lower())
        inside = any(start <= word.start() < end for start, end in taken)
        if value is None or inside or (value < 1 and not _OF_SHARE.match(text, word.end())):
            continue
        sentence = _sentence_of(word.start(), bounds)
        found.append(
            Mention(
                value=value,
                thing="",
                share=value < 1,
                factor=value >= 1,
                incidental=True,
                sentence=sentence,
                clause=_clause(text, bounds[sentence], word.start(), word.end()),
                start=word.start(),
                end=word.end(),
            )
        )
    return found


def _mention(number: Value, text: str, bounds: Sequence[tuple[int, int]]) -> Mention | None:
    # "$20 a month": the article is not part of the number.
    written = re.sub(r"(?<=\d)\s+(?:of\s+)?an?$", "", text[number.start : number.end])
    ends = number.start + len(written)
    before, after = text[: number.start], text[ends:]
    glued = after[:1].isalpha() and _ORDINAL.match(after) is None and not re.match(r"[a-zA-Z]{1,3}\b", after)
    if _ORDINAL.match(after) or glued or re.match(r"[A-Z]\b", after):
        return None
    sentence = _sentence_of(number.start, bounds)
    start, end = bounds[sentence]
    ahead, behind = text[start : number.start], text[ends:end]
    money = _MONEY.search(before) is not None
    thing = "dollar" if money else counted_thing(re.sub(r"^-", " ", behind))
    rate, per = _rate(ahead, behind, hyphenated=bool(re.match(r"-[a-z]", behind)))
    share = _SHARE.match(behind) is not None or (0 < number.value < 1 and (number.spelled or "/" in written))
    compared = _COMPARED.match(behind)
    spelled = number.spelled and written.isalpha()
    return Mention(
        value=number.value / 100 if _SHARE.match(behind) else number.value,
        thing=thing,
        rate=rate,
        per=per,
        share=share,
        factor=_TIMES.match(behind) is not None,
        compared=0 if compared is None else -1 if compared["less"] else 1,
        part=_PART.match(behind) is not None,
        incidental=number.value == 1
        or (spelled and (re.search(r"\b(?:the|all|these|other|first|last|next|past)\s*$", ahead, re.I) is not None))
        or (not money and _NOT_COUNTED.search(ahead) is not None),
        sentence=sentence,
        clause=_clause(text, (start, end), number.start, ends),
        start=number.start,
        end=ends,
    )


def _rate(ahead: str, behind: str, *, hyphenated: bool) -> tuple[bool, str]:
    """Returns whether a number is a rate, and the thing that it is per."""
    if hyphenated:
        return True, ""
    clause_after = re.split(r"\d|,\s|\band\b", behind, maxsplit=1)[0]
    after = _EACH_AFTER.match(clause_after) or _EACH_AFTER.match(re.split(r"\bof the \d+|\d", behind, maxsplit=1)[0])
    if after:
        return True, singular(after["per"] or "")
    if re.search(r"\beach of (?:the|his|her|its) $", ahead, re.I):
        return False, ""
    if packed := _PACKED.search(ahead):
        word = packed["packs"].lower()
        if is_plural(word) or word in ("box", "pack", "bag", "group"):
            return True, singular(word)
    before = _EACH_BEFORE.search(ahead)
    # Not "3 dollars each, and 12 dollars for the cups".
    if (
        before
        and not re.search(r"\d", before["behind"])
        and not re.search(r"\d(?:(?!\band\b)[^,;])*$", ahead[: before.start()])
    ):
        # "every day she reads 5 pages", "each box holds 5"
        words = WORD.findall(before["behind"])
        return (True, singular(words[0])) if words and not _EACH_OF.search(ahead) else (False, "")
    return False, ""


def with_rate(mention: Mention, sentence: str, counted: set[str], things: set[str], asked: str) -> Mention:
    """Marks "a box holds 12 pencils" as a rate if the text counts boxes elsewhere, and unmarks false rates."""
    packed = _PACKED.search(mention.clause.partition("#")[0]) if mention.rate else None
    if packed and not _EACH_BEFORE.search(packed.string):
        # "boxes of 12", but not "the brains of 8".
        known = singular(packed["packs"]) in things or re.search(r"\bin(?:to)? \w+ of $", packed.string, re.I)
        return mention if known or _EACH_AFTER.match(mention.clause.partition("#")[2]) else replace(mention, rate=False)
    if mention.rate or mention.factor or mention.share:
        return mention
    for_one = re.search(r"\bfor an? (?:new )?(\w+)", mention.clause.partition("#")[2], re.IGNORECASE)
    if for_one and singular(for_one[1]) == asked != mention.thing:
        return replace(mention, rate=True, per=asked)
    subject = _GENERIC.match(sentence)
    if subject is None or mention.start < 0:
        return mention
    thing = singular(subject["subject"])
    return replace(mention, rate=True, per=thing) if thing in counted and thing != mention.thing else mention


def _sentence_of(at: int, bounds: Sequence[tuple[int, int]]) -> int:
    return next((number for number, (_, end) in enumerate(bounds) if at < end), len(bounds) - 1)


def _clause(text: str, bounds: tuple[int, int], start: int, end: int) -> str:
    """Returns the clause around a number, which is replaced by #."""
    ahead, behind = text[bounds[0] : start], text[end : bounds[1]]
    cuts = list(_CLAUSE_ENDS.finditer(ahead))
    first = cuts[-1].end() if cuts else 0
    last = _CLAUSE_ENDS.search(behind)
    return f"{ahead[first:]}#{behind[: last.start()] if last else behind}".strip()
