import re

import click
from click.types import FuncParamType

from soliloquy.cli.command import Command, setting
from soliloquy.cli.options import AS_JSON, Choice
from soliloquy.cli.tables import table
from soliloquy.cli.terminal import answer
from soliloquy.runs.sizing import CONVERSATION, GPUS, KAFKA_DAYS, PARTS, Card, kafka_gigabytes


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
    one = Card.of(card, parameters)
    an_hour = gpus * one.conversations_an_hour
    hours = conversations / an_hour
    callers = GPUS[card]["callers"]
    disk = kafka_gigabytes(hours, an_hour)
    needed = {part: part.units(an_hour) for part in PARTS}
    parts = [{"name": part.name, "unit": part.unit, "needed": units} for part, units in needed.items()]
    found = {
        "hours": round(hours, 2),
        "conversations_an_hour": round(an_hour),
        "conversations_an_hour_and_gpu": round(one.conversations_an_hour),
        "output_tokens_a_second_and_gpu": round(one.output_rate),
        "reading_tokens_a_second_and_gpu": round(one.reading_rate),
        "parts": parts,
        "in_flight": gpus * callers,
        "kafka_gigabytes": round(disk, 1),
    }
    speed = (
        f"{one.writing_seconds:.3f} s to write {CONVERSATION['output_tokens']:,} tokens at {one.output_rate:,.0f}/s, "
        f"{one.reading_seconds:.3f} s to read {CONVERSATION['uncached_share']:.0%} of "
        f"{CONVERSATION['input_tokens']:,} at {one.reading_rate:,.0f}/s"
    )
    model = f"{GPUS[card]['name']}, a model of {parameters:g}b"
    a_conversation = f"{CONVERSATION['kafka_megabytes']} MB"
    kept = f"before compression, {KAFKA_DAYS} days at most"
    rows = [
        (model, f"{gpus:,}", f"{one.conversations_an_hour:,.0f} an hour", speed),
        *(
            (part.name, f"{units:,} {part.unit}{'s' * (units != 1)}", f"{part.an_hour:,} an hour", part.measured)
            for part, units in needed.items()
        ),
        ("calls in flight", f"--in-flight {gpus * callers:,}", "", f"{callers} callers a card"),
        ("Kafka's disk, each replica", f"{disk:,.0f} GB", a_conversation, kept),
    ]
    line = f"{conversations:,} conversations: {hours:,.1f} hours, {an_hour:,.0f} an hour"
    shown = table("", "needed", "a conversation, or one an hour", "from", rows=rows, align="left")
    answer(found, [line, shown], as_json=as_json)
