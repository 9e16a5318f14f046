"""The values that a given quantity may take, each worked out when it is drawn."""

from dataclasses import dataclass

from soliloquy.problems.bank.family_file import Given
from soliloquy.truth.number_format import format_number


@dataclass(frozen=True, kw_only=True, slots=True)
class Grid:
    """The values from `low` on, `step` apart."""

    low: float
    step: float
    count: int

    def value(self, position: int) -> float:
        return float(f"{self.low + position * self.step:.10g}")

    def position_of(self, text: str) -> int | None:
        """Where the grid holds the value that is written so."""
        try:
            position = round((float(text) - self.low) / self.step)
        except (ValueError, OverflowError):
            return None
        return position if 0 <= position < self.count and format_number(self.value(position)) == text else None


def grid(given: Given) -> Grid:
    return Grid(low=given.low, step=given.step, count=round((given.high - given.low) / given.step) + 1)
