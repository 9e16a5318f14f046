"""Writes the results of a training: the adapter with its card, the report and a plot of the loss."""

import json
import re
import resource
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from textwrap import indent
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
# The end of a sample's text that the card shows; the report has all of it.
_MOST_CHARACTERS = 1_000
# The curves besides the loss of the card and its picture; TensorBoard has all.
_SHOWN = re.compile(r"(held out )?(rewards/(margins|accuracies|\w+/mean)|reward|kl|completions/mean_length)")
_CARD = Path(__file__).with_name("card.txt").read_text("utf-8")


def report(
    job: Job,
    identity: Mapping[str, Any],
    told: Mapping[str, Any],
    *,
    steps: Sequence[Mapping[str, Any]],
    progress: Progress,
    workers: int,
) -> dict[str, Any]:
    """`told` has the data, and what else the method tells."""
    seconds = sum(step["seconds"] for step in steps)
    # A step of few answers may lack some.
    figures = {name: round(value, 6) for step in steps for name, value in step["figures"].items()}
    return {
        "method": job.settings.method,
        "base_model_digest": identity["base"],
        "data_digest": identity["data"],
        **told,
        "left_out": left_out(told["data"], job.settings.sequence_length),
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
        **({"figures": figures} if figures else {}),
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
        (unfinished / CARD).write_text(card(job, content, curve), "utf-8")
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


def card(job: Job, content: Mapping[str, Any], curve: Sequence[Mapping[str, Any]]) -> str:
    best = "| best held-out loss, at step {step}, whose weights these are | {loss:.4f} |\n"
    return _CARD.format_map(
        {
            **content,
            "base": json.dumps(job.base.name),
            "name": plain(job.folder.name),
            "omitted": f"\nSamples left out: {content['left_out']}.\n" if content["left_out"] else "",
            "best": best.format_map(content["validation"]) if content["validation"] else "",
            "figures": "".join(_figures(curve)),
            "samples": "".join(_samples(content.get("samples", ()))),
            "settings": json.dumps(job.settings.model_dump(mode="json"), indent=2),
        }
    )


def _figures(curve: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for name in _shown(curve):
        values = [step["figures"][name] for step in curve if name in step["figures"]]
        yield f"| {plain(name)}, first and last step | {values[0]:.4f}, {values[-1]:.4f} |\n"


def _shown(curve: Sequence[Mapping[str, Any]]) -> list[str]:
    return list(dict.fromkeys(name for step in curve for name in step["figures"] if _SHOWN.fullmatch(name)))


def _samples(samples: Sequence[Mapping[str, str]]) -> Iterator[str]:
    for sample in samples:
        yield "\n## A sample\n"
        for name, text in sample.items():
            yield f"\n{name}:\n\n{indent(text[-_MOST_CHARACTERS:], '    ')}\n"


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

    shown = _shown(curve)
    figure = Figure(figsize=(8, 4 + 2.5 * len(shown)), layout="constrained")
    FigureCanvasAgg(figure)
    losses, *further = figure.subplots(1 + len(shown), squeeze=False, sharex=True)[:, 0]
    losses.plot([step["step"] for step in curve], [step["loss"] for step in curve], label="learned", linewidth=1)
    validated = [step for step in curve if step["validation"] is not None]
    if validated:
        places, found = [step["step"] for step in validated], [step["validation"] for step in validated]
        losses.plot(places, found, "o-", label="held out", markersize=3)
    losses.set_ylabel("loss")
    losses.legend()
    for axes, name in zip(further, shown, strict=True):
        having = [step for step in curve if name in step["figures"]]
        axes.plot([step["step"] for step in having], [step["figures"][name] for step in having], linewidth=1)
        axes.set_ylabel(name)
    for axes in (losses, *further):
        axes.grid(alpha=0.3)
    (further or [losses])[-1].set_xlabel("step")
    figure.savefig(path, dpi=120)
