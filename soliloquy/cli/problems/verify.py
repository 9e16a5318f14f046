"""`soliloquy problems verify`."""

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path

import click

from soliloquy.cli.attended import attended_results
from soliloquy.cli.command import Command
from soliloquy.cli.errors import writing_to
from soliloquy.cli.model_options import model_options
from soliloquy.cli.options import AS_JSON, PROBLEM_FILE_OUT, WAIT
from soliloquy.cli.terminal import echo
from soliloquy.problems.files.problem_file import read_problems
from soliloquy.problems.sifting.problem_lines import ProblemLine, problem_lines
from soliloquy.problems.solving.independent_programs import PROGRAM, PROGRAMS, Check, Run, check_answer
from soliloquy.runs.model import ModelSettings, scripted_model
from soliloquy.runtime.atomic_file import atomic_file
from soliloquy.runtime.failure import Failure
from soliloquy.runtime.model.checking import require_endpoints
from soliloquy.runtime.model.opening import open_models
from soliloquy.runtime.model.settings import Models
from soliloquy.truth.support import doubt_about, has_supported_answer
from soliloquy.v1.conversation_pb2 import Problem

# Problems that are solved at once; each asks for several programs.
_IN_FLIGHT = 8


@click.command(cls=Command)
@click.argument("source", metavar="FILE", type=click.Path(path_type=Path))
@PROBLEM_FILE_OUT
@AS_JSON
@model_options
@WAIT
def verify(*, source: Path, out: Path, as_json: bool, models: Models, model_cache: Path | None, wait: bool) -> None:
    """Check the answers of a file by programs that a model writes from the questions alone.

    Only problems whose answer is not the result of a calculation, or whose solution cannot all be read, are checked.
    Each has three programs, which run in the sandbox. A problem whose answer most of them contradict is reported and
    left out; the others are written, and those that most programs agree with are marked as verified. Any other is
    reported with the part of its solution that cannot be read.
    """
    if any(endpoint.engine == "scripted" for endpoint in models.asked("codegen", PROGRAM)):
        raise Failure("problems verify requires --model openai or ray: the scripted model solves no problem")
    with writing_to(out):
        problems = [one for one in read_problems(source) if one.HasField("answer") and not has_supported_answer(one)]
        checks = asyncio.run(_checks(problems, models, model_cache, source, wait=wait, quiet=as_json))
        doubts = {one.question: doubt_about(one) for one in problems if not checks[one.question].holds}
        unfit = {one.question: f"unfit: {why}" for one in problems if (why := checks[one.question].contradiction(one))}
        with atomic_file(out) as file:
            for line in problem_lines(source):
                if line.question in unfit:
                    echo(f"{source}:{line.number}: {unfit[line.question]}", err=True)
                else:
                    if doubt := doubts.get(line.question):
                        echo(f"{source}:{line.number}: unverified: {doubt}", err=True)
                    file.write(_marked(line, checks.get(line.question)))
    counts = {
        "checked": len(checks),
        "verified": sum(check.holds for check in checks.values()),
        "unfit": len(unfit),
        "unverified": sum(check.value is None for check in checks.values()),
    }
    if as_json:
        echo(json.dumps({**counts, "programs": PROGRAMS}))
    else:
        told = ", ".join(f"{count} {name}" for name, count in counts.items())
        echo(f"{out}: {told}; the answers of all others are worked through in their solutions")


def _marked(line: ProblemLine, check: Check | None) -> bytes:
    if check is None or not check.holds:
        return line.text.encode()
    return json.dumps({**line.row, "agreeing_programs": check.agreeing}, ensure_ascii=False).encode() + b"\n"


async def _checks(
    problems: Sequence[Problem], models: Models, cache: Path | None, source: Path, *, wait: bool, quiet: bool
) -> dict[str, Check]:
    """Returns the checks by question."""
    from services.executor.pool import SandboxPool
    from services.executor.settings import SandboxSettings

    await require_endpoints(models, cache)
    room = asyncio.Semaphore(_IN_FLIGHT)
    pool = SandboxPool(SandboxSettings())
    async with open_models(models, lambda: scripted_model(ModelSettings(problems=[str(source)])), cache) as model:
        await pool.start()

        async def checked(problem: Problem, run: Run) -> tuple[str, Check]:
            async with room:
                return problem.question, await check_answer(problem, model, run)

        try:
            work = [checked(problem, pool.execute) for problem in problems]
            return dict(await attended_results(work, model, unit="problems", wait=wait, quiet=quiet))
        finally:
            await pool.stop()
