"""Scores a word problem against the criteria by rules, and adds the opinions of other judges."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache

from soliloquy.runtime.files import table_beside
from soliloquy.v1.conversation_pb2 import Opinion, Ruling
from soliloquy_papers.mathwell.criteria import rules
from soliloquy_papers.mathwell.criteria.parsed_problem import MOST_CHARACTERS, ParsedProblem, parse_problem
from soliloquy_papers.mathwell.criteria.topic import names_topic
from soliloquy_papers.mathwell.criteria.verdicts import Criterion, Scores, WordProblem, opinion

_TABLES: Mapping[str, Mapping[str, Mapping[str, str]]] = table_beside(__file__, "rules.toml")
# The names of the rules of each criterion, and of those that only doubt.
_NAMES = {criterion: [name for listed in _TABLES[criterion].values() for name in listed] for criterion in Criterion}
_DOUBTING = frozenset(name for criterion in Criterion for name in _TABLES[criterion].get("doubts", ()))


def _judge(rule: str) -> str:
    return f"rule {rule.replace('_', ' ')}"


# The names under which rules object.
JUDGES = ("rule code", *sorted(_judge(name) for names in _NAMES.values() for name in names))
# The judge that weighs what the rules find, and how much each word tells.
WEIGHING = "classifier"
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
    return [one for criterion in Criterion for one in _by_rules(read, criterion)]


def _by_rules(read: ParsedProblem, criterion: Criterion) -> Iterator[Opinion]:
    if criterion is Criterion.ACCURATE and not read.problem.code:
        yield opinion(criterion, meets=None, judge="rule code", because="there is no program")
        return
    if criterion is Criterion.ACCURATE and read.result is None:
        meets = False if _NO_SOLUTION.search(read.unfollowed) else None
        yield opinion(criterion, meets=meets, judge="rule code", because=f"the code: {read.unfollowed}")
        return
    names = _NAMES[criterion]
    found = [
        opinion(criterion, meets=None if name in _DOUBTING else False, judge=_judge(name), because=because)
        for name in names
        for because in getattr(rules, name)(read)
    ]
    yield from found
    if not any(one.ruling == Ruling.RULING_NO for one in found):
        yield opinion(criterion, meets=True, judge="rules", because=f"none of {len(names)} rules objects")


def _doubt(one: Opinion) -> Opinion:
    is_no = one.ruling == Ruling.RULING_NO
    return opinion(Criterion(one.criterion), meets=None, judge=one.judge, because=one.because) if is_no else one
