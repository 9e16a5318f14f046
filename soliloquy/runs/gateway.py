"""Puts the gateway together: how it plans runs, who may call it, and what it serves."""

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from soliloquy.client import Sandbox
from soliloquy.problems.bank.bank import bank_names
from soliloquy.problems.files.problem_file import problem_faults, read_problems
from soliloquy.problems.files.reading.rows import UnreadableSource
from soliloquy.problems.sources import EnglishBank, ProblemSource
from soliloquy.recipes.packages import UnknownRecipe
from soliloquy.recipes.prompts import BrokenPrompt, spoken_prompts
from soliloquy.runs.assignment import GatewayAssignment
from soliloquy.runs.chat import RemoteSandbox, refusal, routes, teaching, tutoring
from soliloquy.runs.description import differences
from soliloquy.runs.dry_run import PILOT, forecast_from, rehearsed_forecast
from soliloquy.runs.model import ModelSettings
from soliloquy.runs.plan import NoneUsable, Plan, Unplayable, Unranked, problems_of, require_playable
from soliloquy.runtime.extensions import BadPackage
from soliloquy.runtime.failure import Failure, did_you_mean
from soliloquy.runtime.model.settings import Models
from soliloquy.runtime.transports.port import Transport
from soliloquy.v1.gateway_pb2 import RunForecast
from soliloquy.v1.runs_pb2 import Run, RunRequest

if TYPE_CHECKING:
    from soliloquy_services.executor.handler import JobExecutor
    from soliloquy_services.gateway.http.routes import HttpRoute
    from soliloquy_services.gateway.planning import CheckedFile, FormerRun, Offered
    from soliloquy_services.gateway.service import Gateway

# A person waits for a sandbox less long than a run does.
SANDBOX_SECONDS = 10.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Plans:
    """Plans a run as `soliloquy generate` would: the same settings make the same dataset."""

    models: Models
    noise: str
    # The folder of problem files that a run may name; a folder in it that is named like a tenant is the tenant's own.
    files: Path | None
    # Runs the programs of rehearsals; None if the gateway reaches no sandbox.
    sandbox: "JobExecutor | None" = None

    def run(self, request: RunRequest, execution: str, tenant: str) -> Run:
        return self._plan(request, self.problems(request, tenant)).run(execution)

    async def forecast(self, request: RunRequest, tenant: str, former: "FormerRun | None") -> RunForecast:
        source = await asyncio.to_thread(self.problems, request, tenant)
        plan = await asyncio.to_thread(self._plan, request, source)
        if former:
            return await asyncio.to_thread(forecast_from, former, plan, source)
        try:
            return await rehearsed_forecast(plan, source, self.sandbox)
        except Failure as error:
            raise refusal(
                f"nothing tells what this run would take: no run of the same recipe, prompts and models is over, and "
                f"{error}. Start a run of {PILOT} conversations, and ask again when it is over",
                "NOT_NOW",
            ) from error

    def _plan(self, request: RunRequest, source: ProblemSource) -> Plan:
        try:
            require_playable(self.models, source, request.recipe, request.language)
            return Plan.of(
                request.recipe,
                source,
                problems=request.problems,
                models=self.models,
                conversations=request.conversations,
                seed=request.seed,
                noise=self.noise,
                max_turns=request.max_turns,
                max_attempts=request.max_attempts,
                enrich=request.enrich,
                workers=1,
                in_flight=request.in_flight,
                latency=0.0,
                prompts=spoken_prompts(request.recipe, request.language) | dict(request.prompts),
                language=request.language,
            )
        except BrokenPrompt as error:
            raise refusal(f"the prompts cannot be used ({error}): correct the file") from error
        except (Unranked, Unplayable) as error:
            raise refusal(f"the gateway's models cannot be used: {error}") from error

    def problems(self, request: RunRequest, tenant: str) -> ProblemSource:
        kinds = {one.name: one.kind for one in self.offered(tenant)}
        if request.problems not in kinds:
            name = request.problems[:80]
            advice = did_you_mean(name, kinds) or (
                "" if self.files else "; a gateway with --problem-files DIR also takes the files of that folder"
            )
            raise refusal(f"problems cannot be {name!r}: there are {', '.join(kinds)}{advice}")
        is_file = kinds[request.problems] == "file"
        try:
            place = f"{self.files}/{request.problems}" if is_file else request.problems
            return problems_of(place, request.recipe, request.prompts, language=request.language)
        except (UnreadableSource, OSError) as error:
            # Callers need not know where the folder is.
            reason = str(error).replace(f"{self.files}/", "")
            raise refusal(f"problems {request.problems!r} cannot be read ({reason}): correct the file") from error
        except (NoneUsable, EnglishBank, UnknownRecipe, BadPackage) as error:
            raise refusal(f"problems {request.problems!r}: {error}") from error

    def add(self, name: str, text: str, tenant: str, language: str = "") -> "CheckedFile":
        from soliloquy_services.gateway.planning import CheckedFile

        if self.files is None:
            raise refusal("this gateway keeps no problem files: start it with --problem-files DIR", "NOT_NOW")
        folder = self.files / tenant
        try:
            folder.mkdir(parents=True, exist_ok=True)
            # One that is under way is not offered.
            with TemporaryDirectory(prefix=".", dir=folder) as place:
                checked = Path(place, name)
                checked.write_text(text, "utf-8")
                doubts: list[str] = []
                read = problem_faults(checked, doubts.append, language)
                faults = [fault.removeprefix(f"{checked}:") for fault in read]
                found = [doubt.removeprefix(f"{checked}:") for doubt in doubts]
                problems = 0 if faults else len(read_problems(checked, language))
                if not faults:
                    self._keep(checked, folder / name)
        except OSError as error:
            raise refusal(f"{name} cannot be kept ({error.strerror}): see to the folder", "UNAVAILABLE") from error
        kept = "" if faults else str((folder / name).relative_to(self.files))
        return CheckedFile(name=kept, problems=problems, faults=faults, open=found)

    def _keep(self, checked: Path, target: Path) -> None:
        """Runs read their file again whenever a gateway takes them over, so that a name keeps its content."""
        try:
            os.link(checked, target)
        except FileExistsError:
            if target.read_bytes() != checked.read_bytes():
                raise refusal(f"there is another file {target.name}: send yours under another name", "EXISTS") from None

    async def differences(self, transport: Transport) -> str:
        differ = await differences(transport, self.models, self.noise)
        return f"services differ from what the gateway was told: {differ}" if differ else ""

    def offered(self, tenant: str) -> Sequence["Offered"]:
        from soliloquy_services.gateway.planning import Offered

        folders = [self.files, *([self.files / tenant] if tenant else [])] if self.files else []
        files = [
            str(entry.relative_to(self.files or folder))
            for folder in folders
            for entry in (sorted(folder.iterdir()) if folder.is_dir() else ())
            if entry.is_file() and not entry.name.startswith(".")
        ]
        banks = bank_names()
        # A bank hides a file of the same name.
        return [Offered(name=name, kind="bank") for name in banks] + [
            Offered(name=name, kind="file") for name in files if name not in banks
        ]


