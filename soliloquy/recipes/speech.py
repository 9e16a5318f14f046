"""Cuts what models put around the words that a student or a tutor is to say."""

import re
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

_DATA = tomllib.loads(Path(__file__).with_name("speech.toml").read_text("utf-8"))


def _any(words: Sequence[str]) -> str:
    """Returns a pattern for any of the words, the longest first."""
    return "|".join(re.escape(word) for word in sorted(words, key=len, reverse=True))


def _name(speaker: str) -> str:
    """Returns a pattern for a speaker's name in any dress: "**Student (unsure):**", "[Tutor]", "Tutor's reply:"."""
    named = rf"(?:the )?(?:{_any(_DATA[speaker])})(?:['’]s)?(?: (?:{_any(_DATA['heading'])}))?(?: ?\([^()\n]*\))?"
    in_brackets, with_colon = rf"\[[*_]*{named}[*_]*\][*_]* *:?", rf"{named} ?[*_]* ?[::][*_]*"
    return rf"(?:[#>*_ ]*(?:{in_brackets}|{with_colon})|#+ *{named} *$|\*\*{named}\*\* *$)"


_FLAGS = re.IGNORECASE | re.MULTILINE
_OWN = {speaker: re.compile(rf"\A\s*{_name(speaker)}\s*", _FLAGS) for speaker in ("student", "tutor")}
_OTHER = {
    "student": re.compile(rf"^\s*({_name('tutor')}|(?<!\A){_name('student')})", _FLAGS),
    "tutor": re.compile(rf"^\s*({_name('student')}|(?<!\A){_name('tutor')})", _FLAGS),
}
_HEADING = re.compile(
    rf"\A\s*[#*_\[ ]*(?:{_any(_DATA['heading'])})[*_\]]*(?: ?[::][*_]*\s*|\]\s*|\s*\n)", re.IGNORECASE
)
_PREFACE = re.compile(
    rf"\A\s*[*_]*(?:{_any(_DATA['preface_openings'])})\b[^\n]*?\b(?:{_any(_DATA['preface_names'])})\b[^\n:]*:"
    r"[*_]*[ \t]*(?:\n+|(?=[\"“«]))",
    re.IGNORECASE,
)
# An opening word alone, on a line of its own.
_ASSENT = re.compile(
    r"\A\s*(?:sure|certainly|of course|absolutely|okay|understood)(?: thing)?[!.,:]*\s*\n+", re.IGNORECASE
)
_RULE = re.compile(r"\A\s*(?:-{3,}|\*{3,}|_{3,})\s*$\s*|\s*^\s*(?:-{3,}|\*{3,}|_{3,})\s*\Z", re.MULTILINE)
_REMARK = re.compile(
    rf"(?:\A|\s+)(?P<open>[(\[*_]+)(?:{_any(_DATA['remark_openings'])})\b(?P<body>[^\n]*?)[)\]*_]+[.)]?\s*\Z",
    re.IGNORECASE,
)
_BARE_REMARK = re.compile(rf"\n\s*[*_]*(?:{_any(_DATA['remark_openings'])})\b(?P<body>[^\n]*)\Z", re.IGNORECASE)
_BRACKETED = re.compile(
    r"(?:\A|\n)\s*(?:\((?P<a>[^()\n]*)\)|\[(?P<b>[^\[\]\n]*)\]|\*(?P<c>[^*\n]*)\*|_(?P<d>[^_\n]*)_)\s*\Z"
)
_REMARK_SIGN = re.compile(rf"\b(?:{_any(_DATA['remark_signs'])})\b", re.IGNORECASE)
_REMARK_WORD = re.compile(rf"\b(?:{_any(_DATA['remark_words'])})\b", re.IGNORECASE)
_OFFER = re.compile(
    rf"\n\s*[*_(]*(?:{_any(_DATA['offer_openings'])})\b(?=[^\n]*\b(?:{_any(_DATA['offer_words'])})\b)[^\n]*\Z",
    re.IGNORECASE,
)
_ACTION = re.compile(rf"[*_(\[](?:{_any(_DATA['actions'])})\b[^*_()\[\]\d\n]*[*_)\]]", re.IGNORECASE)
_FENCE = re.compile(r"\A\s*```[\w-]*\n(?P<words>.*?)\n?```\s*\Z", re.DOTALL)
_TAGGED = re.compile(r"\A\s*<(?P<tag>[a-z_]+)>(?P<words>.*)</(?P=tag)>\s*\Z", re.DOTALL | re.IGNORECASE)
_BLOCK_QUOTE = re.compile(r"^ *> ?", re.MULTILINE)
# All lines are quoted, but for a preface.
_IN_BLOCK_QUOTE = re.compile(r"\A(?:[^\n]*:[*_]*\s*\n+)?(?: *>[^\n]*(?:\n|\Z)|\s*\n)+\Z")
# Parts under headings, of which the last is spoken.
_PARTS = re.compile(
    rf"\A\s*\[(?!{_any(_DATA['heading'])})[^\]\n]+\].*^\s*\[(?:{_any(_DATA['heading'])})\]\s*", re.I | re.M | re.S
)
_ALTERNATIVE = re.compile(rf"^[ *_#]*(?:{_any(_DATA['alternatives'])}) (?:\d|[A-C]\b)[^\n:]*:", _FLAGS)
_QUOTED = re.compile(r"\A\s*(?:`(?P<e>[^`]*)`|\"(?P<a>[^\"]*)\"|“(?P<b>[^“”]*)”|«(?P<c>[^«»]*)»|„(?P<d>[^„“]*)“)\s*\Z")


class Speech(NamedTuple):
    text: str
    # The pieces around it, in the order in which they were cut.
    cut: tuple[str, ...]


def cleaned(text: str, speaker: str) -> Speech:
    """Returns what the speaker says; `speaker` is "student" or "tutor"."""
    words = _BLOCK_QUOTE.sub("", text).strip() if _IN_BLOCK_QUOTE.search(text) else text.strip()
    cut: list[str] = []
    while True:
        before = words
        for pattern in (_PARTS, _PREFACE, _ASSENT, _RULE, _OWN[speaker], _HEADING, _OFFER):
            words = _without(pattern, words, cut)
        for pattern in (_REMARK, _BARE_REMARK):
            if (remark := pattern.search(words)) and _REMARK_WORD.search(remark["body"]):
                words = _without(pattern, words, cut)
        if (remark := _BRACKETED.search(words)) and _REMARK_SIGN.search(remark[0]):
            words = _without(_BRACKETED, words, cut)
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


def has_alternatives(text: str) -> bool:
    """Whether the text offers several messages in place of one."""
    return len(_ALTERNATIVE.findall(text)) > 1


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
