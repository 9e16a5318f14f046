"""`python -m benchmarks forecast`."""

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from benchmarks.command import AS_JSON, generated, status_line, table

_BANKS = {"soliloquy": "physics", "mathdial": "arithmetic", "scaffold": "arithmetic"}
# Dollars for a million tokens, as hosted models cost.
_MODELS = """
[endpoints.hosted]
engine = "openai"
base_url = "{url}"
model = "scripted"
prompt_price = 2.5
cached_price = 0.25
completion_price = 10.0
"""


@click.command()
@click.option("--recipe", "recipes", multiple=True, type=click.Choice(sorted(_BANKS)), default=["scaffold"])
@click.option("--conversations", default=1000, show_default=True, type=click.IntRange(min=11))
@click.option("--latency", default="1s", show_default=True, help="Of each answer of the endpoint.")
@click.option("--seed", default=5, show_default=True, type=int)
@AS_JSON
def forecast(*, recipes: Sequence[str], conversations: int, latency: str, seed: int, as_json: bool) -> None:
    """Compare what `generate --dry-run` foretells from ten conversations with what the run takes.

    The endpoint is the one of the tests, with a cache of prefixes from 1,024 tokens on. A machine that cannot keep up
    with it makes the run longer than is foretold.
    """
    figures: dict[str, dict[str, dict[str, float]]] = {}
    with tempfile.TemporaryDirectory() as folder, status_line() as tell:
        for recipe in recipes:
            with endpoint(latency) as url:
                models = Path(folder) / f"{recipe}.toml"
                models.write_text(_MODELS.format(url=url), "utf-8")
                command = ["--recipe", recipe, "--problems", _BANKS[recipe], "--conversations", str(conversations)]
                command += ["--seed", str(seed), "--model-settings", str(models), "--json"]
                tell(f"{recipe}: ten conversations")
                told = json.loads(generated([*command, "--out", f"{folder}/{recipe}-pilot", "--dry-run"]))
                tell(f"{recipe}: {conversations} conversations")
                run = json.loads(generated([*command, "--out", f"{folder}/{recipe}"]))
                figures[recipe] = _compared(told, run)
    if as_json:
        click.echo(json.dumps(figures))
        return
    made = table("recipe", "figure", "foretold", "from", "to", "was", "off")
    for recipe, found in figures.items():
        for name, one in found.items():
            numbers = [f"{one[part]:,.4g}" for part in ("expected", "low", "high", "was")]
            made.add_row(recipe, name, *numbers, f"{one['off']:+.1%}")
    Console().print(made)


@contextmanager
def endpoint(latency: str) -> Iterator[str]:
    command = [sys.executable, "-m", "benchmarks.endpoint", "--prefix-cache", "1024", "--latency", latency]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr
        try:
            said = process.stderr.readline().strip()
            if not said.startswith("ready"):
                raise click.ClickException(f"the endpoint does not start: {said or 'it says nothing'}")
            yield said.split()[-1]
        finally:
            process.terminate()


def _compared(told: Any, run: Any) -> dict[str, dict[str, float]]:
    tokens = run["tokens"]
    was = {
        "prompt_tokens": tokens["prompt"],
        "cached_tokens": tokens["cached"],
        "completion_tokens": tokens["completion"],
        "dollars": run["cost"],
        "seconds": run["seconds"],
    }
    return {name: {**told[name], "was": was[name], "off": told[name]["expected"] / was[name] - 1} for name in was}
