"""Answers chat requests with an engine that runs weights: checks and text above the engine, token ids below."""

import asyncio
import itertools
import math
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from pathlib import Path

from soliloquy.runtime.model_answer import repeats_itself
from soliloquy.runtime.weights import base_digest
from soliloquy.v1.model_pb2 import Adapter, Completion, Delta, Finish, GenerateRequest, ModelInfo, Sampling
from soliloquy_services.model.engines.engine import (
    MOST_LOGPROBS,
    Engine,
    EngineBusy,
    EngineFailed,
    InvalidRequest,
    TokenRequest,
    TokenScore,
    TooLong,
    UnknownAdapter,
)
from soliloquy_services.model.engines.grammar import Stops, grammar
from soliloquy_services.model.engines.metrics import EngineMetrics
from soliloquy_services.model.engines.settings import EngineSettings
from soliloquy_services.model.engines.tokenizer import ChatTokenizer
from soliloquy_services.model.engines.weights import check_base, check_fits, check_matrices, read_adapter

_LOOK_CHARACTERS = 200


class ChatBackend:
    def __init__(self, engine: Engine, settings: EngineSettings) -> None:
        self._engine = engine
        self._settings = settings
        self._model = settings.model.resolve()
        self._adapters: dict[str, Adapter] = {}
        self._changing = asyncio.Lock()
        self._numbers = itertools.count()
        self._metrics = EngineMetrics(engine)

    async def start(self) -> None:
        check_base(self._model)
        self._tokenizer = await asyncio.to_thread(ChatTokenizer, self._model)
        self._digest = await asyncio.to_thread(base_digest, self._model)
        await self._engine.start()
        self._metrics.open()

    async def stop(self) -> None:
        self._metrics.close()
        await self._engine.stop()

    @property
    def fault(self) -> str:
        return self._engine.fault

    @property
    def most_at_once(self) -> int:
        return min(self._settings.batch, self._settings.most_waiting)

    async def stream(self, request: GenerateRequest) -> AsyncGenerator[Delta, None]:
        with self._metrics.request(request.adapter) as measured:
            token_request = self._token_request(request)
            measured.prompt(len(token_request.tokens))
            others = self._metrics.waiting - 1
            if others >= self._settings.most_waiting:
                raise EngineBusy(f"{others} requests are already waiting, which is the limit: try again later")
            adapter_digest = self._adapters[request.adapter].digest if request.adapter else ""
            characters, stops, text = self._tokenizer.characters(), Stops(request.sampling.stop), ""
            generated, next_look, finish = 0, _LOOK_CHARACTERS, Finish.FINISH_UNSPECIFIED
            scores: list[TokenScore] = []
            prompt_scores: list[TokenScore] = []
            async with aclosing(self._engine.generate(token_request)) as deltas:
                async for delta in deltas:
                    generated += len(delta.tokens)
                    scores += delta.scores
                    prompt_scores += delta.prompt_scores
                    measured.generated(len(delta.tokens))
                    finish = delta.finish
                    if piece := stops.more(characters.more(delta.tokens)):
                        text += piece
                        yield Delta(text=piece)
                    if stops.met:
                        finish = Finish.FINISH_STOP
                        break
                    # Inside a string the grammar forbids the token by which a model ends its answer.
                    if request.schema and len(text) >= next_look:
                        next_look = len(text) + _LOOK_CHARACTERS
                        if repeats_itself(text):
                            finish = Finish.FINISH_LENGTH
                            break
            if finish == Finish.FINISH_UNSPECIFIED:
                raise EngineFailed(f"the {self._engine.name} engine broke off an answer after {generated} tokens")
            rest = "" if stops.met else stops.more(characters.rest()) + stops.rest()
            measured.ended(finish)
        completion = Completion(
            text=text + rest,
            model=self._model.name,
            engine=self._engine.name,
            adapter_digest=adapter_digest,
            prompt_tokens=len(token_request.tokens),
            completion_tokens=generated,
            finish=finish,
            logprobs=self._tokenizer.logprobs(scores, cut_to=len(text) if stops.met else None),
        )
        if request.sampling.prompt_logprobs:
            first = TokenScore(token=token_request.tokens[0], logprob=0.0, top=())
            completion.prompt_logprobs.extend(self._tokenizer.logprobs([first, *prompt_scores]))
        yield Delta(text=rest, completion=completion)

    def adapters(self) -> Sequence[Adapter]:
        return list(self._adapters.values())

    async def load_adapter(self, adapter: Adapter) -> Adapter:
        async with self._changing:
            if not adapter.name:
                raise InvalidRequest("an adapter requires a name: use the one that requests will name")
            at_most = self._settings.max_adapters
            if adapter.name not in self._adapters and len(self._adapters) >= at_most:
                raise InvalidRequest(f"{at_most} adapters are loaded, which is the limit: unload one")
            loaded = await asyncio.to_thread(read_adapter, adapter)
            check_fits(loaded, self._digest, self._model)
            await asyncio.to_thread(check_matrices, Path(loaded.path), self._model, self._settings.adapter_rank)
            await self._engine.load_adapter(loaded.name, Path(loaded.path))
            self._adapters[loaded.name] = loaded
            self._metrics.adapters(len(self._adapters))
            return loaded

    async def unload_adapter(self, name: str) -> None:
        async with self._changing:
            self._check_loaded(name)
            del self._adapters[name]
            await self._engine.unload_adapter(name)
            self._metrics.forget(name)
            self._metrics.adapters(len(self._adapters))

    def info(self) -> ModelInfo:
        return ModelInfo(
            engine=self._engine.name,
            model=self._model.name,
            digest=self._digest,
            context_tokens=self._engine.context_tokens,
            adapters=self.adapters(),
            engine_version=self._engine.version,
        )

    def _token_request(self, request: GenerateRequest) -> TokenRequest:
        """Validates the request and converts it to tokens."""
        if request.adapter:
            self._check_loaded(request.adapter)
        if request.schema:
            grammar(request.schema)
        tokens = self._prompt(request)
        return TokenRequest(
            id=f"{next(self._numbers)}-{request.id}",
            tokens=tokens,
            adapter=request.adapter,
            sampling=self._sampling(request.sampling, len(tokens)),
            seed=request.seed,
            json_schema=request.schema,
        )

    def _prompt(self, request: GenerateRequest) -> list[int]:
        given = [name for name in ("messages", "raw_text", "raw_tokens") if getattr(request, name)]
        if len(given) > 1:
            raise InvalidRequest(f"the request has {' and '.join(given)}: send one of them")
        if request.raw_text:
            return self._tokenizer.tokens(request.raw_text)
        if request.raw_tokens:
            return self._tokenizer.known(request.raw_tokens)
        return self._tokenizer.prompt(request.messages)

    def _check_loaded(self, adapter: str) -> None:
        if adapter not in self._adapters:
            loaded = ", ".join(sorted(self._adapters)) or "none"
            raise UnknownAdapter(f"no adapter {adapter!r} is loaded: load it first; loaded: {loaded}")

    def _sampling(self, requested: Sampling, prompt_tokens: int) -> Sampling:
        """Fills in defaults: all probabilities, and as many tokens as fit."""
        if not (0 <= requested.temperature < math.inf and 0 <= requested.top_p <= 1 and requested.max_tokens >= 0):
            raise InvalidRequest(
                f"invalid sampling (temperature {requested.temperature:g}, top_p {requested.top_p:g}, max_tokens "
                f"{requested.max_tokens}): use temperature >= 0, top_p from 0 to 1 and max_tokens >= 0"
            )
        if not 0 <= requested.top_logprobs <= MOST_LOGPROBS or (requested.top_logprobs and not requested.logprobs):
            raise InvalidRequest(
                f"top_logprobs is {requested.top_logprobs}: use at most {MOST_LOGPROBS}, and set logprobs with it"
            )
        if requested.prompt_logprobs and not requested.logprobs:
            raise InvalidRequest("prompt_logprobs is set without logprobs: set both")
        limit, context = self._settings.max_tokens, self._engine.context_tokens
        if requested.max_tokens > limit:
            raise InvalidRequest(f"max_tokens is {requested.max_tokens}, above the limit of {limit}")
        room = context - prompt_tokens
        max_tokens = requested.max_tokens or max(1, min(limit, room))
        if max_tokens > room:
            raise TooLong(
                f"the prompt has {prompt_tokens} tokens and its answer may have {max_tokens}, which is more than the "
                f"{context} of {self._model.name}'s context: shorten the prompt or lower max_tokens"
            )
        return Sampling(
            temperature=requested.temperature,
            top_p=requested.top_p or 1.0,
            max_tokens=max_tokens,
            logprobs=requested.logprobs,
            top_logprobs=requested.top_logprobs,
            prompt_logprobs=requested.prompt_logprobs,
        )
