"""What a consumer knows of a partition while it holds it."""

import time
from collections import deque
from dataclasses import dataclass, field

from soliloquy.runtime.transports.port import Delivery
from soliloquy.runtime.transports.watermark import Watermark


@dataclass(kw_only=True, slots=True)
class Held:
    watermark: Watermark
    # What is below it has been seen: a batch may have been on its way when the position was set.
    next_offset: int
    # While the stage counts it as its own.
    ready: bool = False
    waiting: deque[Delivery] = field(default_factory=deque)
    # When each open event was made, the oldest first.
    made: dict[int, float] = field(default_factory=dict)
    moved_at: float = field(default_factory=time.time)
    paused: bool = False
    stopped: bool = False
    # A retry partition in which nothing is left; this member fills it itself, or a fenced one did, at its last.
    empty: bool = False
    filled_at: float = 0.0
