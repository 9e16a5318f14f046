"""Compares our engine with the vLLM that it runs, on the CPU: `python -m benchmarks.vllm_on_cpu`.

It prints our share of bare vLLM's tokens a second by callers. `make servers` makes vLLM's own environment.
"""

import asyncio
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

_VLLM = Path(__file__).parents[1] / ".venv-vllm/bin/python"
# Read at import. With a thread for each core, these would take turns with the process that asks.
_ENVIRONMENT = {
    "VLLM_CPU_KVCACHE_SPACE": "1",
    "VLLM_CPU_OMP_THREADS_BIND": "nobind",
    "VLLM_NO_USAGE_STATS": "1",
    "OMP_NUM_THREADS": "1",
}
_CALLERS = (1, 16, 32)
_MAX_TOKENS = 64
# A round of so small a model takes a fraction of a second.
_ROUNDS = 15


async def measure(base: Path) -> dict[str, Any]:
    from benchmarks.engine_load import Load, through_chat, through_vllm
    from benchmarks.gpu.engines import rates_of
    from soliloquy_services.model.engines.chat import ChatBackend
    from soliloquy_services.model.engines.settings import EngineSettings
    from soliloquy_services.model.engines.tokenizer import ChatTokenizer
    from soliloquy_services.model.engines.vllm.engine import VllmEngine
    from soliloquy_services.model.engines.vllm.settings import VllmSettings

    # On a CPU vLLM ends on a seeded prompt that it computes in parts.
    alone = VllmSettings(
        context=2048, batched_tokens=4096, dtype="float32", engine_args={"enable_chunked_prefill": False}
    )
    settings = EngineSettings(model=base, batch=max(_CALLERS), max_adapters=0, vllm=alone)
    engine = VllmEngine(settings)
    chat = ChatBackend(engine, settings)
    await chat.start()
    try:
        ways = {"ours": through_chat(chat), "bare": through_vllm(engine, ChatTokenizer(base))}
        loads = [Load(callers=callers, max_tokens=_MAX_TOKENS) for callers in _CALLERS]
        rates = {str(load.callers): await rates_of(ways, load, _ROUNDS) for load in loads}
    finally:
        await chat.stop()
    return {"engine": f"vllm {engine.version}", "callers": rates}


def main(*base: str) -> None:
    """Measures a base in vLLM's environment; without one it makes one, and starts itself there."""
    if base:
        print(json.dumps(asyncio.run(measure(Path(*base))), indent=1))
        return
    from benchmarks.random_weights import make_base

    with tempfile.TemporaryDirectory() as folder:
        made = make_base(Path(folder) / "base", ends=False)
        command = [str(_VLLM), "-m", "benchmarks.vllm_on_cpu", str(made)]
        subprocess.run(command, env=os.environ | _ENVIRONMENT, check=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
