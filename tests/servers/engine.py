"""Serves weights with one engine over gRPC, without Ray, in the environment that has the engine's libraries."""

import asyncio
import sys
from importlib import import_module
from pathlib import Path

from soliloquy_services.model.engines.chat import ChatBackend
from soliloquy_services.model.engines.settings import EngineSettings
from soliloquy_services.model.engines.vllm.settings import VllmSettings
from soliloquy_services.model.in_process import serve_grpc

MAX_ADAPTERS = 2
# On a CPU vLLM ends on a seeded prompt that it computes in parts.
VLLM_SETTINGS = VllmSettings(
    context=2048, batched_tokens=2048, dtype="float32", engine_args={"enable_chunked_prefill": False}
)
ENGINES = {"transformers": "TransformersEngine", "vllm": "VllmEngine"}


async def main(name: str, base: Path) -> None:
    """Prints the port, and the engine's fault as soon as it has one."""
    engine = getattr(import_module(f"soliloquy_services.model.engines.{name}.engine"), ENGINES[name])
    settings = EngineSettings(
        model=base, max_adapters=MAX_ADAPTERS, batch=16, cache_tokens=8192, stall_seconds=30.0, vllm=VLLM_SETTINGS
    )
    chat = ChatBackend(engine(settings), settings)
    await chat.start()
    try:
        async with serve_grpc(chat) as port:
            print(f"port {port}", flush=True)
            while True:
                await asyncio.sleep(0.05)
                if chat.fault:
                    print(f"fault {chat.fault}", flush=True)
                    await asyncio.Event().wait()
    finally:
        await chat.stop()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], Path(sys.argv[2])))
