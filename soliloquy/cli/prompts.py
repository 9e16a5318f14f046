import asyncio
from collections.abc import Iterator
from typing import Any

import click
from rich.table import Column, Table

from soliloquy.cli.command import Command, setting
from soliloquy.cli.options import AS_JSON, Choice
from soliloquy.cli.terminal import answer
from soliloquy.recipes.packages import known_recipes
from soliloquy.runs.plan import Plan, problems_of
from soliloquy.runs.rehearsal import own_sandboxes, rehearsed
from soliloquy.runtime.failure import Failure
from soliloquy.runtime.model.dialects import UNKNOWN, Dialect, dialects
from soliloquy.runtime.model.settings_file import shipped_models
from soliloquy.v1.conversation_pb2 import Conversation

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
