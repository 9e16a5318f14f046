"""`soliloquy size` and `prompts`: what conversations take, and what the prompts of a recipe are made of."""

import asyncio
import math
import re
from collections.abc import Iterator
from typing import Any

import click
from click.types import FuncParamType
from rich.table import Column, Table

from soliloquy.cli.command import Command, setting
from soliloquy.cli.options import AS_JSON, Choice
from soliloquy.cli.tables import table
from soliloquy.cli.terminal import answer
from soliloquy.recipes.packages import known_recipes
from soliloquy.runs.dry_run import own_sandboxes, rehearsed
from soliloquy.runs.plan import Plan, problems_of
from soliloquy.runs.sizing import CONVERSATION, GPUS, KAFKA_DAYS, PARTS, Card, kafka_gigabytes
from soliloquy.runtime.failure import Failure
from soliloquy.runtime.model.dialects import UNKNOWN, Dialect, dialects
from soliloquy.runtime.model.settings_file import shipped_models
from soliloquy.v1.conversation_pb2 import Conversation


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
    """Say what a number of conversations takes (hours, cores, pods, disk), and which part is the slowest.

    It multiplies the figures of soliloquy/runs/sizing.toml. They are for the recipe soliloquy and problems of the
    bank, with vLLM; longer conversations take more of everything.
    """
    # Few commands need the gateway.
    from soliloquy_services.gateway.requests import RUN_LIMITS

    one = Card.of(card, parameters)
    narrowest = min(PARTS, key=lambda part: part.most_an_hour)
    an_hour = min(gpus * one.conversations_an_hour, narrowest.most_an_hour)
    hours = conversations / an_hour
    busy = min(gpus, math.ceil(an_hour / one.conversations_an_hour))
    slowest, why = "cards", ""
    if narrowest.most_an_hour == an_hour:
        slowest = narrowest.name
        why = f": an installation has {narrowest.most} at most, which {busy:,} of the {gpus:,} cards keep busy"
    callers = GPUS[card]["callers"]
    in_flight = busy * callers
    a_run = {name: RUN_LIMITS[name]["most"] for name in ("conversations", "in_flight")}
    runs = max(math.ceil(conversations / a_run["conversations"]), math.ceil(in_flight / a_run["in_flight"]))
    disk = kafka_gigabytes(hours, an_hour)
    needed = {part: part.units(an_hour) for part in PARTS}
    parts = [{"name": part.name, "unit": part.unit, "needed": units} for part, units in needed.items()]
    found = {
        "hours": round(hours, 2),
        "conversations_an_hour": round(an_hour),
        "slowest": slowest,
        "conversations_an_hour_and_gpu": round(one.conversations_an_hour),
        "output_tokens_a_second_and_gpu": round(one.output_rate),
        "reading_tokens_a_second_and_gpu": round(one.reading_rate),
        "parts": parts,
        "in_flight": in_flight,
        "runs": runs,
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
        ("calls in flight", f"{in_flight:,}", "", f"{callers} callers a card, {busy:,} cards"),
        ("runs", f"{runs:,}", "", "of {conversations:,}, --in-flight {in_flight:,} at most".format(**a_run)),
        ("Kafka's disk, each replica", f"{disk:,.0f} GB", a_conversation, kept),
    ]
    line = f"{conversations:,} conversations: {hours:,.1f} hours, {an_hour:,.0f} an hour. Slowest: the {slowest}{why}."
    shown = table("", "needed", "a conversation, or one an hour", "from", rows=rows, align="left")
    answer(found, [line, shown], as_json=as_json)


# The conversations that are played where no dataset is given, and the bank of their problems.
_PLAYED = 20
_BANK = "arithmetic"


