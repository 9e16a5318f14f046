"""Builds models that share one base model's weights in memory, each with its own adapter."""

import copy
from pathlib import Path
from typing import Any

import torch
import transformers
from peft import PeftModel
from safetensors import SafetensorError
from transformers import AutoModelForCausalLM

from services.model.engines.engine import MissingWeights, WrongBase

_MAX_ERROR_CHARACTERS = 300


def placement() -> tuple[str, torch.dtype]:
    """Returns device and precision: the GPU if there is one."""
    return ("cuda", torch.bfloat16) if torch.cuda.is_available() else ("cpu", torch.float32)


def load_base(folder: Path) -> Any:
    device, dtype = placement()
    transformers.utils.logging.disable_progress_bar()
    try:
        model = AutoModelForCausalLM.from_pretrained(folder, local_files_only=True, use_safetensors=True, dtype=dtype)
    except (OSError, ValueError, SafetensorError) as error:
        raise MissingWeights(f"cannot load the model in {folder}: {_in_a_line(error)}") from error
    return model.to(device).eval()


def with_adapter(base: Any, folder: Path) -> Any:
    """Returns a separate model of which only the adapter takes memory, so that several adapters run at once."""
    with torch.device("meta"):
        shell = type(base)(copy.deepcopy(base.config))
    shell.load_state_dict(base.state_dict(), assign=True)
    _share_buffers(base, shell)
    shell.generation_config = copy.deepcopy(base.generation_config)
    try:
        adapted = PeftModel.from_pretrained(shell, str(folder), autocast_adapter_dtype=False)
    except (RuntimeError, ValueError) as error:
        raise WrongBase(f"the adapter in {folder} does not fit the model: {_in_a_line(error)}") from error
    except (OSError, SafetensorError, TypeError) as error:
        raise MissingWeights(f"cannot load the adapter in {folder}: {_in_a_line(error)}") from error
    return adapted.get_base_model().to(base.device).eval()


def _share_buffers(base: Any, shell: Any) -> None:
    """Shares the buffers that no state dict holds, such as the angles of the rotary embedding."""
    for name, buffer in base.named_buffers():
        owner, _, own_name = name.rpartition(".")
        shell.get_submodule(owner).register_buffer(own_name, buffer, persistent=False)


def _in_a_line(error: Exception) -> str:
    return " ".join(str(error).split())[:_MAX_ERROR_CHARACTERS]
