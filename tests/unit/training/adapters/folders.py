"""Folders of adapters: small, whole, and with a card."""

import json
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save_file

BASE, DATA = "b" * 64, "d" * 24
TARGETS = ("q_proj", "v_proj")


def adapter(folder: Path, *, seed: int = 0, rank: int = 4, card: str = "", **config: Any) -> Path:
    folder.mkdir(parents=True)
    draw = np.random.default_rng(seed)
    tensors = {}
    for target in TARGETS:
        where = f"base_model.model.model.layers.0.self_attn.{target}"
        tensors[f"{where}.lora_A.weight"] = draw.normal(size=(rank, 8)).astype(np.float32)
        tensors[f"{where}.lora_B.weight"] = draw.normal(size=(8, rank)).astype(np.float32)
    save_file(tensors, folder / "adapter_model.safetensors")
    told = {"r": rank, "target_modules": list(TARGETS), "peft_type": "LORA", **config}
    (folder / "adapter_config.json").write_text(json.dumps(told), "utf-8")
    (folder / "README.md").write_text(card or front_matter(), "utf-8")
    return folder


def front_matter(base: str = BASE, data: str = DATA) -> str:
    return f"---\nbase_model: tiny\nbase_model_digest: {base}\ndata_digest: {data}\n---\n\n# tutor\n"


def training(folder: Path, *, adapter_digest: str = "", seed: int = 0) -> Path:
    """That of a training, with the adapter that it made and its report."""
    adapter(folder / "adapter", seed=seed)
    report = {"validation": {"loss": 0.25, "step": 50}, "steps": 50}
    told = {"adapter_digest": adapter_digest} if adapter_digest else {}
    (folder / "report.json").write_text(json.dumps(report | told), "utf-8")
    return folder
