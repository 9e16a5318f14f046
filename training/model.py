"""Builds the model to train: a base with LoRA matrices or all of its weights, sharded over the workers."""

import importlib.util
import os
import shutil
import warnings
from pathlib import Path
from typing import Any

import torch
import transformers
from peft import LoraConfig, PeftModel, get_peft_model, prepare_model_for_kbit_training
from peft.tuners.lora import LoraLayer
from safetensors import SafetensorError
from torch.distributed.fsdp import fully_shard
from transformers import AutoModelForCausalLM, AutoModelForSeq2SeqLM, BitsAndBytesConfig

from soliloquy.runtime.failure import Failure, one_line
from soliloquy.runtime.weights import FOLDER_ONLY, is_encoder_decoder
from soliloquy_training import attention, encoder_decoder
from soliloquy_training.settings import TrainingSettings
from soliloquy_training.world import World

# peft reads what transformers has renamed.
warnings.filterwarnings("ignore", "`is_gradient_checkpointing` is deprecated", FutureWarning)


def precision(settings: TrainingSettings, device: torch.device) -> torch.dtype:
    """Returns the precision to compute in; trained weights stay in fp32."""
    if settings.precision == "auto":
        able = device.type == "cuda" and torch.cuda.is_bf16_supported()
        return torch.bfloat16 if able else torch.float32
    return torch.bfloat16 if settings.precision == "bf16" else torch.float32


def is_compiled(settings: TrainingSettings, device: torch.device) -> bool:
    """Returns whether layers are compiled, for which all rows have one length."""
    if settings.method != "sft":
        return False
    return device.type == "cuda" if settings.compile == "auto" else settings.compile == "layers"


def check_hardware(settings: TrainingSettings) -> None:
    """Raises Failure if this machine lacks what the settings ask for."""
    compiler = os.environ.get("CC") or shutil.which("gcc") or shutil.which("clang")
    if is_compiled(settings, torch.device("cuda" if torch.cuda.is_available() else "cpu")) and not compiler:
        raise Failure("compile: layers requires a C compiler: install gcc, or use compile: none")
    if settings.quantize == "none":
        return
    lacking = [] if torch.cuda.is_available() else ["a CUDA GPU"]
    lacking += [] if importlib.util.find_spec("bitsandbytes") else ["bitsandbytes"]
    if lacking:
        raise Failure(f"quantize: {settings.quantize} requires {' and '.join(lacking)}: use quantize: none here")


def check_base(base: Path, settings: TrainingSettings) -> None:
    """Raises Failure for a model that cannot be tuned, or not with these settings."""
    if is_encoder_decoder(base):
        encoder_decoder.check_settings(base, settings)
    elif settings.method == "sft":
        attention.check_architecture(base)


def build(base: Path, settings: TrainingSettings, world: World, adapter: Path | None = None) -> Any:
    """Continues from `adapter` if one is given, otherwise from fresh matrices."""
    check_hardware(settings)
    check_base(base, settings)
    model = _load(base, settings, world)
    # Every worker and every restart draws the same fresh matrices.
    torch.manual_seed(settings.seed)
    if settings.tune == "lora":
        model = _with_lora(model, base, settings, adapter)
        if settings.method == "sft" and precision(settings, world.device) != torch.float32:
            _leave_casting_to_autocast(model)
    if settings.gradient_checkpointing:
        model.activation_checkpointing_enable({"use_reentrant": False})
    if is_compiled(settings, world.device):
        for layer in layers(model):
            # One length of rows for all: shapes that vary cost more time than they save.
            layer.compile(dynamic=False)
    # Trainers of TRL share the work by themselves.
    if world.size > 1 and settings.method == "sft":
        for layer in layers(model):
            fully_shard(layer)
        fully_shard(model)
    return model


def _leave_casting_to_autocast(model: Any) -> None:
    """Keeps LoRA layers from casting what they read to fp32, which autocast would cast back for every product."""
    for module in model.modules():
        if isinstance(module, LoraLayer):
            module.cast_input_dtype_enabled = False


def layers(model: Any) -> list[torch.nn.Module]:
    """Returns the repeated blocks, which FSDP gathers one at a time."""
    names = set(getattr(model, "_no_split_modules", None) or ())
    return [module for module in model.modules() if type(module).__name__ in names]


def _load(base: Path, settings: TrainingSettings, world: World) -> Any:
    transformers.utils.logging.disable_progress_bar()
    dtype = precision(settings, world.device) if settings.tune == "lora" else torch.float32
    pairs = is_encoder_decoder(base)
    quantized = BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_compute_dtype=dtype, bnb_4bit_quant_type="nf4")
    try:
        model = (AutoModelForSeq2SeqLM if pairs else AutoModelForCausalLM).from_pretrained(
            base,
            **FOLDER_ONLY,
            use_safetensors=True,
            dtype=dtype,
            **({"attn_implementation": attention.NAME} if settings.method == "sft" and not pairs else {}),
            **({} if settings.quantize == "none" else {"quantization_config": quantized}),
        )
    except (OSError, ValueError, SafetensorError) as error:
        raise Failure(f"cannot load the model in {base}: {one_line(error)}") from error
    if settings.quantize != "none":
        return prepare_model_for_kbit_training(model, use_gradient_checkpointing=False)
    return model.to(world.device)


def _with_lora(model: Any, base: Path, settings: TrainingSettings, adapter: Path | None) -> Any:
    lora = settings.lora
    try:
        if adapter:
            return PeftModel.from_pretrained(model, str(adapter), is_trainable=True)
        chosen = LoraConfig(
            r=lora.rank,
            lora_alpha=lora.alpha,
            lora_dropout=lora.dropout,
            target_modules=list(lora.targets),
            task_type="CAUSAL_LM",
        )
        return get_peft_model(model, chosen)
    except (RuntimeError, ValueError, OSError, SafetensorError, TypeError) as error:
        what = f"the adapter in {adapter}" if adapter else f"lora.targets {', '.join(lora.targets)}"
        raise Failure(f"{what} does not fit the model in {base}: {one_line(error)}") from error
