"""The gym as an environment of verifiers, for its evaluations and for trainers that take its environments.

    vf-eval soliloquy-gym --env.taskset.problems physics --select.limit 20

A task is an episode: the harness asks the model what the episode asks, each time with a prompt of its own, so that a
trace has a branch for each answer. Its rewards are the components of the episode's reward, with their weights.
"""

from collections.abc import Iterator
from contextlib import AsyncExitStack
from typing import Any

import aiohttp
import verifiers.v1 as vf
from pydantic import ConfigDict

from soliloquy.gym import Episode, Gym
from soliloquy.gym.policy import completion_of

__all__ = ["Tutoring", "TutoringHarness", "TutoringTasks"]


class TutoringTaskData(vf.TaskData):  # type: ignore[misc]  # the library has no types
    ordinal: int


class TutoringState(vf.State):  # type: ignore[misc]
    model_config = ConfigDict(arbitrary_types_allowed=True)

    episode: Episode | None = None


class TutoringTask(vf.Task[TutoringTaskData, TutoringState]):  # type: ignore[misc]
    # Opened by the environment for all of its tasks.
    gym: Gym | None = None

    async def setup(self, trace: Any, runtime: Any) -> None:
        assert self.gym, "the environment is not serving"
        trace.state.episode = self.gym.episode(self.data.ordinal)

    @vf.reward  # type: ignore[untyped-decorator]
    async def components(self, trace: Any) -> dict[str, float]:
        episode: Episode = trace.state.episode
        if not episode.is_over:
            # The trace says what stopped it.
            return {}
        components = episode.reward.components
        trace.info["evidence"] = {name: list(part.evidence) for name, part in components.items()}
        return {name: part.value * part.weight for name, part in components.items()}


class TutoringConfig(vf.TasksetConfig):  # type: ignore[misc]
    recipe: str = "soliloquy"
    problems: str = "physics"
    seed: int = 0


class TutoringTasks(vf.Taskset[TutoringTask, TutoringConfig]):  # type: ignore[misc]
    INFINITE = True

    def load(self) -> Iterator[TutoringTask]:
        ordinal = 0
        while True:
            name = f"{self.config.recipe}/{self.config.problems}/{ordinal}"
            yield TutoringTask(TutoringTaskData(name=name, prompt=f"Tutor: {name}", ordinal=ordinal), self.config.task)
            ordinal += 1


class TutoringHarnessConfig(vf.HarnessConfig):  # type: ignore[misc]
    pass


class TutoringHarness(vf.Harness[TutoringHarnessConfig]):  # type: ignore[misc]
    """Runs in the process of the environment; the model is the only one that it calls."""

    EXECUTES_CODE = False
    NEEDS_CONTAINER = False

    async def launch(
        self, ctx: Any, trace: Any, runtime: Any, endpoint: str, secret: str, mcp_urls: dict[str, str], data: Any
    ) -> Any:
        episode: Episode = trace.state.episode
        headers = {"Authorization": f"Bearer {secret}"}
        async with aiohttp.ClientSession(headers=headers, timeout=aiohttp.ClientTimeout(None)) as session:
            observation = await episode.reset()
            while observation is not None:
                asked = {"model": ctx.model, "messages": list(observation.messages)}
                async with session.post(f"{endpoint}/chat/completions", json=asked) as response:
                    if response.status != 200:
                        await episode.close()
                        return vf.ProgramResult(exit_code=1, stdout="", stderr=await response.text())
                    [choice] = (await response.json())["choices"]
                text = choice["message"]["content"] or ""
                observation = await episode.step(completion_of(text, is_complete=choice["finish_reason"] != "length"))
        return vf.ProgramResult(exit_code=0, stdout="", stderr="")


class TutoringEnvConfig(vf.EnvConfig):  # type: ignore[misc]
    # The harness starts no program, so that it needs no container.
    agent: vf.AgentConfig = vf.AgentConfig(runtime=vf.SubprocessConfig())


class Tutoring(vf.Env[TutoringEnvConfig]):  # type: ignore[misc]
    async def start(self) -> None:
        config: TutoringConfig = self.taskset.config
        self._opened = AsyncExitStack()
        self._gym = await self._opened.enter_async_context(Gym(config.recipe, config.problems, config.seed))

    async def stop(self) -> None:
        await self._opened.aclose()

    async def run(self, task: TutoringTask, agents: Any) -> None:
        task.gym = self._gym
        await agents.agent.run(task)
