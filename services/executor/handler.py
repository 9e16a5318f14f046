"""Runs the code of a calculation."""

from copy import deepcopy
from typing import Protocol

from soliloquy.problems.solving.independent_programs import job_of, outcome_of
from soliloquy.runtime.events import Outcome, emit
from soliloquy.v1.events_pb2 import CodeFailed, CodeWritten, EnrichmentNeeded, ProgramsWritten, ReplyNeeded
from soliloquy.v1.sandbox_pb2 import Execution, Job, Status

MAX_CODE_ATTEMPTS = 3


class JobExecutor(Protocol):
    async def execute(self, job: Job) -> Execution: ...


async def run(event: CodeWritten, sandbox: JobExecutor) -> Outcome:
    """Sends the output to the composer, or a failure back to codegen; three attempts at most."""
    conversation = deepcopy(event.conversation)
    turn = conversation.turns[-1]
    attempt = turn.calculation.attempts[-1]
    job = Job(
        id=f"{conversation.id}-{turn.number}-{len(turn.calculation.opinions) + len(turn.calculation.attempts)}",
        code=attempt.code,
        result_variables=attempt.result_variables,
    )
    attempt.execution.CopyFrom(await sandbox.execute(job))
    if attempt.execution.status == Status.STATUS_OK or len(turn.calculation.attempts) >= MAX_CODE_ATTEMPTS:
        return emit(ReplyNeeded(conversation=conversation))
    return emit(CodeFailed(conversation=conversation))


async def run_programs(event: ProgramsWritten, sandbox: JobExecutor) -> Outcome:
    """Runs the independent programs of a problem one after another, whatever becomes of each."""
    conversation = deepcopy(event.conversation)
    for number, program in enumerate(conversation.problem.enrichment.programs):
        done = await sandbox.execute(job_of(program, f"{conversation.id}-program-{number}"))
        program.execution.CopyFrom(outcome_of(done))
    return emit(EnrichmentNeeded(conversation=conversation))