@click.command(cls=Command)
@click.argument("recipe", type=Choice(list(known_recipes())))
def prompts(
    *,
    folder: str | None = setting(
        f"A dataset of the recipe, whose prompts are replayed.  [default: {_PLAYED} scripted conversations]",
        "--dataset",
        metavar="DIR|URL",
    ),
    dialect: str = setting(
        "How the endpoint differs from OpenAI's API.",
        "--model-dialect",
        type=Choice(sorted(dialects())),
        default=UNKNOWN,
    ),
    as_json: bool = AS_JSON,
    recipe: str,
) -> None:
    """Show what the prompts of a recipe are made of, and how much of them a cache of prefixes holds.

    Each prompt is divided where it ceases to begin like others: other states of its role, its own state, its problem's,
    its conversation's; the rest is its own. Caches that hold prefixes of any length, from 128 tokens or from 1,024 on,
    see the conversations one after the other. Prompts are rebuilt from the recipe's present texts, tokens are
    estimated, and answers that were asked for again are left out. Without a dataset the scripted model plays some
    conversations first; so few fill a cache less than a run does.
    """
    from soliloquy.dataset.prompt_reuse import replayed

    conversations = _conversations(recipe, folder)
    known = dialects()[dialect]
    reuse = replayed(conversations, together="n" not in known.without)
    rows = [_row(name, reuse.role_of(name), use) for name, use in sorted(reuse.states.items())]
    told = {"states": rows, "total": _row("all", "", reuse.total), "cache": _marking(known)}
    answer(told, _shown(told), as_json=as_json)


def _conversations(recipe: str, folder: str | None) -> list[Conversation]:
    # It loads Arrow.
    from soliloquy.dataset.reading import Dataset

    if folder is None:
        return _played(recipe)
    found = [one for one in Dataset(folder).conversations() if one.run.recipe == recipe]
    if not found:
        raise Failure(f"{folder} holds no conversation of the recipe {recipe}: choose another --dataset")
    return found


def _played(recipe: str) -> list[Conversation]:
    source = problems_of(_BANK, recipe)
    plan = Plan.of(
        recipe,
        source,
        problems=_BANK,
        models=shipped_models(),
        conversations=_PLAYED,
        seed=0,
        noise="none",
        max_turns=20,
        max_attempts=10,
        workers=1,
        in_flight=_PLAYED,
        latency=0.0,
    )

    async def played() -> list[Conversation]:
        async with own_sandboxes() as sandbox:
            judged = await rehearsed(plan, source, sandbox, _PLAYED)
        return [conversation for conversation, is_accepted in judged if is_accepted]

    return asyncio.run(played())


def _row(state: str, role: str, use: Any) -> dict[str, Any]:
    from soliloquy.dataset.prompt_reuse import PARTS, RULES, share

    return {
        "state": state,
        "role": role,
        "prompts": use.prompts,
        "tokens": use.tokens,
        "parts": {part: use.parts[part] for part in PARTS},
        "held": {str(rule): round(share(use, rule), 4) for rule in RULES},
    }


def _marking(dialect: Dialect) -> str:
    """Returns what requests of this dialect tell a cache."""
    marks = f"cache_control for models {dialect.cache_marks}" if dialect.cache_marks else ""
    if dialect.batches == "messages":
        marks = "cache_control behind the rules, in batches; nothing otherwise"
    return "prompt_cache_key" if dialect.cache_key else marks or "nothing: the endpoint finds what it has cached"


def _shown(told: dict[str, Any]) -> Iterator[object]:
    rules = [f"≥{rule}" for rule in told["total"]["held"]]
    names = ("prompts", "tokens", "rules", "problem", "talk", "own", *rules)
    heads = (Column(name, no_wrap=True, justify="right") for name in names)
    shown = Table(Column("prompt", no_wrap=True), *heads, box=None, pad_edge=False, header_style="dim")
    for row in (*told["states"], told["total"]):
        parts = row["parts"]
        counts = (row["tokens"], parts["role"] + parts["state"], parts["problem"], parts["conversation"], parts["own"])
        each = [f"{tokens / row['prompts']:,.0f}" for tokens in counts]
        held = [f"{share:.1%}" for share in row["held"].values()]
        shown.add_row(row["state"].partition("/")[2] or row["state"], f"{row['prompts']:,}", *each, *held)
    yield shown
    yield ("Tokens of a prompt by what begins like it, and the share that a cache holds of those with so many tokens.")
    yield (f"Requests tell a cache: {told['cache']}")
