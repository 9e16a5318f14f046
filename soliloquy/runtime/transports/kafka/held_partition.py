"""The state of a partition that a consumer holds."""

import time
from collections import deque
from dataclasses import dataclass, field

from soliloquy.runtime.transports.port import Delivery
from soliloquy.runtime.transports.watermark import Watermark


@dataclass(kw_only=True, slots=True)
class HeldPartition:
    watermark: Watermark
    # Records below were seen: a batch may have been in flight during the seek.
    next_offset: int
    # Whether the stage has accepted the partition.
    ready: bool = False
    waiting: deque[Delivery] = field(default_factory=deque)
    # When each open event was created, oldest first.
    made: dict[int, float] = field(default_factory=dict)
    moved_at: float = field(default_factory=time.time)
    paused: bool = False
    stopped: bool = False
    # Whether a retry partition is empty. Only this member fills it, or a fenced one in its last moments.
    empty: bool = False
    filled_at: float = 0.0
