"""Puts a planned question as a person would: not word for word, and not each time alike."""

import re
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from soliloquy.recipes.quantity_names import result_name
from soliloquy.recipes.scripted.phrasebook import Phrasebook, load_tables
from soliloquy.truth.units import measured
from soliloquy.v1.conversation_pb2 import Problem, Step

_SENTENCE = re.compile(r"(?<=[.!?;])\s+")
_LEAD = re.compile(r"^(?:And|So|Then|Now|But|Finally|At last|First|Next)\b,?\s+(?=\w)", re.I)
_TRAIL = re.compile(r",?\s+(?:then|now|altogether|in the end)(?=\?$)")
_WH = r"(?P<wh>(?:By |In |With |At |For |On |Of )?(?:[Ww]hat|[Ww]hich|[Hh]ow)(?: \w+){0,3}?)"
_DETERMINER = r"(?:the|a|an|his|her|its|their|our|your|this|that|these|those|all|each|one|both|[A-Z][a-z]+)"
_BE = re.compile(
    rf"^{_WH} (?P<be>is|are|was|were) (?P<rest>that|(?:the|a|an|his|her|its|their|[A-Z][a-z]+)\b[^,;:]*)\?$"
)
# A place or a unit behind the subject; the verb comes before it.
_ADVERBIAL = re.compile(r" (?=(?:in|on|at|above|below|behind|between|before|after|inside|under|as|here|there)\b)")
# The words behind these belong to a noun from which they would be torn.
_CLAUSE = re.compile(r"\b(?:that|which|who|than|written|when|while|if|with) ")
_PRONOUN = re.compile(
    rf"^{_WH} (?P<aux>does|do|did|will|would|can|could|must|should|has|have) "
    r"(?P<subject>it|they|he|she|we|you)\b(?P<rest>[^;:]*)\?$"
)
_PLURAL = re.compile(rf"^{_WH} do (?P<rest>(?:the|these|those|all|both|two|three|we|they|you)\b[^;:]*)\?$")
_DOES = re.compile(rf"^{_WH} does (?P<rest>{_DETERMINER}\b[^;:]*)\?$")
_SUBJECT = re.compile(
    rf"^{_WH} (?P<verb>comes|remains|follows|goes|stays|holds|connects|results|is left|are left|belongs|causes|acts)"
    r"\b(?P<rest>[^;:]*)\?$"
)
_REQUEST = re.compile(
    r"^(?:Find|Calculate|Work|Solve|Determine|Express|Write|Add|Divide|Multiply|Convert|Give|Name|Take|Put|Bring|Set|Use)\b[^?]*\.$"
)


@lru_cache(1)
def _book() -> Phrasebook:
    return Phrasebook(load_tables(Path(__file__).with_name("phrases")))


def rewordings(ask: str, *, name: str = "", unit: str = "") -> Sequence[str]:
    """Returns other ways to put a question, none of which holds it word for word; empty if none is known."""
    plain = " ".join(ask.split())
    return [text for text in _reworded(plain, name, measured(unit)) if plain not in text]


def questions_for(step: Step, problem: Problem) -> Sequence[str]:
    """Returns the question of a step, and other ways to put it."""
    name = result_name(step, problem)
    unit = step.result.unit if name == step.result.name else ""
    return [step.ask, *rewordings(step.ask, name=name, unit=unit)]


def nudges(name: str = "", *, failed: bool) -> Sequence[str]:
    """Returns wordings that hand back a question; `failed` adds those that ask for another try."""
    sections = ("onward", "again") if failed else ("onward",)
    return [text for section in sections for text in _book().wordings("questions", section, name=name)]


@lru_cache(2048)
def _reworded(ask: str, name: str, unit: str) -> Sequence[str]:
    *context, asked = _SENTENCE.split(ask)
    before = " ".join(context)
    found = []
    if indirect := _indirect(_LEAD.sub("", asked)):
        found += [*_book().wordings("questions", "indirect", asked=indirect)]
    elif _REQUEST.match(asked):
        found += [*_book().wordings("questions", "request", asked=asked[:1].lower() + asked[1:-1])]
    if name:
        found += [*_book().wordings("questions", "named", name=name, unit=unit)]
    return [f"{before} {text}" if before else text for text in found]


def _indirect(asked: str) -> str:
    """Turns a question into a clause: "How large is the current?" into "how large the current is"."""
    asked = asked[:1].upper() + asked[1:]
    asked = _TRAIL.sub("", asked)
    if found := _BE.match(asked):
        return _with_be(found)
    if found := _PRONOUN.match(asked):
        return _clause(found, _with_auxiliary(found))
    if found := _PLURAL.match(asked):
        return _clause(found, found["rest"])
    if found := _SUBJECT.match(asked):
        return _clause(found, found["verb"] + found["rest"])
    if found := _DOES.match(asked):
        return _third_person(found)
    return ""


def _clause(found: re.Match[str], rest: str) -> str:
    wh = found["wh"]
    return f"{wh[:1].lower()}{wh[1:]} {rest}"


def _with_be(found: re.Match[str]) -> str:
    """Puts the verb behind its subject; empty where a participle may follow: "By what angle is the filter turned?"."""
    wh, be, rest = found["wh"], found["be"], found["rest"]
    if rest.startswith("the same"):
        return _clause(found, f"{be} {rest}")
    known = wh.startswith(("What", "Which", "How ")) and " of" not in wh and (be, rest) != ("are", "that")
    if not known or len(rest.split()) > 9 or _CLAUSE.search(rest):
        return ""
    subject, *place = _ADVERBIAL.split(rest, 1)
    return _clause(found, " ".join([subject, be, *place]))


def _with_auxiliary(found: re.Match[str]) -> str:
    subject, rest = found["subject"], found["rest"].strip()
    if found["aux"] == "do":
        return f"{subject} {rest}"
    if found["aux"] == "does":
        verb, _, after = rest.partition(" ")
        return " ".join(filter(None, [subject, _inflected(verb), after]))
    if found["aux"] == "did":
        return ""
    return f"{subject} {found['aux']} {rest}"


def _third_person(found: re.Match[str]) -> str:
    """Inflects the verb of "does the car need"; empty if none of the words is a known verb."""
    told = found["rest"].split(" ")
    verbs = _book().tables["questions"]["verbs"]
    at = next((place for place, word in enumerate(told) if place and word in verbs), None)
    if at is None:
        return ""
    return _clause(found, " ".join([*told[:at], _inflected(told[at]), *told[at + 1 :]]))


def _inflected(verb: str) -> str:
    if verb in (irregular := {"have": "has", "do": "does", "go": "goes", "be": "is"}):
        return irregular[verb]
    if verb.endswith(("s", "sh", "ch", "x", "z")):
        return f"{verb}es"
    return f"{verb[:-1]}ies" if verb.endswith("y") and verb[-2] not in "aeiou" else f"{verb}s"
