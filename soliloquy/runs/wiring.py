"""Puts services together: what a process is to serve, and what its services are made of."""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import TypeAdapter

import services.codegen.app
import services.collector.app
import services.composer.app
import services.curriculum.app
import services.executor.app
import services.planner.app
import services.student.app
import services.tutor.app
from services.codegen.settings import CodegenSettings
from services.collector.live_datasets import LiveDatasets, OtherVersion
from services.collector.settings import CollectorSettings, LiveSettings
from services.composer.settings import ComposerSettings
from services.curriculum.settings import CurriculumSettings
from services.executor.pool import SandboxPool
from services.executor.settings import SandboxSettings
from services.gateway.settings import GatewaySettings
from services.model.engines.call_log import with_call_log
from services.model.engines.noise import real_noise
from services.model.engines.scripted import ScriptedEngine
from services.planner.settings import PlannerSettings
from services.student.settings import StudentSettings
from services.tutor.settings import TutorSettings
from soliloquy.dataset.lock import Locked
from soliloquy.dataset.storage import StorageUnavailable
from soliloquy.problems.bank.bank import load_bank
from soliloquy.problems.book import ProblemBook
from soliloquy.problems.sources import problem_source
from soliloquy.recipes.judges import Judges
from soliloquy.recipes.recipe import load_judges
from soliloquy.runs.failure import Failure
from soliloquy.runtime.handling import Service
from soliloquy.runtime.model import Model, StreamingModel
from soliloquy.runtime.model.opening import OpenModels, opened
from soliloquy.runtime.model.settings import Models, shipped_models
from soliloquy.runtime.traces.settings import TraceSettings
from soliloquy.runtime.transports.kafka import KafkaSettings


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelSettings:
    # Banks and files of the problems that the scripted model knows.
    problems: Sequence[str] = ()
    # Seconds that each answer takes.
    latency: float = 0.0
    # "real" imitates the malformed output of real models.
    noise: str = "none"
    # Which of them answers each role; keys are where the settings say, and do not travel.
    models: Models = field(default_factory=shipped_models)
    # The folder of answers that are not asked for again.
    cache: Path | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class GatewayOrders:
    settings: GatewaySettings
    # The folder of problem files that a run may name.
    problem_files: Path | None = None
    # Where the chat's programs run; none does where it is empty.
    sandbox: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Assignment:
    """What one process serves."""

    services: Sequence[str]
    # A Kafka, or the file of an embedded log.
    transport: KafkaSettings | Path
    model: ModelSettings = field(default_factory=ModelSettings)
    sandbox: SandboxSettings = field(default_factory=SandboxSettings)
    # Where the collector keeps what is finished.
    datasets: LiveSettings = field(default_factory=LiveSettings)
    # What judges word problems of runs that want it.
    classifiers: Path | None = None
    # Events that each service handles at once; None leaves it to the service.
    max_in_flight: int | None = None
    # Where it is the gateway.
    gateway: GatewayOrders | None = None
    traces: TraceSettings = field(default_factory=TraceSettings)
    # Addresses of health and metrics, and of the executor's gRPC.
    http: str | None = None
    grpc: str | None = None
    # For what runs when the process is to end.
    grace: float = 20.0
    # Seconds that a Kafka which cannot be used at the start is waited for; None for as long as it takes.
    patience: float | None = 0.0

    @property
    def names(self) -> Sequence[str]:
        """What it is called in metrics and messages."""
        return ("gateway",) if self.gateway else self.services


# As it travels to a process: passwords in it are on no command line.
ORDERS: TypeAdapter[Assignment] = TypeAdapter(Assignment)


@dataclass(frozen=True, kw_only=True)
class Parts:
    """What services are made of."""

    model: Model
    judges: Judges
    sandboxes: SandboxPool
    datasets: LiveDatasets
    sandbox: SandboxSettings
    # Settings that are not the defaults.
    chosen: Mapping[str, int]


