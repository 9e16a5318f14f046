import json
import re
from typing import Any

import click
from click.types import FuncParamType

from soliloquy.cli.command import Command, setting
from soliloquy.cli.options import AS_JSON
from soliloquy.cli.parameters import Choice
from soliloquy.cli.terminal import echo
from soliloquy.runs.dry_run import CONVERSATION, GPUS, KAFKA_DAYS, PARTS, OnGpu, Sizing


def _billions(value: str) -> float:
    read = re.fullmatch(r"(\d+(?:\.\d+)?)b", value.lower())
    if not read or float(read[1]) <= 0:
        raise click.BadParameter(f"{value!r} is no size: give thousand millions of parameters, such as 8b")
    return float(read[1])


def _count(value: str) -> int:
    try:
        count = float(value)
    except ValueError:
        count = 0.0
    if not 1 <= count <= 1e15 or not count.is_integer():
        raise click.BadParameter(f"{value!r} is no number of conversations: use one such as 10000 or 1e7")
    return int(count)


_BILLIONS, _COUNT = FuncParamType(_billions), FuncParamType(_count)


@click.command(cls=Command)
def size(
    *,
    conversations: int = setting("Such as 10000 or 1e7.", type=_COUNT, metavar="NUMBER"),
    gpus: int = setting("Cards that run the model.", type=click.IntRange(1, 100_000), metavar="NUMBER"),
    parameters: float = setting("Its parameters.", "--model", type=_BILLIONS, default="8b", metavar="SIZE"),
    card: str = setting("The kind of card.", type=Choice(tuple(GPUS)), default=next(iter(GPUS))),
    as_json: bool = AS_JSON,
) -> None:
    """Say what a number of conversations takes: hours, cores, pods, disk.

    It multiplies the figures of soliloquy/runs/sizing.toml. They are for the recipe soliloquy and problems of the
    bank, with vLLM; longer conversations take more of everything.
    """
    found = Sizing(conversations=conversations, gpus=gpus, on_gpu=OnGpu(card=card, parameters=parameters))
    if as_json:
        echo(json.dumps(_as_json(found)))
        return
    # Rich takes a while to load.
    from rich.table import Table

    from soliloquy.cli.terminal import open_console

    one = found.on_gpu
    console = open_console()
    console.print(f"{conversations:,} conversations: {found.hours:,.1f} hours, {found.an_hour:,.0f} an hour")
    table = Table("", "needed", "a conversation, or one an hour", "from")
    reading, writing = one.reading_seconds, one.writing_seconds
    table.add_row(
        f"{GPUS[card]['name']}, a model of {parameters:g}b",
        f"{gpus:,}",
        f"{one.conversations_an_hour:,.0f} an hour",
        f"{writing:.3f} s to write {CONVERSATION['output_tokens']:,} tokens at {one.output_rate:,.0f}/s, "
        f"{reading:.3f} s to read {CONVERSATION['uncached_share']:.0%} of {CONVERSATION['input_tokens']:,} "
        f"at {one.reading_rate:,.0f}/s",
    )
    for part in PARTS:
        needed = part.units(found.an_hour)
        table.add_row(
            part.name, f"{needed:,} {part.unit}{'s' * (needed != 1)}", f"{part.an_hour:,} an hour", part.measured
        )
    table.add_row("calls in flight", f"--in-flight {found.in_flight:,}", "", f"{GPUS[card]['callers']} callers a card")
    table.add_row(
        "Kafka's disk, each replica",
        f"{found.kafka_gigabytes:,.0f} GB",
        f"{CONVERSATION['kafka_megabytes']} MB",
        f"before compression, {KAFKA_DAYS} days at most",
    )
    console.print(table)


def _as_json(found: Sizing) -> dict[str, Any]:
    return {
        "hours": round(found.hours, 2),
        "conversations_an_hour": round(found.an_hour),
        "conversations_an_hour_and_gpu": round(found.on_gpu.conversations_an_hour),
        "output_tokens_a_second_and_gpu": round(found.on_gpu.output_rate),
        "reading_tokens_a_second_and_gpu": round(found.on_gpu.reading_rate),
        "parts": [{"name": part.name, "unit": part.unit, "needed": part.units(found.an_hour)} for part in PARTS],
        "in_flight": found.in_flight,
        "kafka_gigabytes": round(found.kafka_gigabytes, 1),
    }
