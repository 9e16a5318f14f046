"""A console of Rich's that shows the control characters of its texts."""

from collections.abc import Iterable
from typing import Any

from rich.console import Console, ConsoleOptions
from rich.segment import Segment

from soliloquy.cli.visible import visible


class VisibleConsole(Console):
    def render(self, renderable: Any, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Leaves Rich's own controls alone, which are segments of their own."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(visible(segment.text), segment.style)
