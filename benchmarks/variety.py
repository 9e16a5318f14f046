"""`python -m benchmarks variety`."""

import asyncio
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping

import click

from benchmarks.command import AS_JSON
from benchmarks.labelled import LISTED, Readings, report, total
from soliloquy.problems.commission_source import CommissionSource
from soliloquy.problems.sources import problem_source
from soliloquy.programs.tracing import structure_of, trace_solution
from soliloquy.runtime.ask import Ask
from soliloquy.truth.numbers import numbers_in
from soliloquy_papers.mathwell import prompting
from soliloquy_papers.mathwell.answers import WrittenProblem
from soliloquy_papers.mathwell.commissions import commissioned
from soliloquy_papers.mathwell.criteria.scoring import score
from soliloquy_papers.mathwell.criteria.verdicts import WordProblem
from soliloquy_papers.mathwell.criteria.words import stems
from soliloquy_services.model.engines.scripted import ScriptedEngine

GRADES = (2, 3, 4, 5, 6)
TOPICS = 25
# Problems of each topic and grade.
_EACH = 4
_OUTCOMES = ("problems", "different programs", "about the topic", "approved by rules")
_SENTENCE = re.compile(r"(?<=[.!?])\s+")


@click.command()
@click.option("--seed", default=1, show_default=True, help="Seed of the problems.")
@LISTED
@AS_JSON
def variety(*, seed: int, listed: bool, as_json: bool) -> None:
    """Have the scripted model write 500 problems of 25 topics and 5 school years, and count the different programs.

    Two programs are alike if they take the same operations of numbers in the same order, whatever the numbers and names
    are. A problem is about its topic if a sentence with a number, or its question, names the topic.
    """
    kinds = asyncio.run(write(seed))
    report({**kinds, "all": total(kinds.values())}, _OUTCOMES, listed=listed, as_json=as_json)


async def write(seed: int) -> Mapping[str, Readings]:
    """Returns the counts by school year; a program is counted where it comes up first."""
    kinds: dict[str, Readings] = defaultdict(Readings)
    examples = problem_source("arithmetic")
    seen: set[str] = set()
    for grade in GRADES:
        for topic in prompting.topics({})[:TOPICS]:
            source = CommissionSource(examples=examples, topics=(topic,), grade=grade, commissioned=commissioned)
            for ordinal in range(_EACH):
                problem = source.problem(seed, ordinal)
                ask = Ask(model=ScriptedEngine(), role="codegen", origin=(problem.id,), problem=problem)
                written = await ask(prompting.writing(problem, {}), WrittenProblem)
                answer = trace_solution(written.code).value
                made = WordProblem(question=written.question, code=written.code, answer=answer, topic=topic)
                outcomes = list(_outcomes(made, seen))
                missing = ", ".join(name for name in _OUTCOMES[1:] if name not in outcomes)
                kinds[f"grade {grade}"].add(outcomes, f"{topic}: not {missing}: {made.question}" if missing else "")
    return kinds


def _outcomes(problem: WordProblem, seen: set[str]) -> Iterator[str]:
    yield "problems"
    structure = structure_of(problem.code)
    if structure not in seen:
        seen.add(structure)
        yield "different programs"
    if is_about_topic(problem):
        yield "about the topic"
    if score(problem).meets_all:
        yield "approved by rules"


def is_about_topic(problem: WordProblem) -> bool:
    """Whether the topic belongs to what is counted or asked for, and not only to a sentence beside the problem."""
    wanted = {stem for stem in stems(problem.topic) if len(stem) > 1} - {"the", "a"}
    carrying = (one for one in _SENTENCE.split(problem.question) if "?" in one or next(iter(numbers_in(one)), None))
    return any(wanted & stems(sentence) for sentence in carrying)
