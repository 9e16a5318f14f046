"""`soliloquy init`: asks what to generate and writes the run file."""

import asyncio
import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from soliloquy.cli.command import Command, setting
from soliloquy.cli.options import COUNT, NEW_FILE, PLACE, Choice
from soliloquy.cli.terminal import echo
from soliloquy.problems.sources import problem_source
from soliloquy.recipes.packages import DEFAULT, known_recipes
from soliloquy.runs.dry_run import PILOT
from soliloquy.runs.plan import problems_of, require_playable
from soliloquy.runtime.failure import Failure
from soliloquy.runtime.model.settings_file import MODELS, checked_endpoint, shipped_models

T = TypeVar("T")

STAND_IN = "stand-in"
_RECIPES = Choice(list(known_recipes()))


@click.command(cls=Command)
@click.argument("file", metavar="[FILE]", default="run.toml", type=NEW_FILE)
def init(
    *,
    problems: str | None = setting("A bank's name or a JSONL file.  [default: physics]", metavar="BANK|FILE"),
    endpoint: str | None = setting(
        f"An OpenAI-compatible API, or {STAND_IN}, which needs no model.  [default: {STAND_IN}]", metavar="URL"
    ),
    model_name: str | None = setting("The name of the model at --endpoint.", metavar="NAME"),
    recipe: str | None = setting(f"The paper whose conversations it generates.  [default: {DEFAULT}]", type=_RECIPES),
    conversations: int | None = setting("Accepted conversations wanted.  [default: 50]", type=COUNT),
    out: str | None = setting("Folder of the dataset.  [default: dataset]", metavar="DIR|URL"),
    file: Path,
) -> None:
    """Ask what to generate, and write a run file.

    Asks for what no option says; without a terminal, takes the defaults. Before it writes FILE, it reads the problems
    and tries the prompts on the endpoint, whose key is in OPENAI_API_KEY.
    """
    problems = _ask(problems, "Problems: a bank (physics, algebra, ..) or your own file", "physics", _problems)
    endpoint = _ask(endpoint, f"Model: {STAND_IN}, or the URL of an OpenAI-compatible API", STAND_IN, _endpoint)
    if endpoint != STAND_IN:
        model_name = _ask(model_name, "Its name there", None, str)
    elif model_name:
        raise click.UsageError("--model-name requires --endpoint URL")
    recipe = _ask(recipe, f"Recipe: {', '.join(_RECIPES.choices)}", DEFAULT, _of(_RECIPES))
    conversations = _ask(conversations, "Number of conversations", 50, _of(COUNT))
    out = _ask(out, "Folder of the dataset", "dataset", _out)
    source = problems_of(problems, recipe, tell=lambda line: echo(line, err=True))
    models = ""
    if endpoint == STAND_IN:
        require_playable(shipped_models(), source, recipe)
    else:
        # It loads what asks an endpoint.
        from soliloquy.runs.probing import probe_endpoint

        echo(f"trying the prompts of {recipe} on {endpoint}: about a dozen answers", err=True)
        probed = asyncio.run(probe_endpoint(endpoint, str(model_name), recipe, problems))
        models = re.sub(r"^\[", f"[{MODELS}.", f"\n{probed.settings}", flags=re.MULTILINE)
    options = {"problems": problems, "recipe": recipe, "conversations": conversations, "out": out}
    lines = [f"{name} = {json.dumps(value, ensure_ascii=False)}\n" for name, value in options.items()]
    file.write_text("".join(lines) + models, "utf-8")
    echo(f"wrote {file}")
    if models and conversations > PILOT:
        echo(f"See what it would take: soliloquy generate {file} --dry-run")
    echo(f"Run it: soliloquy generate {file}")


def _ask(given: Any, question: str, default: Any, check: Callable[[Any], T]) -> T:
    """Returns the option, or the answer of a person, who is asked again until it can be used."""
    if given is not None or not sys.stdin.isatty():
        if given is None and default is None:
            raise click.UsageError("--endpoint URL requires --model-name")
        return check(default if given is None else given)

    def checked(answer: Any) -> T:
        try:
            return check(answer)
        except Failure as failure:
            raise click.UsageError(str(failure)) from failure

    answer: T = click.prompt(question, default=default, value_proc=checked, err=True)
    return answer


def _of(kind: click.ParamType[T]) -> Callable[[Any], T]:
    return lambda answer: kind(answer)


def _problems(answer: str) -> str:
    problem_source(answer)
    return answer


def _endpoint(answer: str) -> str:
    if answer != STAND_IN:
        checked_endpoint({"engine": "openai", "base_url": answer}, "endpoint")
    return answer


def _out(answer: str) -> str:
    PLACE(answer)
    return answer
