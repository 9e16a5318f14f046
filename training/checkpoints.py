"""Checkpoints of a training: written atomically, and sufficient to resume to exactly the same result."""

import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from torch.distributed.checkpoint.state_dict import (
    StateDictOptions,
    get_model_state_dict,
    get_optimizer_state_dict,
    set_model_state_dict,
    set_optimizer_state_dict,
)

from soliloquy_training.state import complete
from soliloquy_training.world import World

KEPT = 2
_WHOLE = StateDictOptions(full_state_dict=True, cpu_offload=True, ignore_frozen_params=True, strict=False)
_BEST = "best.pt"


@dataclass(kw_only=True, slots=True)
class Progress:
    """All state besides weights and optimiser; draws and learning rates follow from the step."""

    step: int = 0
    # The best validation loss so far, its step, and the number of validations since.
    best: float | None = None
    best_step: int = 0
    stale: int = 0


class Checkpoints:
    """Keeps the newest two checkpoints, and the best weights."""

    def __init__(self, folder: Path, world: World) -> None:
        self.folder = folder
        self._world = world

    def load(self, model: Any, optimiser: torch.optim.Optimizer) -> Progress:
        """Restores the newest checkpoint; returns a progress at step 0 if there is none."""
        self._world.wait()
        present = self._present()
        if not present:
            return Progress()
        checkpoint = torch.load(present[-1], map_location="cpu", weights_only=True)
        set_model_state_dict(model, checkpoint["weights"], options=_WHOLE)
        set_optimizer_state_dict(model, optimiser, checkpoint["optimiser"], options=_WHOLE)
        return Progress(**checkpoint["standing"])

    def save(self, model: Any, optimiser: torch.optim.Optimizer, progress: Progress) -> None:
        """All workers take part, and the first one writes."""
        checkpoint = {
            "weights": weights(model),
            "optimiser": get_optimizer_state_dict(model, optimiser, options=_WHOLE),
            "standing": asdict(progress),
        }
        if self._world.first:
            self._write(f"{progress.step:08d}.pt", checkpoint)
            for old in self._present()[:-KEPT]:
                old.unlink()
        self._world.wait()

    def save_best(self, model: Any) -> None:
        best = weights(model)
        if self._world.first:
            self._write(_BEST, best)
        self._world.wait()

    def best(self) -> dict[str, torch.Tensor]:
        found: dict[str, torch.Tensor] = torch.load(self.folder / _BEST, map_location="cpu", weights_only=True)
        return found

    def restore_best(self, model: Any) -> None:
        set_model_state_dict(model, self.best(), options=_WHOLE)

    def _present(self) -> list[Path]:
        return sorted(self.folder.glob("[0-9]*.pt"))

    def _write(self, name: str, content: Mapping[str, Any]) -> None:
        with complete(self.folder / name) as unfinished, unfinished.open("wb") as file:
            try:
                torch.save(content, file)
            except RuntimeError as error:
                # This is how torch reports a full disk.
                raise OSError(str(error)) from error
            file.flush()
            os.fsync(file.fileno())


def weights(model: Any) -> dict[str, torch.Tensor]:
    """Returns the trained weights, gathered on the first worker."""
    found: dict[str, torch.Tensor] = get_model_state_dict(model, options=_WHOLE)
    return found
