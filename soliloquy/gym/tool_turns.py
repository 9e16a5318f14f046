"""Episodes in which a turn is one chat: the policy calls the tool `python`, or replies.

A call is the tutor's decision and its program at once; the reply that follows sees the output. The recipe takes both as
it takes the answers to its own prompts, with its rules and its reasons.
"""

import json
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import NoReturn

from soliloquy.dataset.exports.formats.openai import TOOLS
from soliloquy.gym.episode import Environment, Episode, Observation
from soliloquy.gym.rewards import Reward
from soliloquy.runtime.failure import Failure
from soliloquy.v1.conversation_pb2 import Conversation
from soliloquy.v1.events_pb2 import ReplyNeeded
from soliloquy.v1.model_pb2 import GenerateRequest

_DESCRIPTION = "Work out what the tutor's program works out."
_NO_CALL = json.dumps({"Use Python": "n"})


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolCall:
    """A call of the tool `python`, whose schema is that of the export to OpenAI's format."""

    code: str
    result_variables: Sequence[str]
    description: str = ""


class _FirstRequest(Exception):
    def __init__(self, request: GenerateRequest) -> None:
        super().__init__(request.prompt)
        self.request = request


class _Preview:
    """Shows the first prompt that a role would be asked with."""

    async def generate(self, request: GenerateRequest) -> NoReturn:
        raise _FirstRequest(request)


class ToolEpisode:
    """Wraps an episode whose policy has all of the tutor's roles."""

    def __init__(self, environment: Environment, episode: Episode) -> None:
        self._environment = environment
        self._episode = episode
        self._asked: Observation | None = None

    async def reset(self) -> Observation | None:
        return await self._shown(await self._episode.reset())

    async def step(self, answer: str | ToolCall) -> Observation | None:
        """Runs a program and returns the prompt with its output, or gives the reply."""
        asked = self._asked
        if asked is None:
            raise Failure("the episode waits for no answer: call reset() first")
        if isinstance(answer, ToolCall):
            return await self._shown(await self._called(asked, answer))
        if asked.role == "tutor":
            asked = await self._episode.step(_NO_CALL)
            if asked is None or asked.role != "composer":
                # A rule wants a calculation, and has it said why.
                return await self._shown(asked)
        if asked.role == "codegen":
            raise Failure("the last program failed: call python again, with another one")
        return await self._shown(await self._episode.step(answer))

    async def close(self) -> None:
        await self._episode.close()

    @property
    def reward(self) -> Reward:
        return self._episode.reward

    @property
    def conversation(self) -> Conversation:
        return self._episode.conversation

    async def _called(self, asked: Observation, call: ToolCall) -> Observation | None:
        observation: Observation | None = asked
        if asked.role == "tutor":
            decision = {"Use Python": "y", "Description": call.description or _DESCRIPTION}
            observation = await self._episode.step(json.dumps(decision))
        if observation is None or observation.role != "codegen":
            raise Failure("this prompt takes no calls: reply to it")
        program = {"Python Code": f"```python\n{call.code}\n```", "Result Variable": ", ".join(call.result_variables)}
        return await self._episode.step(json.dumps({"Python": program}))

    async def _shown(self, observation: Observation | None) -> Observation | None:
        """Shows the prompt of a reply in place of that of a decision, which comes with the tool."""
        self._asked = observation
        if observation is None or observation.role == "composer":
            return observation
        if observation.role == "codegen":
            return replace(observation, tools=TOOLS)
        reply = await self._preview()
        # Behind the first two, an answer that was sent back and why.
        return replace(reply, tools=TOOLS, messages=[*reply.messages, *observation.messages[2:]])

    async def _preview(self) -> Observation:
        event = ReplyNeeded(conversation=deepcopy(self._episode.conversation))
        try:
            await self._environment.handlers(_Preview())[ReplyNeeded](event)
        except _FirstRequest as first:
            return Observation.of(first.request)
        raise Failure("the recipe replies without asking a model")