MAKERS: Mapping[str, Callable[[Parts], Service]] = {
    "curriculum": lambda parts: services.curriculum.app.service(CurriculumSettings(**parts.chosen)),
    "planner": lambda parts: services.planner.app.service(PlannerSettings(**parts.chosen), parts.model),
    "student": lambda parts: services.student.app.service(StudentSettings(**parts.chosen), parts.model),
    "tutor": lambda parts: services.tutor.app.service(TutorSettings(**parts.chosen), parts.model),
    "codegen": lambda parts: services.codegen.app.service(CodegenSettings(**parts.chosen), parts.model),
    "executor": lambda parts: services.executor.app.service(parts.sandbox, parts.sandboxes),
    "composer": lambda parts: services.composer.app.service(
        ComposerSettings(**parts.chosen), parts.model, parts.judges
    ),
    "collector": lambda parts: services.collector.app.service(CollectorSettings(**parts.chosen), parts.datasets),
}
# The bank that the scripted model writes problems from where none is named.
WRITING = "arithmetic"
LOOP = ("student", "tutor", "codegen", "executor", "composer")


@dataclass(frozen=True, kw_only=True, slots=True)
class Assembly:
    services: Sequence[Service]
    models: OpenModels
    # Running, where one of the services is the executor.
    sandboxes: SandboxPool | None
    # Open, where one of them is the collector.
    datasets: LiveDatasets | None


@asynccontextmanager
async def assembled(assignment: Assignment) -> AsyncIterator[Assembly]:
    """The services of an assignment, with what they need at hand for as long."""
    wanted = assignment.model
    async with AsyncExitStack() as at_hand:
        models = await at_hand.enter_async_context(opened(wanted.models, lambda: scripted_model(wanted), wanted.cache))
        parts = Parts(
            model=models,
            judges=load_judges(assignment.classifiers),
            sandboxes=SandboxPool(assignment.sandbox),
            datasets=LiveDatasets(assignment.datasets),
            sandbox=assignment.sandbox,
            chosen={} if assignment.max_in_flight is None else {"max_in_flight": assignment.max_in_flight},
        )
        collects = "collector" in assignment.services
        if collects:
            await _open(parts.datasets, assignment.datasets.data, at_hand)
        executes = "executor" in assignment.services
        if executes:
            at_hand.push_async_callback(parts.sandboxes.stop)
            await parts.sandboxes.start()
        yield Assembly(
            services=[MAKERS[name](parts) for name in assignment.services],
            models=models,
            sandboxes=parts.sandboxes if executes else None,
            datasets=parts.datasets if collects else None,
        )


async def _open(datasets: LiveDatasets, data: Path, at_hand: AsyncExitStack) -> None:
    try:
        await at_hand.enter_async_context(datasets)
    except (Locked, OtherVersion) as error:
        raise Failure(f"{error}: choose another --data") from None
    except StorageUnavailable as error:
        raise Failure(str(error)) from error
    except OSError as error:
        raise Failure(f"{data} cannot be written ({error.strerror}): choose another --data") from error


def declared() -> list[Service]:
    """Every service as it is, with nothing at hand that it could work with."""
    parts = Parts(
        model=scripted_model(ModelSettings()),
        judges=Judges(),
        sandboxes=SandboxPool(SandboxSettings()),
        datasets=LiveDatasets(LiveSettings()),
        sandbox=SandboxSettings(),
        chosen={},
    )
    return [make(parts) for make in MAKERS.values()]


def scripted_model(settings: ModelSettings) -> StreamingModel:
    books = [problem_source(problems).book for problems in settings.problems]
    book = ProblemBook(
        lambda question: next(filter(None, (book.recognise(question) for book in books)), None),
        # To write problems it needs a bank, even where a file has the examples.
        next((book.draw for book in books if book.draw), None) or load_bank(WRITING).draw,
    )
    return with_call_log(
        ScriptedEngine(book, latency=settings.latency, noise=real_noise() if settings.noise == "real" else None)
    )
