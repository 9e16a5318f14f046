"""Examines word problems with a model: programs from the question alone, other readings of it, and an opinion."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

import click
from click.core import ParameterSource

from soliloquy.cli.attended import ASKED, AttendedModels
from soliloquy.cli.command import gathered, setting
from soliloquy.cli.options import IN_FLIGHT, whole
from soliloquy.problems.solving.independent_programs import PROGRAMS, Run, run_programs, value_of
from soliloquy.runs.dry_run import own_sandboxes
from soliloquy.runtime.ask import Ask, Unusable
from soliloquy.runtime.model import Model
from soliloquy.runtime.seeds import digest
from soliloquy.v1.conversation_pb2 import CodeAttempt, Opinion, Problem, Ruling
from soliloquy_papers.mathwell.answers import Reading
from soliloquy_papers.mathwell.criteria.parsed_problem import parse_problem
from soliloquy_papers.mathwell.criteria.verdicts import TOPIC, Criterion, Evidence, WordProblem
from soliloquy_papers.mathwell.judging import model_opinions
from soliloquy_papers.mathwell.prompting import reading


async def examine(problem: WordProblem, model: Model, run: Run) -> Evidence:
    """Returns what a model finds out about a problem; an unusable answer leaves its part unknown."""
    asked = Problem(id=digest("word problem", problem.question, problem.code), question=problem.question)
    programs = await run_programs(asked, model, run)
    values = [value_of(program.execution) for program in programs]
    ask = Ask(model=model, role="composer", origin=("word problem", asked.id), problem=asked)
    missing = ambiguous = None
    try:
        read = await ask(reading(problem), Reading)
        missing, ambiguous = read.misses_something, read.has_another_answer(parse_problem(problem).answer)
    except Unusable:
        pass
    try:
        opinions = await model_opinions(problem, (), ask, {})
    except Unusable:
        opinions = []
    return Evidence(
        values=[*values, *[None] * (PROGRAMS - len(values))],
        inventing=sum(_invents(program, problem.question) for program in programs),
        missing=missing,
        ambiguous=ambiguous,
        judged={Criterion(one.criterion): _is_yes(one) for one in opinions if one.criterion != TOPIC},
    )


def _invents(program: CodeAttempt, question: str) -> bool:
    problem = WordProblem(question=question, code=program.code, answer=None)
    return bool(parse_problem(problem, program.result_variables[0]).invented)


def _is_yes(one: Opinion) -> bool:
    return one.ruling == Ruling.RULING_YES


@dataclass(frozen=True, kw_only=True, slots=True)
class Examination:
    wanted: bool
    in_flight: int
    asked: AttendedModels

    def of(self, problems: Sequence[WordProblem], *, quiet: bool) -> Sequence[Evidence]:
        """Returns the evidence of each problem; empty if none is wanted. Raises Failure."""
        return asyncio.run(self._examined(problems, quiet=quiet)) if self.wanted else ()

    async def _examined(self, problems: Sequence[WordProblem], *, quiet: bool) -> Sequence[Evidence]:
        async with own_sandboxes() as pool:

            async def examined(problem: WordProblem, model: Model) -> Evidence:
                return await examine(problem, model, pool.execute)

            return await self.asked.ask_about_each(
                problems, examined, "problems", in_flight=self.in_flight, quiet=quiet
            )


_EXAMINE = "Have a model examine each problem: three programs from its question alone, other readings, an opinion."


def _examination(
    asked: AttendedModels = ASKED,
    wanted: bool = setting(_EXAMINE, "--examine"),
    in_flight: int = setting("Problems to examine at once.", default=16, type=whole(1, IN_FLIGHT)),
) -> Examination:
    context = click.get_current_context()
    for name in ("model", "model_settings", "record", "in_flight", "wait"):
        if not wanted and context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            raise click.UsageError(f"--{name.replace('_', '-')} requires --examine")
    return Examination(wanted=wanted, in_flight=in_flight, asked=asked)


EXAMINATION = gathered(_examination)
