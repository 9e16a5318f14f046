"""Trains with TRL from the settings of a training: with the model, the log and the schedule of our own loop."""

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import trl
from torch.optim.lr_scheduler import LambdaLR
from transformers import PrinterCallback

from soliloquy_training.checkpoints import KEPT, Checkpoints, Progress
from soliloquy_training.folder import Job, TrainingFolder
from soliloquy_training.methods.observing import Observer
from soliloquy_training.methods.preferences import Preferences
from soliloquy_training.methods.samples import PROMPTS, Samples, answers
from soliloquy_training.model import precision
from soliloquy_training.schedule import learning_rate
from soliloquy_training.settings import TrainingSettings
from soliloquy_training.step_log import StepLog
from soliloquy_training.templating import load_tokenizer
from soliloquy_training.world import World

_STATE = "trainer_state.json"
# From the arguments and the model to a trainer.
MakeTrainer = Callable[..., Any]


class Tokenized:
    """Takes rows as they are tokenized, and counts the tokens that are learned."""

    observer: Observer

    def _prepare_dataset(self, dataset: Any, *_: Any) -> Any:
        return dataset

    def compute_loss(self, model: Any, inputs: dict[str, Any], *given: Any, **named: Any) -> Any:
        if self.model.training:  # type: ignore[attr-defined]
            mask = inputs["completion_mask"] * inputs.get("tool_mask", 1)
            self.observer.learned_tokens += int(mask.sum())
        return super().compute_loss(model, inputs, *given, **named)  # type: ignore[misc]

    def create_model_card(self, *_: Any, **__: Any) -> None:
        """Writes none: the adapter has a card of its own."""


class Dpo(Tokenized, trl.DPOTrainer):  # type: ignore[misc]
    pass


class Kto(Tokenized, trl.KTOTrainer):  # type: ignore[misc]
    pass


def prefer(
    job: Job, model: Any, found: Preferences, world: World, folder: TrainingFolder, log: StepLog
) -> tuple[Progress, dict[str, Any]]:
    """Trains on preferences from the newest checkpoint to the end; raises Diverged if the loss is not finite."""
    settings = job.settings
    kind, config = {"dpo": (Dpo, trl.DPOConfig), "kto": (Kto, trl.KTOConfig)}[settings.method]
    steps = math.ceil(len(found.training) / settings.batch) * settings.epochs
    arguments = config(
        **common(settings, world, folder, steps=min(steps, settings.max_steps or steps)),
        beta=settings.beta,
        # Longer rows have been left out.
        max_length=None,
        eval_strategy="steps" if found.held_out else "no",
        eval_steps=settings.validate_every,
    )
    tokenizer = load_tokenizer(job.base)
    prompts = found.prompts(PROMPTS)
    samples = Samples(
        folder.path, [prompt.asked for prompt in prompts], lambda model: answers(model, tokenizer, prompts)
    )
    if world.first:
        samples.before(model)
    world.wait()
    rows = {"train_dataset": found.training, "eval_dataset": found.held_out}
    progress = run(kind, job, model, arguments, tokenizer, world, folder, log, **rows)
    if progress.best is not None:
        Checkpoints(folder.checkpoints, world).restore_best(model)
    return progress, {"data": found.summary, "samples": samples.compared(model) if world.first else []}


def common(settings: TrainingSettings, world: World, folder: TrainingFolder, *, steps: int) -> dict[str, Any]:
    """Returns the arguments of any trainer."""
    return {
        "output_dir": str(folder.checkpoints),
        "max_steps": steps,
        "per_device_train_batch_size": settings.micro_batch,
        "per_device_eval_batch_size": settings.micro_batch,
        "gradient_accumulation_steps": settings.batch // (world.size * settings.micro_batch),
        "max_grad_norm": settings.clip,
        "seed": settings.seed,
        "bf16": precision(settings, world.device) == torch.bfloat16,
        "use_cpu": world.device.type == "cpu",
        # The model has been set up with it.
        "activation_checkpointing": False,
        "save_steps": settings.checkpoint_every,
        "save_total_limit": KEPT,
        "logging_steps": 1,
        "logging_nan_inf_filter": False,
        "disable_tqdm": True,
        # Each step learns all matrices.
        "ddp_find_unused_parameters": False,
        "report_to": [],
    }


def run(
    kind: MakeTrainer,
    job: Job,
    model: Any,
    arguments: Any,
    tokenizer: Any,
    world: World,
    folder: TrainingFolder,
    log: StepLog,
    **given: Any,
) -> Progress:
    settings, checkpoints = job.settings, Checkpoints(folder.checkpoints, world)
    # An adapter names its base without a path, for which peft would look in a hub when it saves a checkpoint.
    model.peft_config["default"].base_model_name_or_path = str(job.base)
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    optimiser = torch.optim.AdamW(trained, lr=settings.learning_rate, weight_decay=settings.weight_decay)

    def share(done: int) -> float:
        # The scheduler also asks for the step after the last one.
        step = min(done + 1, arguments.max_steps)
        return learning_rate(settings, step, arguments.max_steps) / settings.learning_rate

    observer = Observer(job, folder.metrics, world, log, checkpoints)
    trainer = kind(
        model=model,
        args=arguments,
        processing_class=tokenizer,
        callbacks=[observer],
        optimizers=(optimiser, LambdaLR(optimiser, share)),
        **given,
    )
    trainer.observer = observer
    trainer.remove_callback(PrinterCallback)
    trainer.train(resume_from_checkpoint=_newest(folder.checkpoints))
    return observer.progress


def _newest(folder: Path) -> str | None:
    """Returns the newest whole checkpoint; the trainer writes its state last."""
    numbered = {int(path.name.rpartition("-")[2]): path for path in folder.glob("checkpoint-*")}
    for _, path in sorted(numbered.items(), reverse=True):
        try:
            json.loads((path / _STATE).read_bytes())
        except (OSError, ValueError):
            continue
        return str(path)
    return None
