"""Runs weights with vLLM on a GPU, with its paged attention, prefix caching, adapters and grammars."""

import itertools
import time
from collections import Counter
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from pathlib import Path

import vllm
from vllm import SamplingParams, TokensPrompt
from vllm.config import StructuredOutputsConfig
from vllm.engine.arg_utils import AsyncEngineArgs
from vllm.logprobs import Logprob
from vllm.lora.request import LoRARequest
from vllm.outputs import RequestOutput
from vllm.sampling_params import RequestOutputKind, StructuredOutputsParams
from vllm.v1.engine.async_llm import AsyncLLM
from vllm.v1.engine.exceptions import EngineDeadError, EngineGenerateError

from soliloquy.runtime.failure import Failure, one_line
from soliloquy.v1.model_pb2 import Finish
from soliloquy_services.model.engines.engine import (
    EngineBusy,
    EngineFailed,
    TokenDelta,
    TokenRequest,
    TokenScore,
    WrongBase,
)
from soliloquy_services.model.engines.settings import EngineSettings
from soliloquy_services.model.engines.vllm.settings import NAME

# For each adapter in service, the predecessors that may still end answers; beyond that, vLLM would push out others.
_VERSIONS = 4
# vLLM's seeds are signed.
_SEEDS = 2**63
_FINISHES = {None: Finish.FINISH_UNSPECIFIED, "length": Finish.FINISH_LENGTH, "stop": Finish.FINISH_STOP}


class VllmEngine:
    name = NAME
    version = vllm.__version__

    def __init__(self, settings: EngineSettings) -> None:
        self._settings = settings
        self._llm: AsyncLLM | None = None
        self._adapters: dict[str, LoRARequest] = {}
        # Never reused: vLLM caches an adapter by its number.
        self._numbers = itertools.count(1)
        # The requests in progress, and those of them that use each adapter, by its number.
        self._active: set[str] = set()
        self._using: Counter[int] = Counter()
        # The numbers of the adapters that vLLM holds: those in service, and those that still end an answer.
        self._held: set[int] = set()
        self._last_token = time.monotonic()

    async def start(self) -> None:
        # On the event loop, like vLLM's own server: its sockets belong to the loop, and no request is served yet.
        self._llm = AsyncLLM.from_engine_args(engine_args(self._settings))

    async def stop(self) -> None:
        if self._llm:
            self._llm.shutdown()
            self._llm = None

    @property
    def fault(self) -> str:
        if self._llm is None:
            return "the engine is not running"
        if self._llm.errored:
            return f"vLLM has failed: {self._llm.dead_error}"
        still = time.monotonic() - self._last_token
        if self._active and still > self._settings.stall_seconds:
            return f"no token for {still:.0f} s with {len(self._active)} requests in progress"
        return ""

    @property
    def context_tokens(self) -> int:
        return self._llm.model_config.max_model_len if self._llm else 0

    async def generate(self, request: TokenRequest) -> AsyncGenerator[TokenDelta, None]:
        llm = self._running()
        if not self._active:
            self._last_token = time.monotonic()
        adapter = self._adapters[request.adapter] if request.adapter else None
        self._active.add(request.id)
        if adapter:
            self._using[adapter.lora_int_id] += 1
        outputs = llm.generate(
            TokensPrompt(prompt_token_ids=list(request.tokens)), sampling(request), request.id, lora_request=adapter
        )
        try:
            # Closing the outputs aborts the request.
            async with aclosing(outputs):
                async for output in outputs:
                    self._last_token = time.monotonic()
                    yield _delta(request, output)
        except (EngineGenerateError, EngineDeadError) as error:
            raise EngineFailed(f"vLLM gave up a request ({error}): try again") from error
        finally:
            self._active.remove(request.id)
            if adapter:
                self._using[adapter.lora_int_id] -= 1
                await self._drop_unused(adapter)

    async def load_adapter(self, name: str, path: Path) -> None:
        llm = self._running()
        if len(self._held) >= _VERSIONS * self._settings.max_adapters:
            raise EngineBusy("answers that still run with replaced adapters leave no room for another: try again")
        number = next(self._numbers)
        # vLLM takes two of one name for the same, and then for either.
        adapter = LoRARequest(lora_name=f"{name} {number}", lora_int_id=number, lora_path=str(path))
        try:
            await llm.add_lora(adapter)
        except EngineDeadError as error:
            raise EngineFailed(f"vLLM has failed ({error}): try again") from error
        except Exception as error:  # vLLM raises no specific type
            last = str(error).strip().splitlines()[-1]
            raise WrongBase(f"vLLM cannot use the adapter in {path}: {last}") from error
        self._held.add(number)
        replaced, self._adapters[name] = self._adapters.get(name), adapter
        if replaced:
            await self._drop_unused(replaced)

    async def unload_adapter(self, name: str) -> None:
        await self._drop_unused(self._adapters.pop(name))

    async def _drop_unused(self, adapter: LoRARequest) -> None:
        """Frees a replaced or unloaded adapter once no request needs it.

        vLLM would keep it, push out others for it, and look in their folders for those, which may be gone.
        """
        number = adapter.lora_int_id
        if self._using[number] or any(one is adapter for one in self._adapters.values()):
            return
        del self._using[number]
        if self._llm and not self._llm.errored:
            await self._llm.remove_lora(number)
            self._held.discard(number)

    def _running(self) -> AsyncLLM:
        if self._llm is None:
            raise EngineFailed("the engine is not running")
        return self._llm


