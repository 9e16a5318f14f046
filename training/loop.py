"""The training loop, the same in one process, under torchrun and on Ray."""

import math
import time
from pathlib import Path
from typing import Any

import torch
from torch._dynamo import mark_dynamic
from torch.nn.functional import cross_entropy

from soliloquy.runtime.seeds import seed
from soliloquy_training.checkpoints import Checkpoints, Progress
from soliloquy_training.data import Prepared
from soliloquy_training.encoder_decoder import PairBatch, summed_loss
from soliloquy_training.model import is_compiled, precision
from soliloquy_training.packing import Row, padded
from soliloquy_training.schedule import Schedule, Sequences, learning_rate, worker_rows
from soliloquy_training.settings import Diverged, TrainingSettings
from soliloquy_training.step_log import Step, StepLog
from soliloquy_training.world import World


class Loop:
    def __init__(
        self,
        model: Any,
        prepared: Prepared,
        settings: TrainingSettings,
        world: World,
        folder: Path,
        log: StepLog,
    ) -> None:
        self._model = model
        self._prepared = prepared
        self._settings = settings
        self._world = world
        self._log = log
        self._learned = prepared.learned()
        self._lengths = prepared.lengths()
        self.schedule = Schedule(prepared, settings)
        self.checkpoints = Checkpoints(folder, world)
        trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
        self._optimiser = torch.optim.AdamW(trained, lr=0.0, weight_decay=settings.weight_decay)

    def run(self) -> Progress:
        """Trains from the newest checkpoint to the end; raises Diverged if the loss is not finite."""
        progress = self.checkpoints.load(self._model, self._optimiser)
        if self._world.first:
            self._log.begin(progress.step)
        while progress.step < self.schedule.steps and not self._is_over(progress):
            self._advance(progress)
        return progress

    def _advance(self, progress: Progress) -> None:
        began = time.monotonic()
        step = progress.step + 1
        sequences = self.schedule.sequences_of(step)
        rate = learning_rate(self._settings, step, self.schedule.steps)
        loss, gradient = self.learn(step, sequences, rate)
        if not (math.isfinite(loss) and math.isfinite(gradient)):
            saved = f"earlier weights are in {self.checkpoints.folder}" if progress.step else "nothing was learned"
            raise Diverged(
                f"the loss of step {step} is {loss} and its gradient {gradient}: {saved}; lower learning_rate "
                f"({self._settings.learning_rate:g}) or raise warmup_share, under another --name"
            )
        progress.step = step
        seconds = time.monotonic() - began
        validation = self._validate(progress) if self._is_due(step, self._settings.validate_every) else None
        samples = [number for one in sequences for number in one]
        if self._world.first:
            self._log.add(
                Step(
                    step=step,
                    steps=self.schedule.steps,
                    loss=loss,
                    learning_rate=rate,
                    gradient=gradient,
                    tokens=sum(self._lengths[number] for number in samples),
                    learned_tokens=sum(self._learned[number] for number in samples),
                    seconds=seconds,
                    validation=validation,
                )
            )
        if self._is_due(step, self._settings.checkpoint_every) or self._is_over(progress):
            self.checkpoints.save(self._model, self._optimiser, progress)

    def learn(self, step: int, sequences: Sequences, rate: float) -> tuple[float, float]:
        """Takes one step; returns the loss before it and the norm of its gradient."""
        self._model.train()
        learned = sum(self._learned[number] for one in sequences for number in one)
        summed = torch.zeros((), device=self._world.device)
        rows = worker_rows(sequences, self._world.rank, self._world.size, self._settings.micro_batch)
        for number, (samples, counts) in enumerate(rows):
            # Dropout follows from the step, so that checkpoints need no random state.
            torch.manual_seed(seed(self._settings.seed, "dropout", step, self._world.rank, number))
            loss = self._loss(samples) * (counts / learned)
            # FSDP averages gradients over the workers.
            (loss * self._world.size).backward()
            summed += loss.detach()
        gradient = torch.nn.utils.clip_grad_norm_(
            [one for group in self._optimiser.param_groups for one in group["params"]], self._settings.clip
        )
        norm = float(gradient.full_tensor() if hasattr(gradient, "full_tensor") else gradient)
        total = self._world.total(summed)
        if math.isfinite(total) and math.isfinite(norm):
            for group in self._optimiser.param_groups:
                group["lr"] = rate
            self._optimiser.step()
        self._optimiser.zero_grad(set_to_none=True)
        return total, norm

    def _validate(self, progress: Progress) -> float | None:
        held_out = self.schedule.held_out
        if not held_out:
            return None
        self._model.eval()
        summed = torch.zeros((), device=self._world.device)
        rows = worker_rows(held_out, self._world.rank, self._world.size, self._settings.micro_batch)
        with torch.no_grad():
            for samples, counts in rows:
                summed += self._loss(samples) * counts
        loss = self._world.total(summed) / sum(self._learned[number] for one in held_out for number in one)
        if progress.best is None or loss < progress.best:
            progress.best, progress.best_step, progress.stale = loss, progress.step, 0
            self.checkpoints.save_best(self._model)
        else:
            progress.stale += 1
        return loss

    def _loss(self, samples: list[int]) -> torch.Tensor:
        """Returns the loss summed over the learned tokens of a row."""
        dtype = precision(self._settings, self._world.device)
        autocast = torch.autocast(self._world.device.type, dtype=dtype, enabled=dtype != torch.float32)
        if self._prepared.pairs:
            batch = PairBatch(*(part.to(self._world.device) for part in self._prepared.pair_batch(samples)))
            with autocast:
                return summed_loss(self._model, batch)
        row = self._prepared.row(samples)
        if is_compiled(self._settings, self._world.device):
            row = padded(row, self._settings.sequence_length * self._settings.micro_batch)
        row = Row(*(part.to(self._world.device) for part in row))
        # How many samples a row holds differs, and how much they share.
        for part in (row.borders, row.places, row.ends):
            mark_dynamic(part, 0)
        with autocast:
            scores = self._model(**row.asked(), longest=self._settings.sequence_length).logits[0]
        return cross_entropy(scores.float(), row.targets, reduction="sum")

    def _is_due(self, step: int, every: int) -> bool:
        return step % every == 0 or step == self.schedule.steps

    def _is_over(self, progress: Progress) -> bool:
        return 0 < self._settings.patience <= progress.stale
