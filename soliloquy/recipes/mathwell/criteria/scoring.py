"""Scores a word problem against the criteria by rules, and adds the opinions of other judges."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache

from soliloquy.recipes.mathwell.criteria import appropriate, goal, numbers_used, solvable, steps
from soliloquy.recipes.mathwell.criteria.parsed_problem import Objections, ParsedProblem, parse_problem
from soliloquy.recipes.mathwell.criteria.question import MOST_CHARACTERS
from soliloquy.recipes.mathwell.criteria.verdicts import Criterion, Scores, WordProblem, opinion
from soliloquy.recipes.mathwell.criteria.words import WORD, singular, stems
from soliloquy.runtime.beside import table_beside
from soliloquy.v1.conversation_pb2 import Opinion, Ruling

Rule = Callable[[ParsedProblem], Objections]

_MODULES = (solvable, numbers_used, goal, steps, appropriate)
_RULES: Mapping[Criterion, Mapping[str, Rule]] = {
    Criterion(criterion): {
        name: next(getattr(each, name) for each in _MODULES if hasattr(each, name)) for name in rules
    }
    for criterion, rules in table_beside(__file__, "rules.toml").items()
}
# Rules about the answer, which do not apply if the code is inaccurate.
_OF_ANSWER = frozenset({"below_zero", "part_of_one"})
_SMALL = frozenset(["a", "an", "the", "of", "and", "in", "on", "for", "with", "about", "to", "at"])
# Reasons that show that the code is no solution, rather than one that cannot be traced.
_NO_SOLUTION = re.compile("no function|returns nothing|no Python|cannot be calculated|list where")


def score(problem: WordProblem, others: Sequence[Opinion] = ()) -> Scores:
    """Returns the opinions of the rules and of `others`. Traces the code and never runs it."""
    if len(problem.question) > MOST_CHARACTERS:
        told = f"the question has {len(problem.question)} characters; {MOST_CHARACTERS} are the limit"
        own: Sequence[Opinion] = [opinion(Criterion.APPROPRIATE, meets=False, judge="rule length", because=told)]
    else:
        # No rule reads the topic, so the scripted judge, which lacks it, hits the same cache entry.
        own = _judged(replace(problem, topic=""))
    return Scores(opinions=[*own, *others], topic_named=_topic_named(problem))


@lru_cache(256)
def _judged(problem: WordProblem) -> Sequence[Opinion]:
    read = parse_problem(problem)
    opinions: list[Opinion] = []
    for criterion in Criterion:
        wrong = any(one.criterion == Criterion.ACCURATE and one.ruling == Ruling.RULING_NO for one in opinions)
        opinions += _by_rules(read, criterion, left_out=_OF_ANSWER if wrong else frozenset())
    return opinions


def _by_rules(read: ParsedProblem, criterion: Criterion, *, left_out: frozenset[str]) -> Iterator[Opinion]:
    if criterion is Criterion.ACCURATE and not read.problem.code:
        yield opinion(criterion, meets=None, judge="rule code", because="there is no program")
        return
    if criterion is Criterion.ACCURATE and read.result is None:
        meets = False if _NO_SOLUTION.search(read.unfollowed) else None
        yield opinion(criterion, meets=meets, judge="rule code", because=f"the code: {read.unfollowed}")
        return
    rules = _RULES[criterion]
    objections = [
        opinion(criterion, meets=False, judge=f"rule {name.replace('_', ' ')}", because=because)
        for name, rule in rules.items()
        if name not in left_out
        for because in rule(read)
    ]
    unopposed = f"none of {len(rules)} rules objects"
    yield from objections or [opinion(criterion, meets=True, judge="rules", because=unopposed)]


def _topic_named(problem: WordProblem) -> bool | None:
    """Whether the question contains a word of the topic; None if there is no topic."""
    wanted = {singular(word) for word in WORD.findall(problem.topic)} - _SMALL
    return bool(wanted & stems(problem.question)) if wanted else None
