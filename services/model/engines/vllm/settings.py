"""Settings of vLLM by name; they are read without vLLM, where a service is started or a chart is checked."""

from collections.abc import Mapping
from typing import Any, Literal, Self

from pydantic import BaseModel, Field, model_validator

NAME = "vllm"
# Arguments of vLLM that our own settings decide, and by which name.
_OURS = {
    "model": "model",
    "max_num_seqs": "batch",
    "max_loras": "max_adapters",
    "max_cpu_loras": "max_adapters",
    "max_lora_rank": "adapter_rank",
    "enable_lora": "max_adapters",
    "tensor_parallel_size": "vllm.tensor_parallel",
    "pipeline_parallel_size": "vllm.pipeline_parallel",
    "max_model_len": "vllm.context",
    "max_num_batched_tokens": "vllm.batched_tokens",
    "gpu_memory_utilization": "vllm.memory_share",
    "dtype": "vllm.dtype",
    "quantization": "vllm.quantization",
    "kv_cache_dtype": "vllm.kv_cache",
    "speculative_config": "vllm.speculative",
    "structured_outputs_config": "the request's schema",
    "enable_prefix_caching": "the engine, which always does",
}


class VllmSettings(BaseModel, frozen=True, extra="forbid"):
    # GPUs that share each layer's matrices, and how many such groups share the layers.
    tensor_parallel: int = Field(default=1, ge=1)
    pipeline_parallel: int = Field(default=1, ge=1)
    # Tokens of a prompt and its answer together; the model's own limit if left out.
    context: int | None = Field(default=None, ge=1)
    # Tokens of all requests that one step computes; vLLM's own choice if left out.
    batched_tokens: int | None = Field(default=None, ge=1)
    # The share of each GPU's memory for weights and cache.
    memory_share: float = Field(default=0.9, gt=0, le=1)
    dtype: Literal["auto", "bfloat16", "float16", "float32"] = "auto"
    # How the weights are quantized, by vLLM's name; read from the weights if left out.
    quantization: str | None = None
    kv_cache: Literal["auto", "bfloat16", "fp8", "fp8_e4m3", "fp8_e5m2"] = "auto"
    # Speculative decoding, as vLLM's `speculative_config`.
    speculative: Mapping[str, Any] | None = None
    # Any other argument of vLLM's engine.
    engine_args: Mapping[str, Any] = {}

    @model_validator(mode="after")
    def _own_way_first(self) -> Self:
        for name in self.engine_args:
            if name in _OURS:
                raise ValueError(f"engine_args.{name} is decided by {_OURS[name]}")
        return self

    @property
    def gpus(self) -> int:
        """The GPUs that one replica uses."""
        return self.tensor_parallel * self.pipeline_parallel

    def arguments(self) -> dict[str, Any]:
        """Returns what vLLM's engine is given."""
        named = {
            "max_model_len": self.context,
            "max_num_batched_tokens": self.batched_tokens,
            "quantization": self.quantization,
            "speculative_config": self.speculative and dict(self.speculative),
            # Processes of this machine's, and not Ray's placement, though a replica is an actor of Ray's.
            "distributed_executor_backend": "mp" if self.gpus > 1 else None,
        }
        return {
            "tensor_parallel_size": self.tensor_parallel,
            "pipeline_parallel_size": self.pipeline_parallel,
            "gpu_memory_utilization": self.memory_share,
            "dtype": self.dtype,
            "kv_cache_dtype": self.kv_cache,
            **{name: chosen for name, chosen in named.items() if chosen is not None},
            **self.engine_args,
        }
