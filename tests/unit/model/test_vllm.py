"""The arguments passed to vLLM are valid, where it is installed; its answers require a GPU."""

import inspect
from pathlib import Path

import pytest

from services.model.engines.engine import EngineSettings, TokenRequest
from soliloquy.v1.model_pb2 import Sampling

pytest.importorskip("vllm", reason="vllm is missing: it comes with the image for GPUs")


def test_it_takes_the_settings_as_they_are_given() -> None:
    from services.model.engines.vllm.engine import engine_args

    args = engine_args(EngineSettings(model=Path("base"), batch=8, max_adapters=3))
    assert (args.model, args.max_num_seqs, args.max_loras) == ("base", 8, 3)
    assert args.enable_prefix_caching is True
    assert args.structured_outputs_config.backend == "guidance"


@pytest.mark.parametrize("schema", ["", '{"type": "object"}'])
def test_it_samples_as_it_is_asked_to(schema: str) -> None:
    from services.model.engines.vllm.engine import sampling

    asked = Sampling(temperature=0.4, top_p=0.9, max_tokens=100)
    made = sampling(TokenRequest(id="1", tokens=[1, 2], adapter="", sampling=asked, seed=2**64 - 1, json_schema=schema))
    assert (made.temperature, made.top_p, made.max_tokens) == (0.4, 0.9, 100)
    assert 0 <= made.seed < 2**63
    assert (made.structured_outputs.json if made.structured_outputs else "") == schema


def test_its_engine_has_what_is_called() -> None:
    from vllm.lora.request import LoRARequest
    from vllm.outputs import CompletionOutput
    from vllm.v1.engine.async_llm import AsyncLLM

    assert {"prompt", "sampling_params", "request_id", "lora_request"} <= set(
        inspect.signature(AsyncLLM.generate).parameters
    )
    assert "lora_request" in inspect.signature(AsyncLLM.add_lora).parameters
    assert {"errored", "dead_error", "shutdown", "from_engine_args"} <= set(dir(AsyncLLM))
    assert "self.model_config" in inspect.getsource(AsyncLLM.__init__)
    assert {"lora_name", "lora_int_id", "lora_path"} <= set(inspect.signature(LoRARequest).parameters)
    assert {"token_ids", "finish_reason"} <= set(inspect.signature(CompletionOutput).parameters)
