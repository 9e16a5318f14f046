"""`soliloquy init`: asks what to generate and writes the run file."""

import asyncio
import json
import re
import sys
from collections.abc import Callable
from pathlib import Path

import click
from click.types import FuncParamType

from soliloquy.cli.command import Command, setting
from soliloquy.cli.options import COUNT, NEW_FILE, PLACE, Choice
from soliloquy.cli.terminal import echo
from soliloquy.problems.sources import problem_source
from soliloquy.recipes.calls import USABLE
from soliloquy.recipes.packages import DEFAULT, known_recipes
from soliloquy.runs.dry_run import PILOT
from soliloquy.runs.plan import problems_of, require_playable
from soliloquy.runtime.failure import Failure
from soliloquy.runtime.model.settings_file import MODELS, checked_endpoint, shipped_models

STAND_IN = "stand-in"


def _asked(question: str) -> str | bool:
    """Returns the prompt of an option; without a terminal, nobody is asked."""
    return sys.stdin.isatty() and question


def _checked(check: Callable[[str], object]) -> click.ParamType[str]:
    """Lets a person answer again where a check fails."""

    def convert(value: str) -> str:
        try:
            check(value)
        except Failure as failure:
            raise click.BadParameter(str(failure)) from failure
        return value

    return FuncParamType(convert)


def _check_endpoint(value: str) -> None:
    if value != STAND_IN:
        checked_endpoint({"engine": "openai", "base_url": value}, "endpoint")


@click.command(cls=Command)
@click.argument("file", metavar="[FILE]", default="run.toml", type=NEW_FILE)
def init(
    *,
    problems: str = setting(
        "A bank's name or a JSONL file.",
        default="physics",
        metavar="BANK|FILE",
        type=_checked(problem_source),
        prompt=_asked("Problems: a bank (physics, algebra, ..) or a file of your own"),
    ),
    endpoint: str = setting(
        f"An OpenAI-compatible API, or {STAND_IN}, which needs no model.",
        default=STAND_IN,
        metavar="URL",
        type=_checked(_check_endpoint),
        prompt=_asked(f"Model: {STAND_IN}, or the URL of an OpenAI-compatible API"),
    ),
    model_name: str | None = setting("The name of the model at --endpoint.", metavar="NAME"),
    recipe: str = setting(
        "The paper whose conversations it generates.",
        default=DEFAULT,
        type=Choice(list(known_recipes())),
        prompt=_asked("Recipe"),
    ),
    conversations: int = setting(
        "Accepted conversations wanted.", default=50, type=COUNT, prompt=_asked("Number of conversations")
    ),
    out: str = setting(
        "Folder of the dataset.",
        default="dataset",
        metavar="DIR|URL",
        type=_checked(PLACE),
        prompt=_asked("Folder of the dataset"),
    ),
    file: Path,
) -> None:
    """Ask what to generate, and write a run file.

    Asks for what no option says; without a terminal, takes the defaults. Before it writes FILE, it reads the problems
    and tries the prompts on the endpoint, whose key is in OPENAI_API_KEY.
    """
    if endpoint == STAND_IN and model_name:
        raise click.UsageError("--model-name requires --endpoint URL")
    if endpoint != STAND_IN and not model_name:
        if not sys.stdin.isatty():
            raise click.UsageError("--endpoint URL requires --model-name")
        model_name = click.prompt("Name of the model there")
    source = problems_of(problems, recipe, tell=lambda line: echo(line, err=True))
    models = ""
    if endpoint == STAND_IN:
        require_playable(shipped_models(), source, recipe)
    else:
        # It loads what asks an endpoint.
        from soliloquy.runs.probing import probe_endpoint

        echo(f"trying the prompts of {recipe} on {endpoint}: about a dozen answers", err=True)
        probed = asyncio.run(probe_endpoint(endpoint, str(model_name), recipe, problems))
        if failed := [trial.call.prompt for trial in probed.trials if trial.call.outcome not in USABLE]:
            told = f"no answer of {model_name} to {len(failed)} of {len(probed.trials)} prompts can be used"
            shown = (
                f"soliloquy model probe --base-url {endpoint} --model-name {model_name} --recipe {recipe} shows them"
            )
            echo(f"{told} ({', '.join(failed)}): {shown}", err=True)
        models = re.sub(r"^\[", f"[{MODELS}.", f"\n{probed.settings}", flags=re.MULTILINE)
    options = {"problems": problems, "recipe": recipe, "conversations": conversations, "out": out}
    lines = [f"{name} = {json.dumps(value, ensure_ascii=False)}\n" for name, value in options.items()]
    file.write_text("".join(lines) + models, "utf-8")
    echo(f"wrote {file}")
    if source.count and conversations >= 2 * source.count:
        repeated = f"each is talked through about {conversations / source.count:.0f} times, by other students"
        echo(f"{conversations} conversations about {source.count} of your problems: {repeated}")
    if models and conversations > PILOT:
        echo(f"See what it would take: soliloquy generate {file} --dry-run")
    echo(f"Run it: soliloquy generate {file}")
