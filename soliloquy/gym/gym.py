"""Opens what episodes need: problems, the environment's models, and sandboxes."""

import asyncio
from collections.abc import Collection, Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Self

from soliloquy.gym.episode import Environment, Episode, Handlers, Judge
from soliloquy.gym.rewards import weights_of
from soliloquy.recipes.packages import DEFAULT
from soliloquy.recipes.prompts import spoken_prompts
from soliloquy.recipes.recipe import find
from soliloquy.runs.assembly import conversation_handlers
from soliloquy.runs.dry_run import own_sandboxes
from soliloquy.runs.model import ModelSettings, chosen_models, scripted_model
from soliloquy.runs.plan import Plan, problems_of, require_playable
from soliloquy.runtime.events import ConversationEvent
from soliloquy.runtime.failure import Failure
from soliloquy.runtime.model import Model
from soliloquy.runtime.model.checking import require_endpoints
from soliloquy.runtime.model.opening import ModelByRole, open_models
from soliloquy.runtime.model.settings import Models
from soliloquy.runtime.model.settings_file import shipped_models
from soliloquy.runtime.retry import Transient
from soliloquy.truth.ledger import make_ledger
from soliloquy.v1.events_pb2 import EnrichmentNeeded, ProgramsNeeded, ProgramsWritten
from soliloquy.v1.sandbox_pb2 import Execution, Job

if TYPE_CHECKING:
    from soliloquy.gym.tool_turns import ToolEpisode
    from soliloquy_services.executor.handler import JobExecutor

TUTOR = ("tutor", "codegen", "composer")
# Preparing a problem is no part of an episode: the environment does it, once for all episodes.
_PREPARING = (ProgramsNeeded, ProgramsWritten, EnrichmentNeeded)

# As `generate` has it by default: the id of a run depends on it, and all draws on that.
_ATTEMPTS = 10


# Jobs at once, of all episodes: sandboxes refuse what would wait in line behind hundreds of others.
_JOBS = 64
# Seconds before a job is tried again after a fault that passes: another sandbox boots in about one.
_PAUSES = (0.2, 1.0, 3.0)


class _Queue:
    def __init__(self, sandbox: "JobExecutor") -> None:
        self._sandbox = sandbox
        self._places = asyncio.Semaphore(_JOBS)

    async def execute(self, job: Job) -> Execution:
        async with self._places:
            for pause in _PAUSES:
                try:
                    return await self._sandbox.execute(job)
                except Transient:
                    await asyncio.sleep(pause)
            return await self._sandbox.execute(job)


class Gym:
    """Any number of episodes at once, in one process; the same ordinal and answers give the same episode."""

    def __init__(
        self,
        recipe: str = DEFAULT,
        problems: str = "physics",
        seed: int = 0,
        *,
        models: Models | Path | None = None,
        noise: str = "none",
        roles: Collection[str] = TUTOR,
        sandbox: "JobExecutor | None" = None,
        weights: Mapping[str, float] | Path | None = None,
        judge: Judge | None = None,
        prompts: Mapping[str, str] = {},
        language: str = "",
        max_turns: int = 20,
        enrich: bool = False,
    ) -> None:
        """`models` are those of the environment, or a file of their settings; the stand-in by default.

        `roles` are the policy's. Without a `sandbox`, the gym has gVisor sandboxes of its own. `weights` of rewards,
        or a file of them, take the place of those in rewards.toml. Raises Failure.
        """
        if find(recipe).person is None:
            raise Failure(f"{recipe} has no tutor who could be trained: choose another recipe")
        chosen = chosen_models(models) if isinstance(models, Path) else models or shipped_models()
        spoken = spoken_prompts(recipe, language) | dict(prompts)
        self._source = problems_of(problems, recipe, spoken, language=language)
        require_playable(chosen, self._source, recipe, language)
        self._plan = Plan.of(
            recipe,
            self._source,
            problems=problems,
            models=chosen,
            prompts=spoken,
            language=language,
            enrich=enrich,
            conversations=1,
            seed=seed,
            noise=noise,
            max_turns=max_turns,
            max_attempts=_ATTEMPTS,
            workers=1,
            in_flight=1,
            latency=0.0,
        )
        self.run = self._plan.run()
        self._roles = roles
        self._sandbox = sandbox
        self._weights, self._judge = weights_of(weights), judge
        self._opened = AsyncExitStack()

    async def __aenter__(self) -> Self:
        plan = self._plan
        await require_endpoints(plan.models, None)
        settings = ModelSettings(problems=[plan.problems], noise=plan.noise, models=plan.models)
        try:
            self._models: ModelByRole = await self._opened.enter_async_context(
                open_models(plan.models, lambda: scripted_model(settings), None)
            )
            own = None if self._sandbox else await self._opened.enter_async_context(own_sandboxes())
        except BaseException:
            await self._opened.aclose()
            raise
        unlimited = self._sandbox or own
        assert unlimited
        sandbox = _Queue(unlimited)
        shared = conversation_handlers(self._models, sandbox)
        preparing: Handlers = {kind: shared[kind] for kind in _PREPARING}

        def handlers(model: Model) -> Handlers:
            return {**conversation_handlers(model, sandbox), **preparing}

        self._environment = Environment(
            model=self._models,
            roles=self._roles,
            judging=find(plan.recipe).judging,
            handlers=handlers,
            weights=self._weights,
            judge=self._judge,
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._environment.close()
        await self._opened.aclose()

    @property
    def fault(self) -> str:
        """Why episodes wait for a model of the environment; empty while none do."""
        return self._models.fault

    def episode(self, ordinal: int, *, attempt: int = 0) -> Episode:
        """Returns the conversation about the problem at this place of the run, in its first or another attempt."""
        from soliloquy_services.curriculum.handler import attempt_at, opening_event

        if ordinal < 0:
            raise Failure(f"there is no episode {ordinal}: episodes count from 0")
        problem = self._source.problem(self.run.seed, ordinal)
        conversation = attempt_at(problem, run=self.run, ordinal=ordinal, attempt=attempt)
        if not conversation.problem.HasField("ledger"):
            conversation.problem.ledger.CopyFrom(make_ledger(conversation.problem))
        return self.begin(opening_event(conversation))

    def tool_episode(self, ordinal: int) -> "ToolEpisode":
        """Returns the same conversation for a policy that calls a tool in place of deciding and programming."""
        from soliloquy.gym.tool_turns import ToolEpisode

        return ToolEpisode(self._environment, self.episode(ordinal))

    def begin(self, opening: ConversationEvent) -> Episode:
        """Returns an episode that begins with an event, at any state of a conversation."""
        return Episode(self._environment, opening)
