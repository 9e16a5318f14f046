"""Builds the services of an assignment from their settings, models, sandboxes and datasets."""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from copy import deepcopy
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from google.protobuf.message import Message

from soliloquy.dataset.lock import Locked
from soliloquy.dataset.storage import StorageUnavailable
from soliloquy.recipes.judges import Judges
from soliloquy.recipes.recipe import load_judges
from soliloquy.runs.assignment import LOOP, SERVICES, Assignment
from soliloquy.runs.description import described
from soliloquy.runs.model import ModelSettings, scripted_model
from soliloquy.runtime.events import ConversationEvent
from soliloquy.runtime.failure import Failure
from soliloquy.runtime.files import unwritable
from soliloquy.runtime.handling import MODEL_BOUND, Handler, Service
from soliloquy.runtime.model import Model, ReserveOf, no_reserve
from soliloquy.runtime.model.agreements import FILE
from soliloquy.runtime.model.opening import ModelByRole, open_models
from soliloquy.v1.events_pb2 import (
    CallAudited,
    ConversationFinished,
    ProblemSubmitted,
    RunCancelled,
    RunChanged,
    RunHeld,
    RunStanding,
    ServiceDescribed,
)

if TYPE_CHECKING:
    from soliloquy_services.collector.datasets import Datasets
    from soliloquy_services.executor.handler import JobExecutor
    from soliloquy_services.executor.policy import SandboxSettings
    from soliloquy_services.executor.pool import SandboxPool


@dataclass(frozen=True, kw_only=True, slots=True)
class Assembly:
    services: Sequence[Service]
    models: ModelByRole
    # Running if one of the services is the executor.
    sandboxes: "SandboxPool | None"
    # Open if one of the services is the collector.
    datasets: "Datasets | None"


@asynccontextmanager
async def assembled(assignment: Assignment) -> AsyncIterator[Assembly]:
    """Builds the services, and keeps what they need open while the context is entered."""
    from soliloquy_services.collector.datasets import datasets_of
    from soliloquy_services.collector.settings import LiveSettings
    from soliloquy_services.executor.policy import SandboxSettings
    from soliloquy_services.executor.pool import SandboxPool

    model = assignment.model
    # Services on a Kafka may run anywhere: each of their processes learns for itself.
    log = assignment.transport
    findings = log.with_name(FILE) if isinstance(log, Path) else None
    async with AsyncExitStack() as stack:
        models = await stack.enter_async_context(
            open_models(
                model.models,
                lambda: scripted_model(model),
                model.record,
                holds=True,
                findings=findings,
                spending=model.spending,
            )
        )
        sandbox = assignment.sandbox or SandboxSettings()
        live = assignment.datasets or LiveSettings()
        sandboxes, executes = SandboxPool(sandbox), "executor" in assignment.services
        datasets = datasets_of(live) if "collector" in assignment.services else None
        if datasets:
            await _open(datasets, live.data, stack)
        if executes:
            stack.push_async_callback(sandboxes.stop)
            await sandboxes.start()
        judges = load_judges(assignment.classifiers)
        builders = _builders(models, models.reserve, judges, sandboxes, sandbox, datasets)
        services = [described(builders[name](), model, sandbox, assignment.classifiers) for name in assignment.services]
        if assignment.max_in_flight is not None:
            services = [replace(service, max_in_flight=assignment.max_in_flight) for service in services]
        # A wait takes a task and the conversation, up to 100 KB.
        waiting = max(MODEL_BOUND, assignment.at_once)
        services = [
            replace(one, max_in_flight=waiting) if one.max_in_flight == MODEL_BOUND else one for one in services
        ]
        yield Assembly(
            services=services,
            models=models,
            sandboxes=sandboxes if executes else None,
            datasets=datasets,
        )


def declared() -> list[Service]:
    """Every service with its handlers and topics, without anything that it would need to work."""
    from soliloquy_services.executor.policy import SandboxSettings
    from soliloquy_services.executor.pool import SandboxPool

    builders = _builders(scripted_model(ModelSettings()), no_reserve, Judges(), SandboxPool(SandboxSettings()))
    return [builders[name]() for name in SERVICES]


def steering() -> list[Service]:
    """The programs that handle no event: the gateway, and the command `generate`."""
    from soliloquy_services.gateway.topics import FOLLOWED

    return [
        Service(
            name="gateway",
            emits=(ProblemSubmitted, RunChanged, RunCancelled, RunHeld, CallAudited),
            reads=(*FOLLOWED, CallAudited),
        ),
        Service(
            name="soliloquy",
            emits=(ProblemSubmitted, RunCancelled),
            reads=(ConversationFinished, RunStanding, ServiceDescribed),
        ),
    ]


def _builders(
    model: Model,
    reserve: ReserveOf,
    judges: Judges,
    sandboxes: "JobExecutor",
    sandbox: "SandboxSettings | None" = None,
    datasets: "Datasets | None" = None,
) -> Mapping[str, Callable[[], Service]]:
    """Returns what builds each service, the collector with datasets of the usual settings unless others are given."""
    import soliloquy_services.codegen.app
    import soliloquy_services.collector.app
    import soliloquy_services.composer.app
    import soliloquy_services.curriculum.app
    import soliloquy_services.executor.app
    import soliloquy_services.planner.app
    import soliloquy_services.student.app
    import soliloquy_services.tutor.app
    from soliloquy_services.collector.datasets import datasets_of
    from soliloquy_services.collector.settings import LiveSettings
    from soliloquy_services.executor.policy import SandboxSettings

    settings, kept = sandbox or SandboxSettings(), datasets or datasets_of(LiveSettings())
    return {
        "curriculum": soliloquy_services.curriculum.app.service,
        "planner": lambda: soliloquy_services.planner.app.service(model),
        "student": lambda: soliloquy_services.student.app.service(model, reserve),
        "tutor": lambda: soliloquy_services.tutor.app.service(model, reserve),
        "codegen": lambda: soliloquy_services.codegen.app.service(model, reserve),
        "executor": lambda: soliloquy_services.executor.app.service(settings, sandboxes),
        "composer": lambda: soliloquy_services.composer.app.service(model, judges, reserve),
        "collector": lambda: soliloquy_services.collector.app.service(kept, kept.in_flight),
    }


def conversation_handlers(model: Model, sandbox: "JobExecutor") -> Mapping[type[Message], Handler]:
    """Returns the handlers that take a conversation from its plan to its end in one process, without a transport."""
    builders = _builders(model, no_reserve, Judges(), sandbox)
    made = [builders[name]() for name in ("planner", *LOOP)]
    return {message: handler for service in made for message, handler in service.handlers.items()}


async def next_event(event: ConversationEvent, handlers: Mapping[type[Message], Handler]) -> ConversationEvent:
    """Returns the event that follows in the conversation, and leaves this one as it is."""
    [following] = await handlers[type(event)](deepcopy(event))
    assert isinstance(following, ConversationEvent)
    return following


async def _open(datasets: "Datasets", data: Path, stack: AsyncExitStack) -> None:
    try:
        await stack.enter_async_context(datasets)
    except Locked as error:
        raise Failure(f"{error}: choose another --data") from None
    except StorageUnavailable as error:
        raise Failure(str(error)) from error
    except OSError as error:
        raise unwritable(data, error, "choose another --data", resumes=True) from error
