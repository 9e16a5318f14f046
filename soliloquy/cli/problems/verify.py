import asyncio
import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import click

from soliloquy.cli.attended import ASKED, AttendedModels
from soliloquy.cli.command import Command
from soliloquy.cli.options import ANY_PATH, AS_JSON, PROBLEM_FILE_OUT, writing_to
from soliloquy.cli.service_options import LANGUAGE
from soliloquy.cli.terminal import answer, echo
from soliloquy.problems.files.problem_file import read_problems
from soliloquy.problems.files.problem_row import programs_row
from soliloquy.problems.sifting.problem_lines import ProblemLine, problem_lines
from soliloquy.problems.solving.independent_programs import PROGRAM, PROGRAMS, dispute, run_programs, weigh
from soliloquy.runs.dry_run import own_sandboxes
from soliloquy.runtime.failure import Failure
from soliloquy.runtime.files import atomic_file
from soliloquy.runtime.model import Model
from soliloquy.truth.ledger import doubt_about, is_worked_out
from soliloquy.v1.conversation_pb2 import Evidence, Problem

# Problems that are solved at once; each asks for several programs.
_IN_FLIGHT = 8


@click.command(cls=Command)
@click.argument("source", metavar="FILE", type=ANY_PATH)
def verify(
    *,
    out: Path = PROBLEM_FILE_OUT,
    language: str | None = LANGUAGE,
    as_json: bool = AS_JSON,
    source: Path,
    asked: AttendedModels = ASKED,
) -> None:
    """Check the answers of a file by programs that a model writes from the questions alone.

    Each problem has three programs, which run in the sandbox. An answer that most of them come to is verified. An
    answer that most of them contradict is reported, and its problem is left out, unless the solution works the answer
    out: then it is written as disputed, and no verdict in its conversations counts as verified. An answer that nothing
    supports is reported with the part of its solution that cannot be read.
    """
    if any(endpoint.engine == "scripted" for endpoint in asked.models.asked("codegen", PROGRAM)):
        raise Failure("problems verify requires --model openai or ray: the scripted model solves few")
    with writing_to(out):
        problems = {one.question: one for one in read_problems(source, language or "") if one.HasField("answer")}
        checked = asyncio.run(_checks([*problems.values()], asked, source, quiet=as_json))
        counts = Counter(checked=len(checked))
        with atomic_file(out) as file:
            for line in problem_lines(source):
                programs = checked.get(line.question)
                kind, why = _judged(problems.get(line.question), programs)
                counts[kind] += 1
                if why:
                    echo(f"{source}:{line.number}: {kind}: {why}", err=True)
                if kind != "unfit":
                    file.write(_marked(line, programs))
    told = {name: counts[name] for name in ("checked", "verified", "worked through", "disputed", "unverified", "unfit")}
    words = f"{out}: {', '.join(f'{count} {name}' for name, count in told.items())}"
    found = {name.replace(" ", "_"): count for name, count in told.items()} | {"programs": PROGRAMS}
    answer(found, [words], as_json=as_json)


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
    problems: Sequence[Problem], asked: AttendedModels, source: Path, *, quiet: bool
) -> dict[str, Evidence | None]:
    """Returns what the programs came to, by question."""
    async with own_sandboxes() as pool:

        async def checked(problem: Problem, model: Model) -> tuple[str, Evidence | None]:
            return problem.question, weigh(await run_programs(problem, model, pool.execute))

        found = asked.ask_about_each(
            problems, checked, "problems", in_flight=_IN_FLIGHT, quiet=quiet, problems=[str(source)]
        )
        return dict(await found)
