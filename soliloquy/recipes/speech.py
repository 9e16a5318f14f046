"""Cuts what models put around the words that a student or a tutor is to say."""

import json
import re
from collections.abc import Sequence
from typing import NamedTuple

from soliloquy.runtime.files import table_beside
from soliloquy.truth.patterns import lazy_pattern

_DATA = table_beside(__file__, "speech.toml")


def _any(words: Sequence[str]) -> str:
    """Returns a pattern for any of the words, the longest first."""
    return "|".join(re.escape(word) for word in sorted(words, key=len, reverse=True))


def _name(speaker: str) -> str:
    """Returns a pattern for a speaker's name in any dress: "**Student 1 (unsure):**", "[Tutor]", "Turn 3 (Tutor):"."""
    own = _any(_DATA[speaker])
    mood = r"(?: ?\([^()\n]*\))?"
    named = rf"(?:the )?(?:{own})(?:['’]s)?(?: (?:{_any(_DATA['heading'])}))?(?: ?#?\d+)?{mood}"
    named = rf"(?:{named}|turn \d+ ?\(?(?:{own})\)?)"
    in_brackets = rf"[\[【][*_]*{named}(?:[,;:–-] ?[^\]】\n\d]*)?[*_]*[\]】][*_]* *[:\uff1a]?"
    with_colon = rf"{named} ?[*_]* ?(?:[:\uff1a]| [–—-] )[*_]*"
    return rf"(?:[#>*_ ]*(?:{in_brackets}|{with_colon})|#+ *{named} *$|\*\*{named}\*\* *$)"


def _forms(verb: str) -> str:
    """Returns a pattern for an English verb as stage directions have it: "nods", "nodding", "scratches"."""
    if verb.endswith("e"):
        return rf"{verb[:-1]}(?:e|es|ing)"
    return rf"{verb}(?:s|es|{verb[-1]}?ing)"


