"""Examines a word problem with a model: programs from the question alone, other readings of it, and an opinion."""

from soliloquy.problems.solving.independent_programs import PROGRAMS, Run, run_programs, value_of
from soliloquy.runtime.ask import Ask, Unusable
from soliloquy.runtime.model import Model
from soliloquy.runtime.seeds import digest
from soliloquy.v1.conversation_pb2 import CodeAttempt, Opinion, Problem, Ruling
from soliloquy_papers.mathwell.answers import Reading
from soliloquy_papers.mathwell.criteria.parsed_problem import parse_problem
from soliloquy_papers.mathwell.criteria.verdicts import Criterion, Evidence, WordProblem
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
        opinions = await model_opinions(problem, ask, {})
    except Unusable:
        opinions = []
    return Evidence(
        values=[*values, *[None] * (PROGRAMS - len(values))],
        inventing=sum(_invents(program, problem.question) for program in programs),
        missing=missing,
        ambiguous=ambiguous,
        judged={Criterion(one.criterion): _is_yes(one) for one in opinions},
    )


def _invents(program: CodeAttempt, question: str) -> bool:
    problem = WordProblem(question=question, code=program.code, answer=None)
    return bool(parse_problem(problem, program.result_variables[0]).invented)


def _is_yes(one: Opinion) -> bool:
    return one.ruling == Ruling.RULING_YES
