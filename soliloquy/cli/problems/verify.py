"""`soliloquy problems verify`."""

import asyncio
import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import click

from soliloquy.cli.attended import attended_results
from soliloquy.cli.command import Command
from soliloquy.cli.model_options import model_options
from soliloquy.cli.options import ANY_PATH, AS_JSON, PROBLEM_FILE_OUT, WAIT, writing_to
from soliloquy.cli.terminal import echo
from soliloquy.problems.files.problem_file import read_problems
from soliloquy.problems.files.problem_row import programs_row
from soliloquy.problems.sifting.problem_lines import ProblemLine, problem_lines
from soliloquy.problems.solving.independent_programs import PROGRAM, PROGRAMS, dispute, run_programs, weigh
from soliloquy.runs.model import ModelSettings, scripted_model
from soliloquy.runtime.atomic_file import atomic_file
from soliloquy.runtime.failure import Failure
from soliloquy.runtime.model.checking import require_endpoints
from soliloquy.runtime.model.opening import open_models
from soliloquy.runtime.model.settings import Models
from soliloquy.truth.ledger import doubt_about, is_worked_out
from soliloquy.v1.conversation_pb2 import Evidence, Problem

# Problems that are solved at once; each asks for several programs.
_IN_FLIGHT = 8


@click.command(cls=Command)
@click.argument("source", metavar="FILE", type=ANY_PATH)
@model_options
def verify(
    *,
    out: Path = PROBLEM_FILE_OUT,
    as_json: bool = AS_JSON,
    wait: bool = WAIT,
    source: Path,
    models: Models,
    model_cache: Path | None,
) -> None:
    """Check the answers of a file by programs that a model writes from the questions alone.

    Each problem has three programs, which run in the sandbox. An answer that most of them come to is verified. An
    answer that most of them contradict is reported, and its problem is left out, unless the solution works the answer
    out: then it is written as disputed, and no verdict in its conversations counts as verified. An answer that nothing
    supports is reported with the part of its solution that cannot be read.
    """
    if any(endpoint.engine == "scripted" for endpoint in models.asked("codegen", PROGRAM)):
        raise Failure("problems verify requires --model openai or ray: the scripted model solves few")
    with writing_to(out):
        problems = {one.question: one for one in read_problems(source) if one.HasField("answer")}
        found = asyncio.run(_checks([*problems.values()], models, model_cache, source, wait=wait, quiet=as_json))
        counts = Counter(checked=len(found))
        with atomic_file(out) as file:
            for line in problem_lines(source):
                programs = found.get(line.question)
                kind, why = _judged(problems.get(line.question), programs)
                counts[kind] += 1
                if why:
                    echo(f"{source}:{line.number}: {kind}: {why}", err=True)
                if kind != "unfit":
                    file.write(_marked(line, programs))
    told = {name: counts[name] for name in ("checked", "verified", "worked through", "disputed", "unverified", "unfit")}
    if as_json:
        echo(json.dumps({**{name.replace(" ", "_"): count for name, count in told.items()}, "programs": PROGRAMS}))
    else:
        echo(f"{out}: {', '.join(f'{count} {name}' for name, count in told.items())}")


def _judged(problem: Problem | None, programs: Evidence | None) -> tuple[str, str]:
    """Returns what the programs make of an answer, and why if it is doubtful."""
    if problem is None:
        return "without an answer", ""
    if programs is None:
        return ("worked through", "") if is_worked_out(problem) else ("unverified", doubt_about(problem))
    why = dispute(problem, programs)
    return ("disputed" if is_worked_out(problem) else "unfit", why) if why else ("verified", "")


def _marked(line: ProblemLine, programs: Evidence | None) -> bytes:
    if programs is None:
        return line.text.encode()
    return json.dumps({**line.row, "programs": programs_row(programs)}, ensure_ascii=False).encode() + b"\n"


async def _checks(
    problems: Sequence[Problem], models: Models, cache: Path | None, source: Path, *, wait: bool, quiet: bool
) -> dict[str, Evidence | None]:
    """Returns what the programs came to, by question."""
    from soliloquy_services.executor.pool import SandboxPool
    from soliloquy_services.executor.settings import SandboxSettings

    await require_endpoints(models, cache)
    room = asyncio.Semaphore(_IN_FLIGHT)
    async with (
        open_models(models, lambda: scripted_model(ModelSettings(problems=[str(source)])), cache) as model,
        SandboxPool(SandboxSettings()) as pool,
    ):

        async def checked(problem: Problem) -> tuple[str, Evidence | None]:
            async with room:
                return problem.question, weigh(await run_programs(problem, model, pool.execute))

        work = [checked(problem) for problem in problems]
        return dict(await attended_results(work, model, unit="problems", wait=wait, quiet=quiet))