_FLAGS = re.IGNORECASE | re.MULTILINE
_OWN = {speaker: lazy_pattern(rf"\A\s*{_name(speaker)}\s*", _FLAGS) for speaker in ("student", "tutor")}
_OTHER = {
    "student": lazy_pattern(rf"^[ \t]*+({_name('tutor')}|(?<!\A){_name('student')})", _FLAGS),
    "tutor": lazy_pattern(rf"^[ \t]*+({_name('student')}|(?<!\A){_name('tutor')})", _FLAGS),
}
_HEADING = lazy_pattern(
    rf"\A\s*[#*_\[ ]*(?!(?:{_any(_DATA['said'])})[*_\]]* ?[:\uff1a][*_]*[ \t]*\S)"
    rf"(?:{_any(_DATA['heading'])})[*_\]]*(?: ?[:\uff1a][*_]*\s*|\]\s*|\s*\n)",
    re.IGNORECASE,
)
# A code in brackets before the words, and what a bracket after them tells.
_MOVE = lazy_pattern(
    rf"\A\s*[*_]*[\[(](?:{_any(_DATA['moves'])})(?: (?:question|move|hint))?[\])][*_]*:?\s*", re.IGNORECASE
)
_RATING = lazy_pattern(rf"\s*[*_]*[\[(](?:{_any(_DATA['ratings'])})\s*[:=][^\])\n]*[\])][*_]*\s*\Z", re.IGNORECASE)
_PREFACE = lazy_pattern(
    rf"\A\s*[*_]*(?:{_any(_DATA['preface_openings'])})\b[^\n]*?\b(?:{_any(_DATA['preface_names'])})\b[^\n:]*:"
    r"[*_]*[ \t]*(?:\n+|(?=[\"“«]))",
    re.IGNORECASE,
)
# An opening word alone, on a line of its own.
_ASSENT = lazy_pattern(
    r"\A\s*(?:sure|certainly|of course|absolutely|okay|understood)(?: thing)?[!.,:]*\s*\n+", re.IGNORECASE
)
_RULE = lazy_pattern(r"\A\s*(?:-{3,}|\*{3,}|_{3,})\s*$\s*|^[ \t]*(?:-{3,}|\*{3,}|_{3,})[ \t]*\Z", re.MULTILINE)
_REMARK = lazy_pattern(
    rf"(?:\A|\s+)(?P<open>[(\[*_]+)(?:{_any(_DATA['remark_openings'])})(?!\w)(?P<body>[^\n]*?)[)\]*_]+[.)]?\s*\Z",
    re.IGNORECASE,
)
_BARE_REMARK = lazy_pattern(rf"\n\s*[*_]*(?:{_any(_DATA['remark_openings'])})(?!\w)(?P<body>[^\n]*)\Z", re.IGNORECASE)
_LEADING_RATING = lazy_pattern(
    rf"\A\s*[*_]*(?:{_any(_DATA['ratings'])})[*_]*\s*[:=]\s*[*_]*[\d.]+[^\n]*\n+", re.IGNORECASE
)
# A note below a rule, in brackets or italics.
_BELOW_RULE = lazy_pattern(
    r"\n\s*(?:-{3,}|\*{3,}|_{3,})\s*\n+\s*(?:\([^()\n]*\)|\[[^\[\]\n]*\]|\*[^*\n]*\*|_[^_\n]*_)\s*\Z"
)
# The merits of the message, in a list.
_MERITS = lazy_pattern(
    r"\n\s*[*_]*(?:this|the|my) (?:message|reply|response|question)\b[^\n]*:[*_]*\s*\n"
    r"(?:[ \t]*[-*•] [^\n]*(?:\n|\Z))+\Z",
    re.IGNORECASE,
)
_ANNOUNCED = lazy_pattern(r"\A[^\n]*:[*_]*\s*\n+")
_LEADING_REMARK = lazy_pattern(
    rf"\A\s*[(\[*_]+(?:{_any(_DATA['remark_openings'])})(?!\w)(?P<body>[^\n]*?)[)\]*_]+\s*\n", re.IGNORECASE
)
_REASON = lazy_pattern(rf"\n\s*[*_(]*(?:{_any(_DATA['reasons'])})\b[^\n]*\Z", re.IGNORECASE)
_LEADING_BRACKETS = lazy_pattern(r"\A\s*(?:\([^()\n]*\)|\[[^\[\]\n]*\]|\*[^*\n]*\*|_[^_\n]*_)\s*\n")
_BRACKETED = lazy_pattern(
    r"(?:\A|\n)\s*(?:\((?P<a>[^()\n]*)\)|\[(?P<b>[^\[\]\n]*)\]|\*(?P<c>[^*\n]*)\*|_(?P<d>[^_\n]*)_)\s*\Z"
)
_REMARK_SIGN = lazy_pattern(rf"\b(?:{_any(_DATA['remark_signs'])})\b", re.IGNORECASE)
_REMARK_WORD = lazy_pattern(rf"\b(?:{_any(_DATA['remark_words'])})\b", re.IGNORECASE)
_OFFER = lazy_pattern(
    rf"\n\s*[*_(]*(?:{_any(_DATA['offer_openings'])})\b(?=[^\n]*\b(?:{_any(_DATA['offer_words'])})\b)[^\n]*\Z",
    re.IGNORECASE,
)
_ACTION = lazy_pattern(
    rf"(?<!\w)[*_(\[](?:{_any(_DATA['adverbs'])}|{'|'.join(map(_forms, _DATA['verbs']))})\b[^*_()\[\]\d\n]*[*_)\]]",
    re.IGNORECASE,
)
_FENCE = lazy_pattern(r"\A\s*```[\w-]*\n(?P<words>.*?)\n?```\s*\Z", re.DOTALL)
_TAGGED = lazy_pattern(r"\A\s*<(?P<tag>[a-z_]+)>(?P<words>.*)</(?P=tag)>\s*\Z", re.DOTALL | re.IGNORECASE)
_BLOCK_QUOTE = lazy_pattern(r"^ *> ?", re.MULTILINE)
# All lines are quoted, but for a preface.
_IN_BLOCK_QUOTE = lazy_pattern(r"\A(?:[^\n]*:[*_]*\s*\n+)?(?: *>[^\n]*(?:\n|\Z)|[ \t]*\n)+\Z")
# Parts under headings, of which the last is spoken.
_PARTS = lazy_pattern(
    rf"\A\s*\[(?!{_any(_DATA['heading'])})[^\]\n]+\].*^\s*\[(?:{_any(_DATA['heading'])})\]\s*", re.I | re.M | re.S
)
_ALTERNATIVE = lazy_pattern(rf"^[ *_#]*(?:{_any(_DATA['alternatives'])}) (?:\d|[A-C]\b)[^\n:]*:", _FLAGS)
_OFFERED = lazy_pattern(rf"\A[^\n]*\bhere are\b[^\n]*\b(?:{_any(_DATA['offered'])})\b[^\n]*:", re.IGNORECASE)
_TO_THE_CALLER = lazy_pattern("|".join(_DATA["to_the_caller"]), re.IGNORECASE)
_PLAN = lazy_pattern(rf"^[ \t#*_\d.-]*(?:{_any(_DATA['plans'])})[*_]* ?:", _FLAGS)
_QUOTED = lazy_pattern(
    r"\A\s*(?:`(?P<e>[^`]*)`|\"(?P<a>[^\"]*)\"|“(?P<b>[^“”]*)”|«(?P<c>[^«»]*)»|„(?P<d>[^„“]*)“)\s*\Z"
)


