"""The step loop, the same in one process, under torchrun and on Ray."""

import contextlib
import math
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import torch
from torch.nn.functional import cross_entropy

from soliloquy.runtime.seeds import seed
from training.checkpoints import Checkpoints, Progress
from training.data import Prepared
from training.model import precision
from training.packing import Row
from training.schedule import Schedule, Sequences, worker_rows
from training.settings import Diverged, TrainingSettings
from training.world import World


@dataclass(frozen=True, kw_only=True, slots=True)
class Step:
    """What a step came to, over all workers."""

    step: int
    steps: int
    # Of a learned token, before the step.
    loss: float
    learning_rate: float
    gradient: float
    tokens: int
    learned_tokens: int
    seconds: float
    # Of a held-out token, after the step; None where it was not measured.
    validation: float | None = None


class StepListener(Protocol):
    """Takes down what comes; only the first worker's is written."""

    def begin(self, step: int) -> None:
        """The training goes on after this step: what was taken down of later ones is void."""

    def add(self, step: Step) -> None: ...


class Loop:
    def __init__(
        self,
        model: Any,
        prepared: Prepared,
        settings: TrainingSettings,
        world: World,
        folder: Path,
        journal: StepListener,
    ) -> None:
        self._model = model
        self._prepared = prepared
        self._settings = settings
        self._world = world
        self._journal = journal
        self._learned = prepared.learned()
        self._lengths = prepared.lengths()
        self.schedule = Schedule(prepared, settings)
        self.checkpoints = Checkpoints(folder, world)
        trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
        self._optimiser = torch.optim.AdamW(trained, lr=0.0, weight_decay=settings.weight_decay)

    def run(self) -> Progress:
        """From the newest checkpoint to the end; raises Diverged where the loss is no number."""
        standing = self.checkpoints.load(self._model, self._optimiser)
        if self._world.first:
            self._journal.begin(standing.step)
        while standing.step < self.schedule.steps and not self._is_over(standing):
            self._advance(standing)
        return standing

    def _advance(self, standing: Progress) -> None:
        began = time.monotonic()
        step = standing.step + 1
        sequences = self.schedule.of(step)
        rate = self.schedule.learning_rate(step)
        loss, gradient = self.learn(step, sequences, rate)
        if not (math.isfinite(loss) and math.isfinite(gradient)):
            kept = f"the weights before it are in {self.checkpoints.folder}" if standing.step else "nothing was learned"
            raise Diverged(
                f"the loss of step {step} is {loss} and its gradient {gradient}: {kept}; lower learning_rate "
                f"({self._settings.learning_rate:g}) or raise warmup_share, under another --name"
            )
        standing.step = step
        seconds = time.monotonic() - began
        validation = self._validate(standing) if self._is_due(step, self._settings.validate_every) else None
        samples = [number for one in sequences for number in one]
        if self._world.first:
            self._journal.add(
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
        if self._is_due(step, self._settings.checkpoint_every) or self._is_over(standing):
            self.checkpoints.save(self._model, self._optimiser, standing)

    def learn(self, step: int, sequences: Sequences, rate: float) -> tuple[float, float]:
        """One step; the loss before it, and the norm of its gradient."""
        self._model.train()
        learned = sum(self._learned[number] for one in sequences for number in one)
        summed = torch.zeros((), device=self._world.device)
        rows = worker_rows(sequences, self._world.rank, self._world.size, self._settings.micro_batch)
        for number, (samples, counts) in enumerate(rows):
            # What a layer drops follows from the place, so that nothing of it has to be kept.
            torch.manual_seed(seed(self._settings.seed, "dropout", step, self._world.rank, number))
            loss = self._loss(samples) * (counts / learned)
            # Gradients are averaged over the workers.
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

    def _validate(self, standing: Progress) -> float | None:
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
        if standing.best is None or loss < standing.best:
            standing.best, standing.best_step, standing.stale = loss, standing.step, 0
            self.checkpoints.save_best(self._model)
        else:
            standing.stale += 1
        return loss

    def _loss(self, samples: list[int]) -> torch.Tensor:
        """Summed over the learned tokens of a row."""
        row = Row(*(part.to(self._world.device) for part in self._prepared.row(samples)))
        with self._calculating():
            scores = self._model(
                input_ids=row.ids,
                position_ids=row.positions,
                borders=row.borders,
                use_cache=False,
                # Nobody asks for the others, which would take most of the memory.
                logits_to_keep=row.at,
            ).logits[0]
        return cross_entropy(scores.float(), row.targets, reduction="sum")

    @contextlib.contextmanager
    def _calculating(self) -> Iterator[None]:
        dtype = precision(self._settings, self._world.device)
        with torch.autocast(self._world.device.type, dtype=dtype, enabled=dtype != torch.float32):
            yield

    def _is_due(self, step: int, every: int) -> bool:
        return step % every == 0 or step == self.schedule.steps

    def _is_over(self, standing: Progress) -> bool:
        return 0 < self._settings.patience <= standing.stale
