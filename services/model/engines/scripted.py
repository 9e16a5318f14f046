"""A rule-based stand-in for a language model: no weights, and the same answer to the same request every time."""

import asyncio
import re
from collections.abc import Mapping, Sequence

from soliloquy.problems.solving.independent_programs import SPEAKERS
from soliloquy.recipes.packages import known_recipes
from soliloquy.recipes.recipe import find
from soliloquy.recipes.scripted.parsed_prompt import KnownProblems, ParsedPrompt, Speaker
from soliloquy.runtime.model import ChunkReceiver, ModelRefused, StreamListener
from soliloquy.runtime.model.samples import seeds_of, together
from soliloquy.runtime.seeds import draw
from soliloquy.v1.model_pb2 import Completion, Finish, GenerateRequest, Message
from soliloquy_services.model.engines.noise import Noise


class ScriptedEngine:
    """Answers about the problems of its book, after `latency` seconds, as badly as `noise` says."""

    def __init__(
        self, book: KnownProblems, latency: float = 0, noise: Noise | None = None, *, person: bool = False
    ) -> None:
        """`person` answers as to a person, whose words follow no script."""
        self._book = book
        self._latency = latency
        self._noise = noise
        self._person = person

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
        recipe, _, _ = request.prompt.partition("/")
        speakers = self._speakers(recipe) if recipe in known_recipes() else SPEAKERS
        speak = speakers.get(request.prompt)
        if speak is None:
            known = ", ".join(speakers if recipe in known_recipes() else (f"{name}/.." for name in known_recipes()))
            raise ModelRefused(f"the scripted engine cannot answer the prompt {request.prompt!r}; it knows {known}")
        prompt = "\n\n".join(message.text for message in request.messages)
        if self._noise is None:
            return speak(ParsedPrompt(request.prompt, prompt, self._book, request.problem), draw(seed, request.prompt))
        faults = draw(seed, request.prompt, "noise")
        misread = self._noise.misread(request.prompt, prompt, faults)
        parsed = ParsedPrompt(request.prompt, misread, self._book, request.problem)
        answer = speak(parsed, draw(seed, request.prompt))
        return self._noise.spoil(answer, parsed, faults)

    def _speakers(self, name: str) -> Mapping[str, Speaker]:
        recipe = find(name)
        return {**recipe.speakers, **recipe.person.speakers} if self._person and recipe.person else recipe.speakers


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