@asynccontextmanager
async def served(
    assignment: GatewayAssignment,
    model: ModelSettings,
    transport: Transport,
    faults: Sequence[str],
    made: Callable[["Gateway"], None],
) -> AsyncIterator[Sequence[str]]:
    """Serves the gateway, and yields its addresses; raises Failure if it is set up wrongly.

    `faults` holds at any moment what keeps other processes from serving. `made` is called with the gateway before it
    waits for its database and its topics.
    """
    from soliloquy_services.gateway.app import access, answering
    from soliloquy_services.gateway.chat.chats import ChatSettings
    from soliloquy_services.gateway.chat.messages import EndpointRules
    from soliloquy_services.gateway.service import Gateway
    from soliloquy_services.gateway.teaching.routes import TeachingRoutes

    settings = assignment.settings
    sandbox = None
    if assignment.sandbox:
        sandbox = Sandbox(assignment.sandbox, tls=assignment.sandbox_tls, deadline_seconds=SANDBOX_SECONDS)
    plans = Plans(
        models=settings.models,
        noise=model.noise,
        files=assignment.problem_files,
        sandbox=RemoteSandbox(sandbox) if sandbox else None,
    )
    async with AsyncExitStack() as opened:
        callers = access(settings)
        made(gateway := Gateway(transport, plans, settings, faults))
        await opened.enter_async_context(gateway.at_work())
        more: Sequence[HttpRoute] = ()
        if sandbox:
            rules = EndpointRules(listed=settings.chat_endpoints, loopback=settings.tokens is None)
            talking = await opened.enter_async_context(tutoring(model, sandbox, ChatSettings()))
            seats = await opened.enter_async_context(teaching(talking, gateway, transport, ChatSettings()))
            lasting = bool(settings.database)
            more = (*routes(talking, transport, ChatSettings(), rules), *TeachingRoutes(seats, lasting=lasting).all())
        addresses = await opened.enter_async_context(answering(gateway, settings, callers, more))
        yield addresses
