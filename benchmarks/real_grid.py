"""Lets pretrained models play each recipe, in cells that resume: `python -m benchmarks.real_grid FOLDER`."""

import itertools
import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from benchmarks.real_servers import SERVERS, Served
from soliloquy.cli.generate import INCOMPLETE

_SOLILOQUY = Path(sys.executable).with_name("soliloquy")
ROLES: Mapping[str, Sequence[str]] = {
    "soliloquy": ("planner", "student", "tutor", "codegen", "composer"),
    "scaffold": ("planner", "student", "tutor", "codegen", "composer"),
    "mathdial": ("planner", "student", "tutor", "codegen", "composer"),
    # Nobody talks: one role writes problems with their programs, and the other judges them.
    "mathwell": ("codegen", "composer"),
}
_PROBLEMS = {"soliloquy": "physics"}
ALL = "all"
# An answer that takes longer than a small machine's hangs.
_ANSWER_SECONDS = 900
_CELL_SECONDS = 3 * 3600


@dataclass(frozen=True, kw_only=True, slots=True)
class Cell:
    recipe: str
    # The role that the real model has, or all.
    role: str
    grammar: bool

    @property
    def name(self) -> str:
        return f"{self.recipe}-{self.role}-{'grammar' if self.grammar else 'free'}"

    def settings(self, served: Served) -> str:
        lines = [f'endpoint = "{"real" if self.role == ALL else "scripted"}"', "[endpoints.real]", 'engine = "openai"']
        lines += [f'base_url = "{served.url}"', f'model = "{served.model}"', f"timeout = {_ANSWER_SECONDS}"]
        lines += [f'schema = "{"json_schema" if self.grammar else "none"}"']
        if self.role != ALL:
            lines += ["[endpoints.scripted]", 'engine = "scripted"', f"[roles.{self.role}]", 'endpoint = "real"']
        return "\n".join(lines) + "\n"


def cells(recipes: Sequence[str], *, mixtures: bool) -> Iterator[Cell]:
    """Yields first the cells that tell most."""
    for is_mixed, grammar in itertools.product((False, True) if mixtures else (False,), (True, False)):
        for recipe in recipes:
            for role in ROLES[recipe] if is_mixed else (ALL,):
                yield Cell(recipe=recipe, role=role, grammar=grammar)


@click.command()
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path))
@click.option("--conversations", default=5, show_default=True, help="Conversations wanted in each cell.")
@click.option("--max-turns", default=8, show_default=True, help="Turns of a conversation.")
@click.option("--server", "servers", multiple=True, type=click.Choice(list(SERVERS)), help="Only this server.")
@click.option("--recipe", "recipes", multiple=True, type=click.Choice(list(ROLES)), help="Only this recipe.")
def grid(*, folder: Path, conversations: int, max_turns: int, servers: Sequence[str], recipes: Sequence[str]) -> None:
    """Serve each model, probe it, and generate a dataset in each cell that has none.

    The first server has all cells; the others those in which the model has all roles.
    """
    # The server ends with the grid.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    folder = folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    for server in servers or list(SERVERS):
        own = folder / server
        wanted = list(cells(recipes or list(ROLES), mixtures=server == next(iter(SERVERS))))
        open_cells = [cell for cell in wanted if not (own / cell.name / "manifest.json").exists()]
        if not open_cells and (own / "probe.json").exists():
            continue
        with SERVERS[server](folder) as served:
            for cell in open_cells:
                _generate(own, cell, served, conversations, max_turns)
            _probe(own, served)


def _probe(own: Path, served: Served) -> None:
    command = [_SOLILOQUY, "model", "probe", "--base-url", served.url, "--model-name", served.model, "--json"]
    began = time.monotonic()
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, timeout=_CELL_SECONDS, check=False)
    if done.returncode:
        raise SystemExit(f"the probe of {own.name} ended with status {done.returncode}: {done.stderr.strip()}")
    (own / "probe.json").write_text(done.stdout, "utf-8")
    click.echo(f"{own.name}: probed in {time.monotonic() - began:.0f} s")


def _generate(own: Path, cell: Cell, served: Served, conversations: int, max_turns: int) -> None:
    own.mkdir(parents=True, exist_ok=True)
    dataset, settings = own / cell.name, own / f"{cell.name}.toml"
    settings.write_text(cell.settings(served), "utf-8")
    command = [_SOLILOQUY, "generate", "--recipe", cell.recipe, "--problems", _PROBLEMS.get(cell.recipe, "arithmetic")]
    command += ["--conversations", conversations, "--in-flight", conversations, "--max-attempts", 1]
    command += ["--seed", 53, "--model-settings", settings, "--out", dataset, "--json"]
    command += ["--enrich"] if (cell.recipe, cell.role) == ("soliloquy", "planner") else []
    command += [] if cell.recipe == "mathwell" else ["--max-turns", max_turns]
    began = time.monotonic()
    # A run has an end, whatever its models say: one without ends the grid.
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, timeout=_CELL_SECONDS, check=False)
    if done.returncode not in (0, INCOMPLETE) or not done.stdout.strip():
        raise SystemExit(f"{dataset} ended with status {done.returncode}: {done.stderr.strip()[-2000:]}")
    report = json.loads(done.stdout)
    counted = f"{report['accepted']} accepted, {report['rejected']} rejected"
    click.echo(f"{own.name}: {cell.name}: {counted} in {time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    grid()
