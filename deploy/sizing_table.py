"""Writes the table of what each part can serve into the operator's guide, from soliloquy/runs/sizing.toml.

Run `python -m deploy.sizing_table`.
"""

import math
from collections.abc import Iterator
from pathlib import Path

from soliloquy.runs.sizing import CONVERSATION, GPUS, PARTS, Card

PAGE = Path(__file__).with_name("README.md")
_BEGIN, _END = "<!-- sizing -->", "<!-- /sizing -->"


def page() -> str:
    head, _, rest = PAGE.read_text("utf-8").partition(_BEGIN)
    _, _, tail = rest.partition(_END)
    return "\n".join([f"{head}{_BEGIN}", *_rows(), f"{_END}{tail}"])


def _rows() -> Iterator[str]:
    yield "| part | measured | conversations per hour |"
    yield "| --- | --- | --- |"
    for part in PARTS:
        most = f", {part.most} at most" if part.most < math.inf else ""
        yield f"| {part.name} | {part.measured} | {part.an_hour:,} per {part.unit}{most} |"
    for card, figures in GPUS.items():
        one = Card.of(card, figures["parameters"])
        yield (
            f"| {figures['name']}, a model of {figures['parameters']:.0f} thousand million parameters "
            f"| {CONVERSATION['output_tokens']:,} tokens written at {one.output_rate:,.0f} per second; "
            f"{CONVERSATION['uncached_share']:.0%} of {CONVERSATION['input_tokens']:,} read at {one.reading_rate:,.0f} "
            f"| {one.conversations_an_hour:,.0f} per card |"
        )


def main() -> None:
    PAGE.write_text(page(), "utf-8")


if __name__ == "__main__":
    main()