# Models that fail repeat a sign or write white space without end, on which the patterns would hang.
_RUN = lazy_pattern(r"([\W_])\1{19,}|\s{20,}")


class Speech(NamedTuple):
    text: str
    # The pieces around it, in the order in which they were cut.
    cut: tuple[str, ...]


def cleaned(text: str, speaker: str) -> Speech:
    """Returns what the speaker says; `speaker` is "student" or "tutor"."""
    text = _RUN.sub(lambda run: run[0][:3], text)
    words = _BLOCK_QUOTE.sub("", text).strip() if _IN_BLOCK_QUOTE.search(text) else text.strip()
    cut: list[str] = []
    while True:
        before = words
        words = _only_field(words)
        for pattern in (
            _PARTS,
            _PREFACE,
            _ASSENT,
            _RULE,
            _OWN[speaker],
            _HEADING,
            _MOVE,
            _RATING,
            _LEADING_RATING,
            _BELOW_RULE,
            _MERITS,
            _OFFER,
        ):
            words = _without(pattern, words, cut)
        for pattern in (_REMARK, _BARE_REMARK, _LEADING_REMARK):
            if (remark := pattern.search(words)) and _REMARK_WORD.search(remark["body"]):
                words = _without(pattern, words, cut)
        for pattern in (_BRACKETED, _LEADING_BRACKETS, _REASON, _ANNOUNCED):
            if (remark := pattern.search(words)) and _REMARK_SIGN.search(remark[0]):
                words = _without(pattern, words, cut)
        for around in (_FENCE, _TAGGED, _QUOTED):
            if whole := around.match(words):
                words = next(
                    inside
                    for inside in whole.groupdict().values()
                    if inside is not None and inside != whole.groupdict().get("tag")
                ).strip()
        if words == before:
            break
    return Speech(_without_actions(words, cut), tuple(cut))


def second_speaker(text: str, speaker: str) -> str:
    """Returns the name with which a cleaned text begins to speak for the other side, or once more; empty if none."""
    found = _OTHER[speaker].search(text)
    return found[1].strip() if found else ""


def is_only_a_name(text: str) -> bool:
    return any(own.fullmatch(text) for own in _OWN.values())


def has_alternatives(text: str) -> bool:
    """Whether an answer offers several messages in place of one."""
    return len(_ALTERNATIVE.findall(text)) > 1 or _OFFERED.match(text.lstrip()) is not None


def is_about_the_message(text: str) -> bool:
    """Whether a cleaned text speaks to whoever asked for it, or plans a message."""
    return _TO_THE_CALLER.search(text.replace("’", "'")) is not None or len(_PLAN.findall(text)) > 1


def _only_field(text: str) -> str:
    """Returns the words of an object that has nothing else."""
    if not text.startswith("{"):
        return text
    try:
        values = list(json.loads(text, strict=False).values())
    except (ValueError, AttributeError, RecursionError):
        return text
    return values[0].strip() if len(values) == 1 and isinstance(values[0], str) else text


def _without(pattern: re.Pattern[str], words: str, cut: list[str]) -> str:
    """Cuts the first match, unless it is all that there is."""
    found = pattern.search(words)
    if not found or not found[0].strip() or not (rest := words[: found.start()] + words[found.end() :]).strip():
        return words
    cut.append(found[0].strip())
    return rest.strip()


def _without_actions(words: str, cut: list[str]) -> str:
    spoken = _ACTION.sub(lambda action: _noted(cut, action[0]), words)
    return words if spoken == words else re.sub(r"[ \t]{2,}", " ", re.sub(r" +([.,!?])", r"\1", spoken)).strip()


def _noted(cut: list[str], action: str) -> str:
    cut.append(action)
    return ""
