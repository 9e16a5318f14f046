"""A rule-based stand-in for a language model: no weights, and the same answer to the same request every time."""

import asyncio
import re
from collections.abc import Callable, Sequence

from soliloquy.recipes.packages import known_recipes
from soliloquy.recipes.scene import Scene
from soliloquy.runtime.model import ChunkReceiver, ModelRefused, StreamListener
from soliloquy.runtime.model.samples import seeds_of, together
from soliloquy.runtime.seeds import draw
from soliloquy.standin.speakers import speakers_of
from soliloquy.v1.conversation_pb2 import Problem
from soliloquy.v1.model_pb2 import Completion, Finish, GenerateRequest, Message
from soliloquy_services.model.engines.noise import Noise


class ForeignLanguage(ModelRefused):
    """The stand-in is asked in another language than English: it would mix the two."""


class ScriptedEngine:
    """Answers from the record of a request, after `latency` seconds, as badly as `noise` says."""

    def __init__(
        self, problems: Callable[[int], Problem] | None = None, latency: float = 0, noise: Noise | None = None
    ) -> None:
        """`problems` returns the problem of a number, for prompts that ask for a new one."""
        self._problems = problems
        self._latency = latency
        self._noise = noise

    async def generate(self, request: GenerateRequest, stream_listener: StreamListener | None = None) -> Completion:
        text, *more = (self._answer(request, seed) for seed in seeds_of(request))
        if receive := stream_listener and stream_listener(request):
            await self._speak(text, receive)
        elif self._latency:
            await asyncio.sleep(self._latency)
        samples = [word_completion(request.messages, sample) for sample in (text, *more)]
        return together(samples)

    async def _speak(self, text: str, receive: ChunkReceiver) -> None:
        """Streams the words one by one, over the time that the whole answer takes."""
        words = re.findall(r"\S*\s*", text)
        for word in words:
            if self._latency:
                await asyncio.sleep(self._latency / len(words))
            receive(word)

    def _answer(self, request: GenerateRequest, seed: int) -> str:
        # A prompt's name starts with its recipe's name; only that recipe is loaded.
        speakers = speakers_of(request.prompt.partition("/")[0])
        if (speak := speakers.get(request.prompt)) is None:
            known = ", ".join([*speakers, *(f"{name}/.." for name in known_recipes())])
            raise ModelRefused(f"the scripted engine cannot answer the prompt {request.prompt!r}; it knows {known}")
        if not request.HasField("record"):
            raise ModelRefused(f"the request for {request.prompt} has no record: the stand-in reads no prompts")
        if language := request.record.problem.language:
            raise ForeignLanguage(f"the scripted model speaks English alone, not {language}: ask another model")
        scene = Scene(prompt=request.prompt, record=request.record, problems=self._problems)
        if self._noise is None:
            return speak(scene, draw(seed, request.prompt))
        faults = draw(seed, request.prompt, "noise")
        misread = self._noise.misread(scene, faults)
        return self._noise.spoil(speak(misread, draw(seed, request.prompt)), misread, faults)


def word_completion(messages: Sequence[Message], text: str) -> Completion:
    """Counts each word as a token."""
    return Completion(
        text=text,
        model="scripted",
        engine="scripted",
        finish=Finish.FINISH_STOP,
        prompt_tokens=sum(_words(message.text) for message in messages),
        completion_tokens=_words(text),
    )


def _words(text: str) -> int:
    return text.count(" ") + 1
