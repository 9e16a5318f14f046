"""Writes the results of a training: the adapter with its card, the report and a plot of the loss."""

import json
import resource
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from peft import get_peft_model_state_dict
from safetensors.torch import save_file

from soliloquy.dataset.tables import plain
from soliloquy.runtime.weights import ADAPTER_WEIGHTS, CARD, digest_of
from soliloquy_training.checkpoints import Progress
from soliloquy_training.folder import Job
from soliloquy_training.state import complete

ADAPTER, MODEL = "adapter", "model"
_CARD = Path(__file__).with_name("card.txt").read_text("utf-8")


def report(
    job: Job,
    identity: Mapping[str, Any],
    *,
    data: Mapping[str, Any],
    steps: Sequence[Mapping[str, Any]],
    progress: Progress,
    workers: int,
) -> dict[str, Any]:
    seconds = sum(step["seconds"] for step in steps)
    return {
        "base_model_digest": identity["base"],
        "data_digest": identity["data"],
        "data": data,
        "left_out": left_out(data, job.settings.sequence_length),
        "steps": len(steps),
        "stopped_early": 0 < job.settings.patience <= progress.stale,
        "loss": {"first": steps[0]["loss"], "last": steps[-1]["loss"]},
        "validation": None if progress.best is None else {"loss": progress.best, "step": progress.best_step},
        "tokens": sum(step["tokens"] for step in steps),
        "learned_tokens": sum(step["learned_tokens"] for step in steps),
        "seconds": round(seconds, 2),
        "tokens_per_second": round(sum(step["tokens"] for step in steps) / seconds, 1),
        "peak_memory_mib": peak_memory_mib(),
        "workers": workers,
    }


def peak_memory_mib() -> dict[str, int]:
    """Returns the peak of the first worker's process, and of its GPU if it has one."""
    peak = {"process": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024}
    if torch.cuda.is_available():
        peak["gpu"] = torch.cuda.max_memory_allocated() // 2**20
    return peak


def save(
    job: Job,
    model: Any,
    trained: dict[str, torch.Tensor],
    content: dict[str, Any],
    curve: Sequence[Mapping[str, Any]],
) -> None:
    """Writes the adapter or the whole model to a folder atomically, and adds its digest to the report."""
    folder = job.folder / (ADAPTER if job.settings.tune == "lora" else MODEL)
    with complete(folder) as unfinished:
        unfinished.mkdir(exist_ok=True)
        if job.settings.tune == "lora":
            _save_adapter(unfinished, job, model, trained)
            content["adapter_digest"] = digest_of([unfinished / ADAPTER_WEIGHTS])
        else:
            model.save_pretrained(unfinished, state_dict=trained)
            for name in ("tokenizer.json", "tokenizer_config.json", "chat_template.jinja", "special_tokens_map.json"):
                if (job.base / name).is_file():
                    (unfinished / name).write_bytes((job.base / name).read_bytes())
        (unfinished / CARD).write_text(card(job, content), "utf-8")
        picture(unfinished / "loss.png", curve)


def _save_adapter(folder: Path, job: Job, model: Any, trained: dict[str, torch.Tensor]) -> None:
    # Otherwise peft would look up the base in a hub.
    adapter = get_peft_model_state_dict(model, trained, save_embedding_layers=False)
    tensors = {name: tensor.contiguous() for name, tensor in adapter.items()}
    save_file(tensors, folder / ADAPTER_WEIGHTS, metadata={"format": "pt"})
    config = model.peft_config["default"]
    # The digest identifies the base; its path means nothing on other machines.
    config.base_model_name_or_path = job.base.name
    config.inference_mode = True
    config.save_pretrained(folder)


def card(job: Job, content: Mapping[str, Any]) -> str:
    best = "| best held-out loss, at step {step}, whose weights these are | {loss:.4f} |\n"
    return _CARD.format_map(
        {
            **content,
            "base": json.dumps(job.base.name),
            "name": plain(job.folder.name),
            "omitted": f"\nSamples left out: {content['left_out']}.\n" if content["left_out"] else "",
            "best": best.format_map(content["validation"]) if content["validation"] else "",
            "settings": json.dumps(job.settings.model_dump(mode="json"), indent=2),
        }
    )


def left_out(data: Mapping[str, Any], sequence_length: int) -> str:
    """Says how many samples are not learned from, and why; empty if there are none."""
    whys = {
        "turn_too_long": f"longer than {sequence_length:,} tokens, up to {data['longest_left_out']:,}",
        "special_words": "with the text of a special token",
    }
    return "; ".join(f"{count:,} {whys[name]}" for name, count in data["left_out"].items() if count)


def picture(path: Path, curve: Sequence[Mapping[str, Any]]) -> None:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 4), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    axes.plot([step["step"] for step in curve], [step["loss"] for step in curve], label="learned", linewidth=1)
    validated = [step for step in curve if step["validation"] is not None]
    if validated:
        places, losses = [step["step"] for step in validated], [step["validation"] for step in validated]
        axes.plot(places, losses, "o-", label="held out", markersize=3)
    axes.set_xlabel("step")
    axes.set_ylabel("loss of a learned token")
    axes.grid(alpha=0.3)
    axes.legend()
    figure.savefig(path, dpi=120)
