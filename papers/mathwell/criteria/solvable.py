"""Rules for solvable problems: the text asks something, and its facts are sufficient and consistent."""

import re
from itertools import combinations

from soliloquy_papers.mathwell.criteria.links import misreading
from soliloquy_papers.mathwell.criteria.mentions import Mention
from soliloquy_papers.mathwell.criteria.parsed_problem import Objections, ParsedProblem
from soliloquy_papers.mathwell.criteria.words import SAYS_LITTLE, WORD, asks_for, stems

_EVENT = re.compile(
    r"\b(?:whenever|each time|every time)\b|\bwhen (?:\w+ ){1,4}?(?:hits?|touch\w*|catch\w*|bites?)\b", re.I
)
_CHANGES = re.compile(
    r"\b(?:then|now|later|after|next|another|more|other|again|finally|today|yesterday|tomorrow|end)\b", re.I
)
_PART_IS = re.compile(r"^(?:[a-z]+ ){0,3}?(?:are|is|were|was|in the|belong|of them|of the)\b", re.IGNORECASE)
_NOBODY_IN_BOTH = re.compile(r"\b(?:nobody|no one|none)\b[^.?!]*\bboth\b", re.IGNORECASE)
_OVERLAP = re.compile(
    r"\b(?:both|also|at least|of these|of those|of which|each other|some of them are)\b", re.IGNORECASE
)


def asks_nothing(problem: ParsedProblem) -> Objections:
    question = problem.question
    if not question.asked:
        yield "the text asks for nothing that could be calculated"
    elif not question.mentions:
        yield "the text gives no number"


def missing(problem: ParsedProblem) -> Objections:
    if problem.result is None:
        return
    for term in problem.links.invented:
        if not misreading(term, problem.question, problem.links, problem.result):
            what = f" for {term.name.replace('_', ' ')}" if term.name else ""
            yield f"the answer needs a number that the text does not give: the code takes {term.value:g}{what}"


def event(problem: ParsedProblem) -> Objections:
    """A repeated event without a count: "each hit costs 3 hearts" and no number of hits."""
    if problem.result is None:
        return
    multiplied = {
        id(mention)
        for term in problem.steps("*", "/", "//")
        for part in term.walk()
        if (mention := problem.links.mention(part)) is not None
    }
    if asks_for(problem.question.asked, "each") or asks_for(problem.question.asked, "more"):
        return
    for mention in problem.used:
        sentence = problem.question.sentences[mention.sentence]
        often = mention.rate or _EVENT.search(sentence) is not None
        told = any(one.thing and one.thing == mention.per for one in problem.question.mentions if one is not mention)
        alone = sum(one.rate for one in problem.used) <= 1
        counted = any(one.thing != mention.thing for one in problem.used if one is not mention)
        once = id(mention) not in multiplied and not (counted or told or problem.links.unused)
        if often and alone and once and len(problem.used) > 1 and " in one " not in mention.clause.lower():
            yield f"{mention.value:g} {mention.thing} come up again and again, and the text does not say how often"


def contradiction(problem: ParsedProblem) -> Objections:
    """The text gives two different numbers for the same thing."""
    told = [one for one in problem.question.mentions if not (one.compared or one.share or one.factor or one.incidental)]
    for one, other in combinations(told, 2):
        if one.value == other.value or one.thing != other.thing or not one.thing or one.sentence == other.sentence:
            continue
        if _CHANGES.search(one.clause) or _CHANGES.search(other.clause):
            continue
        first, second = (stems(mention.clause) - SAYS_LITTLE for mention in (one, other))
        alike = min(len(first), len(second)) > 1 and (first <= second or second <= first)
        if alike and _same_subject(one, other):
            yield f"the text says both {one.value:g} and {other.value:g} of the same {one.thing}"


def _same_subject(one: Mention, other: Mention) -> bool:
    """Whether two otherwise equal clauses name the same persons."""
    names = [set(re.findall(r"\b[A-Z][a-z]+", clause[1:])) for clause in (one.clause, other.clause)]
    first = [WORD.findall(clause)[:1] for clause in (one.clause, other.clause)]
    pronoun = any(word and word[0].lower() in ("he", "she", "it", "they", "in", "there") for word in first)
    return (first[0] == first[1] or pronoun) and not names[0] ^ names[1] - {"In", "On"}


def too_many_parts(problem: ParsedProblem) -> Objections:
    """The parts of a whole exceed the whole."""
    question = problem.question
    if _OVERLAP.search(_NOBODY_IN_BOTH.sub("", question.text)):
        return
    plain = [
        one for one in question.mentions if not (one.rate or one.share or one.factor or one.compared or one.incidental)
    ]
    for place, whole in enumerate(plain[:-1]):
        parts = [one for one in plain[place + 1 :] if _is_part(one, whole, question.text)]
        total = sum(part.value for part in parts)
        if len(parts) > 1 and total > whole.value * (1 + 1e-9):
            yield f"the parts come to {total:g}, which is more than the {whole.value:g} {whole.thing} that there are"
            return


def _is_part(one: Mention, whole: Mention, text: str) -> bool:
    behind = text[one.end :].lstrip()
    same = one.thing in ("", whole.thing) or f"of the {whole.thing}" in behind
    return same and one.sentence != whole.sentence and (one.part or _PART_IS.match(behind) is not None)
