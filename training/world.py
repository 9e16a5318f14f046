"""The processes that train together: one alone, or those that torchrun or Ray started."""

import datetime
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field

import torch
import torch.distributed as dist

# The other processes wait while the first one prepares the data.
_PATIENCE = datetime.timedelta(hours=3)


@dataclass(frozen=True, kw_only=True, slots=True)
class World:
    rank: int = 0
    size: int = 1
    device: torch.device = field(default_factory=lambda: torch.device("cpu"))

    @property
    def first(self) -> bool:
        return self.rank == 0

    def wait(self) -> None:
        """Waits until all processes have reached this point."""
        if self.size > 1:
            dist.barrier()

    def total(self, value: torch.Tensor) -> float:
        """Returns the sum over all processes."""
        if self.size > 1:
            dist.all_reduce(value)
        return float(value.item())


@contextmanager
def world() -> Iterator[World]:
    """Yields the group that Ray has set up or torchrun's environment describes, or a single process."""
    device = torch.device("cpu")
    if torch.cuda.is_available():
        device = torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0")) % torch.cuda.device_count())
        torch.cuda.set_device(device)
    with ExitStack() as stack:
        if not dist.is_initialized():
            if int(os.environ.get("WORLD_SIZE", "1")) == 1:
                yield World(device=device)
                return
            dist.init_process_group("nccl" if device.type == "cuda" else "gloo", timeout=_PATIENCE)
            stack.callback(dist.destroy_process_group)
        yield World(rank=dist.get_rank(), size=dist.get_world_size(), device=device)
