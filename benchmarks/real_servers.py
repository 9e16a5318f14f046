"""Runs servers that users have as processes, and the pretrained models by them."""

import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.pretrained import GEMMA, SMOLLM2, file_of_gemma, folder_of_smollm2

_ROOT = Path(__file__).parents[1]
VLLM, LLAMA_CPP = (_ROOT / name / "bin/python" for name in (".venv-vllm", ".venv-llama-cpp"))
_SOLILOQUY = Path(sys.executable).with_name("soliloquy")
# On a busy machine vLLM imports for minutes.
START_SECONDS = 480.0
_STOP_SECONDS = 60.0
_CONTEXT = 8192
# The base model has no template of its own, and the server's for its kin leaves system messages out.
_GEMMA_FORMAT = "chatml"
# A little memory, no cores of its own, and nothing sent anywhere.
QUIET_VLLM = {
    "VLLM_CPU_KVCACHE_SPACE": "1",
    "VLLM_CPU_OMP_THREADS_BIND": "nobind",
    "VLLM_NO_USAGE_STATS": "1",
    "HF_HUB_OFFLINE": "1",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Served:
    model: str
    # OpenAI's API, including /v1.
    url: str


@contextmanager
def served(
    command: Sequence[object], model: str, port: int, log: Path, environment: Mapping[str, str] = {}
) -> Iterator[Served]:
    """Runs a server while everybody else on the machine goes first."""
    # Two threads that wait for each other are slow beside anything else that runs.
    quiet = {**os.environ, "OMP_NUM_THREADS": "1", **environment}
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("wb") as output:
        process = subprocess.Popen(["nice", "-n", "10", *map(str, command)], stdout=output, stderr=output, env=quiet)
        try:
            url = f"http://127.0.0.1:{port}/v1"
            _wait(url, process, log)
            yield Served(model=model, url=url)
        finally:
            process.terminate()
            try:
                process.wait(_STOP_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _wait(url: str, process: "subprocess.Popen[bytes]", log: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while process.poll() is None and time.monotonic() < deadline:
        try:
            with urllib.request.urlopen(f"{url}/models", timeout=5):
                return
        except OSError:
            time.sleep(0.5)
    said = log.read_text("utf-8", "replace")[-2000:]
    raise SystemExit(f"the server does not start (status {process.poll()}), says {log}: {said}")


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
        return port


def _llama_cpp(weights: Path, model: str, log: Path, *options: str) -> AbstractContextManager[Served]:
    port = free_port()
    command = [LLAMA_CPP, "-m", "llama_cpp.server", "--model", weights, "--model_alias", model, "--verbose", "false"]
    command += ["--n_ctx", _CONTEXT, "--n_threads", 1, "--n_threads_batch", 1, "--flash_attn", "true"]
    # It answers one call after the other.
    command += ["--interrupt_requests", "false"]
    command += ["--host", "127.0.0.1", "--port", port, *options]
    return served(command, model, port, log)


def smollm2_by_llama_cpp(folder: Path) -> AbstractContextManager[Served]:
    weights = folder / f"{SMOLLM2}.gguf"
    subprocess.run([LLAMA_CPP, "-m", "benchmarks.pretrained", weights], cwd=_ROOT, check=True)
    # It keeps what prompts have in common, and with each of them the scores of 512 tokens, which this size leaves out.
    return _llama_cpp(weights, SMOLLM2, folder / "llama-cpp.log", "--cache", "true", "--cache_size", "300000000")


def gemma_by_llama_cpp(folder: Path) -> AbstractContextManager[Served]:
    weights = file_of_gemma(folder / f"{GEMMA}.gguf")
    return _llama_cpp(weights, GEMMA, folder / "gemma.log", "--chat_format", _GEMMA_FORMAT)


def smollm2_by_the_model_service(folder: Path) -> AbstractContextManager[Served]:
    return by_the_model_service(folder_of_smollm2(folder / SMOLLM2), folder / "model-service.log")


def by_the_model_service(weights: Path, log: Path, *options: str) -> AbstractContextManager[Served]:
    port, grpc = free_port(), free_port()
    command = [_SOLILOQUY, "model", "serve", "--engine", "transformers", "--model", weights, *options]
    command += ["--http", f"127.0.0.1:{port}", "--grpc", f"127.0.0.1:{grpc}"]
    return served(command, weights.name, port, log)


def smollm2_by_vllm(folder: Path) -> AbstractContextManager[Served]:
    weights = folder_of_smollm2(folder / SMOLLM2)
    port = free_port()
    command = [VLLM, "-m", "vllm.entrypoints.openai.api_server", "--model", weights, "--served-model-name", SMOLLM2]
    command += ["--dtype", "bfloat16", "--max-model-len", _CONTEXT, "--max-num-seqs", 8, "--enforce-eager"]
    # On a CPU vLLM ends on a seeded prompt that it computes in parts.
    command += ["--no-enable-chunked-prefill", "--max-num-batched-tokens", _CONTEXT, "--enable-prefix-caching"]
    command += ["--host", "127.0.0.1", "--port", port]
    return served(command, SMOLLM2, port, folder / "vllm.log", QUIET_VLLM | {"VLLM_CPU_KVCACHE_SPACE": "2"})


SERVERS: Mapping[str, Callable[[Path], AbstractContextManager[Served]]] = {
    "llama-cpp": smollm2_by_llama_cpp,
    "gemma": gemma_by_llama_cpp,
    "model-service": smollm2_by_the_model_service,
    "vllm": smollm2_by_vllm,
}