def engine_args(settings: EngineSettings) -> AsyncEngineArgs:
    adapters = {
        "enable_lora": True,
        "max_loras": settings.max_adapters,
        "max_cpu_loras": _VERSIONS * settings.max_adapters,
        "max_lora_rank": settings.adapter_rank,
    }
    try:
        return AsyncEngineArgs(
            model=str(settings.model),
            max_num_seqs=settings.batch,
            enable_prefix_caching=True,
            # As in the transformers engine: llguidance, and no whitespace between tokens.
            structured_outputs_config=StructuredOutputsConfig(backend="guidance", disable_any_whitespace=True),
            **(adapters if settings.max_adapters else {}),
            **settings.vllm.arguments(),
        )
    except (TypeError, ValueError) as error:
        raise Failure(f"vLLM does not take these settings: {one_line(error)}") from error


def sampling(request: TokenRequest) -> SamplingParams:
    return SamplingParams(
        temperature=request.sampling.temperature,
        top_p=request.sampling.top_p,
        max_tokens=request.sampling.max_tokens,
        logprobs=request.sampling.top_logprobs if request.sampling.logprobs else None,
        prompt_logprobs=request.sampling.top_logprobs if request.sampling.prompt_logprobs else None,
        seed=request.seed % _SEEDS,
        structured_outputs=StructuredOutputsParams(json=request.json_schema) if request.json_schema else None,
        output_kind=RequestOutputKind.DELTA,
        # Decoding happens above the engine.
        detokenize=False,
    )


def _delta(request: TokenRequest, output: RequestOutput) -> TokenDelta:
    (answer,) = output.outputs
    if answer.finish_reason not in _FINISHES:
        raise EngineFailed(f"vLLM ended a request with {answer.finish_reason}: try again")
    # The last token of a whole answer ended it.
    tokens = answer.token_ids[:-1] if answer.finish_reason == "stop" else answer.token_ids
    top = request.sampling.top_logprobs
    return TokenDelta(
        tokens=tokens,
        scores=[_score(token, place, top) for token, place in zip(tokens, answer.logprobs or (), strict=False)],
        prompt_scores=_prompt_scores(request, output),
        finish=_FINISHES[answer.finish_reason],
    )


def _prompt_scores(request: TokenRequest, output: RequestOutput) -> list[TokenScore]:
    """Returns those of the whole prompt at its end, where the request asks for them; the first token has none."""
    pairs = zip(request.tokens, output.prompt_logprobs or (), strict=False)
    return [_score(token, place, request.sampling.top_logprobs) for token, place in pairs if place]


def _score(token: int, place: Mapping[int, Logprob], top: int) -> TokenScore:
    # vLLM adds the chosen token to the most probable ones, whatever its rank.
    best = sorted(place.items(), key=lambda each: each[1].rank or 0)[:top]
    return TokenScore(token=token, logprob=place[token].logprob, top=[(one, each.logprob) for one, each in best])
