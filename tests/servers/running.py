"""Runs the servers of others with random weights."""

import subprocess
from contextlib import AbstractContextManager
from pathlib import Path

from benchmarks.real_servers import LLAMA_CPP, QUIET_VLLM, VLLM, Served, served
from tests.integration.model.serving import free_port

CONTEXT_TOKENS = 4096
MODEL = "tiny"
BLOCK_TOKENS = 128


def vllm(base: Path, adapter: Path, log: Path) -> AbstractContextManager[Served]:
    """Serves the model and an adapter; thoughts have a field of their own."""
    # Its command asks for the metadata of a package vllm, which is not the name of the build for CPUs.
    port = free_port()
    command = [VLLM, "-m", "vllm.entrypoints.openai.api_server", "--model", base, "--served-model-name", MODEL]
    command += ["--dtype", "float32", "--max-model-len", CONTEXT_TOKENS, "--max-num-seqs", 16, "--enforce-eager"]
    # On a CPU vLLM ends on a seeded prompt that it computes in parts.
    command += ["--no-enable-chunked-prefill", "--max-num-batched-tokens", CONTEXT_TOKENS]
    command += ["--enable-lora", "--max-lora-rank", 8, "--lora-modules", f"{adapter.name}={adapter}"]
    command += ["--reasoning-parser", "deepseek_r1"]
    # A prefix is held in whole blocks, and an answer says how many of its prompt's tokens were.
    command += ["--enable-prefix-caching", "--block-size", BLOCK_TOKENS, "--enable-prompt-tokens-details"]
    command += ["--host", "127.0.0.1", "--port", port]
    return served(command, MODEL, port, log, QUIET_VLLM)


def llama_cpp(base: Path, log: Path) -> AbstractContextManager[Served]:
    """Serves the model as a GGUF file."""
    weights = log.with_suffix(".gguf")
    subprocess.run([LLAMA_CPP, Path(__file__).with_name("write_gguf.py"), base, weights], check=True)
    port = free_port()
    command = [LLAMA_CPP, "-m", "llama_cpp.server", "--model", weights, "--model_alias", MODEL]
    command += ["--n_ctx", CONTEXT_TOKENS, "--n_threads", 1, "--n_threads_batch", 1]
    command += ["--host", "127.0.0.1", "--port", port]
    return served(command, MODEL, port, log)
