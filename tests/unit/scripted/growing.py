"""Whole conversations in one process: the services' own handlers, and code that really runs, without a sandbox.

Only code that the vet lets through is run, with the names that the vetted worker offers.
"""

import ast

from soliloquy.problems.bank.bank import load_bank
from soliloquy.recipes.judges import Judges
from soliloquy.runtime.events import ConversationEvent
from soliloquy.runtime.model import Model
from soliloquy.v1.conversation_pb2 import Conversation
from soliloquy.v1.events_pb2 import (
    CalculationNeeded,
    CodeFailed,
    CodeWritten,
    ConversationFinished,
    ConversationStarted,
    ReplyNeeded,
    StudentRejected,
    StudentReplied,
    TutorReplied,
)
from soliloquy.v1.runs_pb2 import Run
from soliloquy.v1.sandbox_pb2 import STATUS_ERROR, STATUS_OK, Execution, Job, NamedValue, Value
from soliloquy_services.codegen.handler import write
from soliloquy_services.composer.handler import reply as compose
from soliloquy_services.curriculum.handler import attempt_at
from soliloquy_services.executor.guest.vet import vet
from soliloquy_services.executor.guest.vocabulary import builtins
from soliloquy_services.executor.handler import JobExecutor, run
from soliloquy_services.model.engines.scripted import ScriptedEngine
from soliloquy_services.student.handler import reply, rewrite
from soliloquy_services.student.held import HeldConversations
from soliloquy_services.tutor.handler import decide

BANK = load_bank("physics")
ENGINE = ScriptedEngine()


class Desk:
    """Stands in for the sandbox."""

    async def execute(self, job: Job) -> Execution:
        tree = ast.parse(job.code)
        if refused := vet(tree).refused:
            return Execution(status=STATUS_ERROR, error=refused)
        variables: dict[str, object] = {"__builtins__": builtins(_no_output)}
        exec(compile(tree, "<snippet>", "exec"), variables)
        values = [NamedValue(name=name, value=tagged(variables[name])) for name in job.result_variables]
        return Execution(status=STATUS_OK, values=values)


DESK = Desk()
NO_JUDGES = Judges()


def begun(ordinal: int, *, seed: int) -> Conversation:
    of_run = Run(id=f"run-{seed}", recipe="soliloquy", seed=seed, max_turns=20, max_attempts=1)
    return attempt_at(BANK.problem(seed, ordinal), run=of_run, ordinal=ordinal, attempt=0)


async def grown(ordinal: int, *, seed: int, engine: ScriptedEngine = ENGINE) -> Conversation:
    """The conversation at this place of a run over the physics bank, from its problem to its end."""
    return await finished(ConversationStarted(conversation=begun(ordinal, seed=seed)), engine=engine)


async def finished(
    event: ConversationEvent, *, engine: Model, sandbox: JobExecutor = DESK, judges: Judges = NO_JUDGES
) -> Conversation:
    """The conversation that an event leads to in the end."""
    while not isinstance(event, ConversationFinished):
        (event,) = await _following(event, engine, sandbox, judges)
    return event.conversation


async def _following(
    event: ConversationEvent, engine: Model, sandbox: JobExecutor, judges: Judges
) -> tuple[ConversationEvent, ...]:
    match event:
        case ConversationStarted() | TutorReplied():
            return tuple(await reply(event, engine, HeldConversations()))
        case StudentRejected():
            return tuple(await rewrite(event, engine))
        case StudentReplied():
            return tuple(await decide(event, engine))
        case CalculationNeeded() | CodeFailed():
            return tuple(await write(event, engine))
        case CodeWritten():
            return tuple(await run(event, sandbox))
        case ReplyNeeded():
            return tuple(await compose(event, engine, judges))
        case _:
            raise AssertionError(f"nothing follows {type(event).__name__}")


def tagged(value: object) -> Value:
    match value:
        case bool():
            return Value(boolean=value)
        case int():
            return Value(integer=str(value))
        case float():
            return Value(real=value)
        case str():
            return Value(text=value)
        case _:
            raise AssertionError(f"scripted code yields {value!r}")


def _no_output(text: str) -> int:
    raise AssertionError(f"scripted code prints {text!r}")
