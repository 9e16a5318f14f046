import asyncio
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from soliloquy.cli.command import Command, setting
from soliloquy.cli.options import AS_JSON, NEW_FILE, Choice
from soliloquy.cli.tables import facts, short
from soliloquy.cli.terminal import answer
from soliloquy.recipes.packages import DEFAULT, known_recipes
from soliloquy.runs.probing import Probe, probe_endpoint
from soliloquy.v1.conversation_pb2 import ParseOutcome

_SHOWN_CHARACTERS = 240


@click.command(cls=Command)
def probe(
    *,
    base_url: str = setting("The API. Its key is in OPENAI_API_KEY.", metavar="URL"),
    model_name: str = setting("The name of the model at the endpoint.", metavar="NAME"),
    recipe: str = setting("The recipe whose prompts it tries.", default=DEFAULT, type=Choice(list(known_recipes()))),
    problems: str = setting("The problems in the prompts.", default="physics", metavar="BANK|FILE"),
    out: Path | None = setting("Write the settings to this file, for --model-settings.", type=NEW_FILE),
    as_json: bool = AS_JSON,
) -> None:
    """Find out what an endpoint can do, and try each prompt of a recipe on it.

    It prints what the endpoint supports and refuses, each prompt's answer and how it was read, and settings for
    --model-settings. It asks for about a dozen answers; the other speakers of the conversations are scripted.
    """
    found = asyncio.run(probe_endpoint(base_url, model_name, recipe, problems))
    if out:
        out.write_text(found.settings, "utf-8")
    prompts = [_told(found, number) for number in range(len(found.trials))]
    told = asdict(found.facts) | {"refuses": ", ".join(found.facts.refuses) or "nothing"}
    lines = ["\n".join(["", *_lines(prompt)]) for prompt in prompts]
    data = {"facts": asdict(found.facts), "prompts": prompts, "settings": found.settings}
    answer(data, [facts(told), *lines, f"\n{found.settings}".rstrip()], as_json=as_json)


def _told(found: Probe, number: int) -> dict[str, Any]:
    trial = found.trials[number]
    call = trial.call
    return {
        "prompt": call.prompt,
        "role": call.role,
        "outcome": ParseOutcome.Name(call.outcome).removeprefix("PARSE_OUTCOME_").lower(),
        "schema": found.forms[call.prompt],
        "seconds": round(call.seconds, 2),
        "prompt_tokens": call.prompt_tokens,
        "completion_tokens": call.completion_tokens,
        "reasoning_tokens": call.reasoning_tokens,
        "answers": list(call.raw),
        "reasoning": list(call.reasoning),
        "complaints": trial.complaints,
    }


def _lines(prompt: Mapping[str, Any]) -> Iterator[str]:
    tokens = f"{prompt['prompt_tokens']} + {prompt['completion_tokens']} tokens"
    yield f"{prompt['prompt']}: {prompt['outcome']}, {prompt['schema']}, {prompt['seconds']} s, {tokens}"
    for thought in filter(None, prompt["reasoning"]):
        yield f"  thought   {short(thought, _SHOWN_CHARACTERS)}"
    for number, answered in enumerate(prompt["answers"]):
        yield f"  answered  {short(answered, _SHOWN_CHARACTERS)}"
        if number < len(prompt["complaints"]):
            yield f"  was told  {short(prompt['complaints'][number], _SHOWN_CHARACTERS)}"
