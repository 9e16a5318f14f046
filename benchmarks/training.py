"""Measures training: packed against padded batches, our loop against a bare one, building samples, a whole job."""

import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
import yaml
from torch.nn.utils.rnn import pad_sequence

from benchmarks.command import Tell
from soliloquy_training.data import Prepared, prepare, samples
from soliloquy_training.folder import Job
from soliloquy_training.loop import Loop
from soliloquy_training.model import build
from soliloquy_training.report import peak_memory_mib
from soliloquy_training.settings import TrainingSettings
from soliloquy_training.source import conversations
from soliloquy_training.step_log import StepLog, steps
from soliloquy_training.templating import Template
from soliloquy_training.train import check, train
from soliloquy_training.world import World

SETTINGS = TrainingSettings(
    sequence_length=3072, batch=2, max_steps=6, validation_share=0.05, validate_every=6, checkpoint_every=6
)
# Steps that are measured, after one that warms up.
STEPS = 8
Learn = Callable[[int, list[list[int]]], object]
# Conversations to build samples of.
_BUILT = 1000


def measure(base: Path, data: str, folder: Path, tell: Tell) -> dict[str, Any]:
    tell("sample builder")
    figures: dict[str, Any] = {"builder": builder(data)}
    tell("preparing")
    prepared = prepare(folder / "prepared", data, SETTINGS, Template(base), lambda _: None)
    lengths = prepared.lengths()
    figures["data"] = {
        "conversations": prepared.summary["conversations"],
        "samples": prepared.summary["samples"],
        "shortest": min(lengths),
        "median": sorted(lengths)[len(lengths) // 2],
        "longest": max(lengths),
    }
    figures |= compared(base, prepared, folder, tell)
    tell("a whole job")
    figures["job"] = job(base, data, folder)
    figures["peak_memory_mib"] = peak_memory_mib()
    return figures


def builder(data: str) -> dict[str, float]:
    """Returns the conversations turned into samples in a second of CPU."""
    made = list(conversations(data))

    def build() -> int:
        return sum(bool(samples(conversation, "states")) for conversation in made)

    # The first call reads the recipe's prompts.
    build()
    began, built = time.process_time(), 0
    while built < _BUILT:
        built += build()
    return {"conversations_per_second": built / (time.process_time() - began)}


def job(base: Path, data: str, folder: Path) -> dict[str, float]:
    """Measures a job in this process, with everything loaded."""
    began = time.monotonic()
    whole = Job(settings=SETTINGS, base=base, data=data, folder=folder / "job")
    train(whole)
    seconds = time.monotonic() - began
    return {"seconds": seconds, "steps_seconds": sum(step["seconds"] for step in steps(whole.folder / "metrics.jsonl"))}


def workers_jobs(base: Path, data: str, folder: Path, workers: int) -> dict[str, Any]:
    """Measures the same job on torchrun and on Ray, including the start and the end of their workers."""
    from soliloquy_training.launch import run_in_workers
    from soliloquy_training.ray import run_on_ray

    config = folder / "config.yaml"
    config.write_text(yaml.safe_dump(SETTINGS.model_dump(exclude_unset=True)), "utf-8")
    by_torchrun = _workers_job(
        base, data, folder / "torchrun", workers, lambda job: run_in_workers(job, config, workers)
    )
    by_ray = _workers_job(base, data, folder / "ray", workers, lambda job: run_on_ray(job, workers))
    return {
        "torchrun": by_torchrun,
        "ray": by_ray | {"overhead_seconds": by_ray["seconds"] - by_torchrun["seconds"]},
    }


def _workers_job(base: Path, data: str, folder: Path, workers: int, run: Callable[[Job], None]) -> dict[str, float]:
    whole = Job(settings=SETTINGS, base=base, data=data, folder=folder)
    # As the command does, without which the launcher's log would be the first file of the folder.
    check(whole, workers)
    began = time.monotonic()
    run(whole)
    seconds = time.monotonic() - began
    in_steps = sum(step["seconds"] for step in steps(folder / "metrics.jsonl"))
    return {"seconds": seconds, "outside_steps_seconds": seconds - in_steps}


def compared(base: Path, prepared: Prepared, folder: Path, tell: Tell) -> dict[str, Any]:
    """Compares the tokens a second of each way over the same steps; ratios are medians over the steps.

    The ways take turns, so that other load on the machine affects all of them.
    """
    log = StepLog(folder / "metrics.jsonl", folder / "tensorboard")
    loop = Loop(build(base, SETTINGS, World()), prepared, SETTINGS, World(), folder / "none", log)
    ways: dict[str, Learn] = {
        "ours": lambda step, sequences: loop.learn(step, sequences, 1e-4),
        "bare": _bare(base, prepared),
        "padded": _padded(base, prepared),
    }
    lengths = prepared.lengths()
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    tokens = 0
    for step in range(1, 2 + STEPS):
        tell(f"step {step} of {1 + STEPS}")
        sequences = loop.schedule.sequences_of(step)
        taken = {name: _seconds(learn, step, sequences) for name, learn in ways.items()}
        if step > 1:
            tokens += sum(lengths[number] for one in sequences for number in one)
            for name, each in taken.items():
                seconds[name].append(each)
    return {
        "tokens_per_second": {name: tokens / sum(each) for name, each in seconds.items()},
        "packed_over_padded": _ratio(seconds["padded"], seconds["ours"]),
        "ours_over_bare": _ratio(seconds["bare"], seconds["ours"]),
    }


def _bare(base: Path, prepared: Prepared) -> Learn:
    """Returns a step over the same packed rows in plain PyTorch."""
    model = build(base, SETTINGS, World()).train()
    optimiser = _optimiser(model)

    def learn(step: int, sequences: Sequence[list[int]]) -> None:
        for one in sequences:
            row = prepared.row(one)
            scores = model(**row.asked()).logits[0]
            (torch.nn.functional.cross_entropy(scores, row.targets) / len(sequences)).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        optimiser.zero_grad()

    return learn


def _padded(base: Path, prepared: Prepared) -> Learn:
    """Returns a step over the same samples, one in a row and padded to the longest of the batch."""
    model = build(base, SETTINGS, World())
    model.set_attn_implementation("sdpa")
    model.train()
    optimiser = _optimiser(model)

    def learn(step: int, sequences: Sequence[list[int]]) -> None:
        rows = [prepared.row([number]) for one in sequences for number in one]
        labels = [torch.full_like(row.ids[0], -100).index_put((row.at + 1,), row.targets) for row in rows]
        lines = pad_sequence([row.ids[0] for row in rows], batch_first=True)
        targets = pad_sequence(labels, batch_first=True, padding_value=-100)
        there = pad_sequence([torch.ones_like(row.ids[0]) for row in rows], batch_first=True)
        model(input_ids=lines, attention_mask=there, labels=targets, use_cache=False).loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        optimiser.zero_grad()

    return learn


def _seconds(learn: Learn, step: int, sequences: list[list[int]]) -> float:
    """Returns the seconds of a step; without a GPU those of the CPU, which other load affects less."""
    on_gpu = torch.cuda.is_available()
    clock = time.monotonic if on_gpu else time.process_time
    began = clock()
    learn(step, sequences)
    if on_gpu:
        torch.cuda.synchronize()
    return clock() - began


def _ratio(one: Sequence[float], other: Sequence[float]) -> float:
    return statistics.median(each / beside for each, beside in zip(one, other, strict=True))


def _optimiser(model: Any) -> torch.optim.Optimizer:
    return torch.optim.AdamW([one for one in model.parameters() if one.requires_grad], lr=1e-4)
