"""Measures the training loop: tokens a second, and the share of the chip's arithmetic that they take."""

import math
import statistics
import time
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import torch

from benchmarks import machine
from soliloquy_training.data import Prepared, prepare
from soliloquy_training.loop import Loop
from soliloquy_training.model import build
from soliloquy_training.packing import shared
from soliloquy_training.report import peak_memory_mib
from soliloquy_training.settings import TrainingSettings
from soliloquy_training.step_log import StepLog
from soliloquy_training.templating import Template
from soliloquy_training.world import world

# The makers' figures for dense bf16, in TFLOP/s.
_PEAKS = {"H100": 989.0, "H200": 989.0, "A100": 312.0, "L40S": 362.0}
_WARM, _STEPS = 2, 12
# The side of the matrices whose product shows the chip's own rate.
_SIDE = 8192
_TERA = 1e12
# Sums in another order differ by so much in bf16.
_ROUNDED = 0.02


def measure(
    base: Path, data: str, folder: Path, settings: TrainingSettings, *, steps: int = _STEPS, side: int = _SIDE
) -> dict[str, Any]:
    folder.mkdir(parents=True, exist_ok=True)
    prepared = prepare(folder / "data", data, settings, Template(base), lambda _: None)
    with world() as group:
        product = _product_rate(group.device, side)
        model = build(base, settings, group)
        log = StepLog(folder / "metrics.jsonl", folder / "tensorboard")
        loop = Loop(model, prepared, settings, group, folder / "none", log)
        batches = [loop.schedule.sequences_of(step) for step in range(1, 1 + _WARM + steps)]
        packed, alone = (loop.learn(0, rows, 0.0) for rows in (batches[0][:1], [[one] for one in batches[0][0]]))
        agreement = [one / other for one, other in zip(packed, alone, strict=True)]
        if max(abs(1 - one) for one in agreement) > _ROUNDED:
            raise SystemExit(
                f"samples of one sequence learn otherwise than alone: loss, gradient {packed}, not {alone}"
            )
        first, *seconds = [_seconds(loop, step, batch, group.device) for step, batch in enumerate(batches, 1)]
        log.close()
    measured, seconds = batches[_WARM:], seconds[_WARM - 1 :]
    work = sum(sum(operations(model, prepared, batch)) for batch in measured)
    lengths = prepared.lengths()
    tokens = sum(lengths[number] for batch in measured for one in batch for number in one)
    rate = work / sum(seconds) / _TERA
    device = machine.accelerator()
    peak = next((peak for chip, peak in _PEAKS.items() if chip in device), None)
    return {
        "device": device,
        "torch": torch.__version__,
        "parameters": sum(map(_numbers, model.parameters())),
        "trained": sum(one.numel() for one in model.parameters() if one.requires_grad),
        "median_sample": statistics.median(lengths),
        # Loss and gradient of the samples of a row, which share their beginnings, over those of each alone.
        "packed_over_alone": [round(one, 4) for one in agreement],
        "learned_share": round(sum(prepared.learned()) / sum(lengths), 4),
        "tokens_per_second": round(tokens / sum(seconds)),
        "first_step_seconds": round(first, 1),
        "step_seconds": statistics.median(seconds),
        "tflops": round(rate, 3),
        "product_tflops": round(product, 3),
        "mfu": peak and round(rate / peak, 4),
        "of_product": round(rate / product, 4),
        "memory_mib": peak_memory_mib(),
    }


def operations(model: Any, prepared: Prepared, batch: Sequence[Sequence[int]]) -> tuple[float, float]:
    """Counts the multiplications and additions that a step needs, with weights and in attention.

    Only what must be computed counts, and what samples share once. A weight takes two a token forwards, two for the
    gradient of what it is applied to, and two for its own if it is trained. The head computes the learned tokens alone,
    and a token attends to those before it in its own sample.
    """
    config = model.config
    weights = [one for name, one in model.named_parameters() if ".layers." in name and one.dim() > 1]
    in_layers = sum(_numbers(one) * (6 if one.requires_grad else 4) for one in weights)
    head = model.get_output_embeddings().weight
    in_head = head.numel() * (6 if head.requires_grad else 4)
    learned = prepared.learned()
    counted = sum(learned[number] for one in batch for number in one)
    tokens = attended = 0
    for one in batch:
        ids = [prepared.ids(number) for number in one]
        for before, sample in pairwise([ids[0][:0], *ids]):
            same = shared(before, sample)
            tokens += len(sample) - same
            attended += (len(sample) ** 2 - same**2) // 2
    # Two products forwards and four backwards, over all heads of all layers.
    in_attention = 6 * 2 * attended * config.hidden_size * config.num_hidden_layers
    return float(in_layers * tokens + in_head * counted), float(in_attention)


def _numbers(weight: Any) -> int:
    """Counts the numbers of a weight; those of four bits are kept two in a byte."""
    return math.prod(weight.quant_state.shape) if hasattr(weight, "quant_state") else weight.numel()


def _seconds(loop: Loop, step: int, batch: list[list[int]], device: torch.device) -> float:
    began = time.monotonic()
    loop.learn(step, batch, 1e-4)
    _wait(device)
    return time.monotonic() - began


def _product_rate(device: torch.device, side: int) -> float:
    """Returns the TFLOP/s of a plain product of two matrices in bf16."""
    one, other = (torch.randn(side, side, device=device, dtype=torch.bfloat16) for _ in range(2))
    for _ in range(3):
        torch.mm(one, other)
    _wait(device)
    began = time.monotonic()
    for _ in range(20):
        torch.mm(one, other)
    _wait(device)
    return 20 * 2 * side**3 / (time.monotonic() - began) / _TERA


def _wait(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize()
