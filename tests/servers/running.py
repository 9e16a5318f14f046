"""Runs the servers of others as processes, with random weights."""

import os
import subprocess
import time
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.integration.model.serving import free_port

ROOT = Path(__file__).parents[2]
VLLM, LLAMA_CPP = (ROOT / name / "bin" / "python" for name in (".venv-vllm", ".venv-llama-cpp"))
# On a busy machine vLLM imports for minutes.
START_SECONDS = 480.0
CONTEXT_TOKENS = 4096
MODEL = "tiny"
BLOCK_TOKENS = 128
# Everybody else on the machine goes first.
_NICE = 10
# Two threads that wait for each other are slow beside anything else that runs.
_THREADS = "1"
# A little memory, no cores of its own, and nothing sent anywhere.
QUIET_VLLM = {
    "VLLM_CPU_KVCACHE_SPACE": "1",
    "VLLM_CPU_OMP_THREADS_BIND": "nobind",
    "VLLM_NO_USAGE_STATS": "1",
    "HF_HUB_OFFLINE": "1",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class RealServer:
    url: str
    log: Path

    def said(self) -> str:
        return self.log.read_text("utf-8", "replace")


@contextmanager
def vllm(base: Path, adapter: Path, log: Path) -> Iterator[RealServer]:
    """Serves the model and an adapter; thoughts have a field of their own."""
    # Its command asks for the metadata of a package vllm, which is not the name of the build for CPUs.
    command = [str(VLLM), "-m", "vllm.entrypoints.openai.api_server", "--model", str(base)]
    command += ["--served-model-name", MODEL]
    command += ["--dtype", "float32", "--max-model-len", str(CONTEXT_TOKENS), "--max-num-seqs", "16", "--enforce-eager"]
    # On a CPU vLLM ends on a seeded prompt that it computes in parts.
    command += ["--no-enable-chunked-prefill", "--max-num-batched-tokens", str(CONTEXT_TOKENS)]
    command += ["--enable-lora", "--max-lora-rank", "8", "--lora-modules", f"{adapter.name}={adapter}"]
    command += ["--reasoning-parser", "deepseek_r1"]
    # A prefix is held in whole blocks, and an answer says how many of its prompt's tokens were.
    command += ["--enable-prefix-caching", "--block-size", str(BLOCK_TOKENS), "--enable-prompt-tokens-details"]
    with _served(command, QUIET_VLLM, log) as server:
        yield server


@contextmanager
def llama_cpp(base: Path, log: Path) -> Iterator[RealServer]:
    """Serves the model as a GGUF file."""
    weights = log.with_suffix(".gguf")
    subprocess.run([LLAMA_CPP, Path(__file__).with_name("write_gguf.py"), base, weights], check=True)
    command = [str(LLAMA_CPP), "-m", "llama_cpp.server", "--model", str(weights), "--model_alias", MODEL]
    command += ["--n_ctx", str(CONTEXT_TOKENS), "--n_threads", _THREADS, "--n_threads_batch", _THREADS]
    with _served(command, {}, log) as server:
        yield server


@contextmanager
def _served(command: Sequence[str], environment: Mapping[str, str], log: Path) -> Iterator[RealServer]:
    port = free_port()
    with log.open("wb") as output:
        process = subprocess.Popen(
            ["nice", "-n", str(_NICE), *command, "--host", "127.0.0.1", "--port", str(port)],
            stdout=output,
            stderr=subprocess.STDOUT,
            env={**os.environ, "OMP_NUM_THREADS": _THREADS, **environment},
        )
        server = RealServer(url=f"http://127.0.0.1:{port}/v1", log=log)
        try:
            _wait(server, process)
            yield server
        finally:
            process.terminate()
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _wait(server: RealServer, process: "subprocess.Popen[bytes]") -> None:
    deadline = time.monotonic() + START_SECONDS
    while process.poll() is None and time.monotonic() < deadline:
        try:
            with urllib.request.urlopen(f"{server.url}/models", timeout=5):
                return
        except OSError:
            time.sleep(0.5)
    raise AssertionError(f"the server is not up (status {process.poll()}): {server.said()[-2000:]}")
