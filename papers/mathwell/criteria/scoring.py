"""Scores a word problem against the criteria by rules, and adds the opinions of other judges."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache

from soliloquy.runtime.beside import table_beside
from soliloquy.v1.conversation_pb2 import Opinion, Ruling
from soliloquy_papers.mathwell.criteria import appropriate, goal, numbers_used, solvable, steps
from soliloquy_papers.mathwell.criteria.parsed_problem import Objections, ParsedProblem, parse_problem
from soliloquy_papers.mathwell.criteria.question import MOST_CHARACTERS
from soliloquy_papers.mathwell.criteria.topic import names_topic
from soliloquy_papers.mathwell.criteria.verdicts import Criterion, Scores, WordProblem, opinion

Rule = Callable[[ParsedProblem], Objections]


def _judge(rule: str) -> str:
    return f"rule {rule.replace('_', ' ')}"


_MODULES = (solvable, numbers_used, goal, steps, appropriate)
_TABLES = table_beside(__file__, "rules.toml")
_RULES: Mapping[Criterion, Mapping[str, Rule]] = {
    criterion: {
        name: next(getattr(each, name) for each in _MODULES if hasattr(each, name))
        for rules in _TABLES[criterion].values()
        for name in rules
    }
    for criterion in Criterion
}
_DOUBTING = frozenset(name for criterion in Criterion for name in _TABLES[criterion].get("doubts", ()))
# The names under which rules object.
JUDGES = ("rule code", *sorted(_judge(name) for rules in _RULES.values() for name in rules))
# The judge that weighs what the rules find, and how much each word tells.
WEIGHING = "classifier"
# Rules about the answer, which do not apply where a rule objects to the code.
_OF_ANSWER = frozenset({"below_zero", "part_of_one"})
# Reasons that show that the code is no solution, rather than one that cannot be traced.
_NO_SOLUTION = re.compile("no function|returns nothing|no Python|cannot be calculated|list where")


def score(problem: WordProblem, others: Sequence[Opinion] = ()) -> Scores:
    """Returns the opinions of the rules and of `others`. Traces the code and never runs it.

    An objection of a rule is a doubt if a judge among the others weighs what the rules find.
    """
    weighed = {one.criterion for one in others if one.judge == WEIGHING and one.ruling != Ruling.RULING_UNDECIDED}
    if len(problem.question) > MOST_CHARACTERS:
        told = f"the question has {len(problem.question)} characters; {MOST_CHARACTERS} are the limit"
        own: Sequence[Opinion] = [opinion(Criterion.APPROPRIATE, meets=False, judge="rule length", because=told)]
    else:
        # No rule reads the topic, so the scripted judge, which lacks it, hits the same cache entry.
        judged = _judged(replace(problem, topic=""))
        own = [_doubt(one) if one.criterion in weighed and one.judge != "rule code" else one for one in judged]
    return Scores(opinions=[*own, *others], topic_named=names_topic(problem.question, problem.topic))


@lru_cache(256)
def _judged(problem: WordProblem) -> Sequence[Opinion]:
    read = parse_problem(problem)
    opinions: list[Opinion] = []
    for criterion in Criterion:
        of_code = (one.judge for one in opinions if one.criterion == Criterion.ACCURATE)
        is_doubted = not {*of_code} <= {"rules", "rule code"}
        opinions += _by_rules(read, criterion, left_out=_OF_ANSWER if is_doubted else frozenset())
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
    found = [
        opinion(criterion, meets=None if name in _DOUBTING else False, judge=_judge(name), because=because)
        for name, rule in rules.items()
        if name not in left_out
        for because in rule(read)
    ]
    yield from found
    if not any(one.ruling == Ruling.RULING_NO for one in found):
        yield opinion(criterion, meets=True, judge="rules", because=f"none of {len(rules)} rules objects")


def _doubt(one: Opinion) -> Opinion:
    is_no = one.ruling == Ruling.RULING_NO
    return opinion(Criterion(one.criterion), meets=None, judge=one.judge, because=one.because) if is_no else one
