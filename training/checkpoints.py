"""Where a training stands, on the disk: whole or not there at all, and enough to go on to the very same end."""

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

from training.settings import CannotTrain
from training.world import World

KEPT = 2
_WHOLE = StateDictOptions(full_state_dict=True, cpu_offload=True, ignore_frozen_params=True, strict=False)
_BEST = "best.pt"


@dataclass(kw_only=True, slots=True)
class Progress:
    """Draws and learning rates follow from the step; so this is all there is besides weights and optimiser."""

    step: int = 0
    # Of the validations so far, and how many since.
    best: float | None = None
    best_step: int = 0
    stale: int = 0


class Checkpoints:
    """Those of a training, of which the newest and the one before are kept, and the best weights."""

    def __init__(self, folder: Path, world: World) -> None:
        self.folder = folder
        self._world = world

    def load(self, model: Any, optimiser: torch.optim.Optimizer) -> Progress:
        """Puts the newest into the model; a standing at step 0 where there is none."""
        self._world.wait()
        present = self._present()
        if not present:
            return Progress()
        kept = torch.load(present[-1], map_location="cpu", weights_only=True)
        set_model_state_dict(model, kept["weights"], options=_WHOLE)
        set_optimizer_state_dict(model, optimiser, kept["optimiser"], options=_WHOLE)
        return Progress(**kept["standing"])

    def save(self, model: Any, optimiser: torch.optim.Optimizer, standing: Progress) -> None:
        """All workers gather, the first writes."""
        kept = {
            "weights": weights(model),
            "optimiser": get_optimizer_state_dict(model, optimiser, options=_WHOLE),
            "standing": asdict(standing),
        }
        if self._world.first:
            self._write(f"{standing.step:08d}.pt", kept)
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

    def _present(self) -> list[Path]:
        return sorted(self.folder.glob("[0-9]*.pt"))

    def _write(self, name: str, content: Mapping[str, Any]) -> None:
        self.folder.mkdir(exist_ok=True)
        unfinished = self.folder / f".{name}.unfinished"
        try:
            with unfinished.open("wb") as file:
                torch.save(content, file)
                file.flush()
                os.fsync(file.fileno())
            unfinished.replace(self.folder / name)
        except (OSError, RuntimeError) as error:
            # What of it is there is no checkpoint, and takes the room that is lacking.
            unfinished.unlink(missing_ok=True)
            raise CannotTrain(
                f"{self.folder / name} cannot be written ({_reason(error)}): make room and run the command again; it "
                "goes on from the checkpoint before"
            ) from error


def weights(model: Any) -> dict[str, torch.Tensor]:
    """Those that are trained, whole, with the first worker."""
    found: dict[str, torch.Tensor] = get_model_state_dict(model, options=_WHOLE)
    return found


def _reason(error: OSError | RuntimeError) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error).splitlines()[0]
