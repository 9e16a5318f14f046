from collections.abc import Callable
from pathlib import Path

import click
from rich.text import Text

from soliloquy.cli.command import Command
from soliloquy.cli.options import AS_JSON, EXISTING_FOLDER, Choice
from soliloquy.cli.terminal import answer, echo
from soliloquy.recipes.packages import known_recipes, load, part
from soliloquy.runtime.failure import Failure

# The recipe of each paper whose tables can be computed.
_RECIPES = {paper: name for name in known_recipes() if (paper := getattr(part(name, "replicate"), "PAPER", None))}
_PAPERS = sorted(_RECIPES)


@click.command(cls=Command)
@click.argument("paper", metavar="PAPER", type=Choice(_PAPERS), help=f"{', '.join(_PAPERS[:-1])} or {_PAPERS[-1]}.")
@click.argument("folder", metavar="DIR", type=EXISTING_FOLDER, help="The folder with the published files.")
def replicate(*, as_json: bool = AS_JSON, paper: str, folder: Path) -> int:
    """Compute a paper's tables from the data that its authors published.

    Each figure comes by the authors' definition, by ours from the same rows, and as the paper states it. Shares have
    95 % intervals. Missing files and unreadable rows are listed, and the exit status is then 1.
    """
    from soliloquy.cli.sandbox import run_here

    published = load(_RECIPES[paper], "replicate.tables:replicate", Callable)(folder, run_here)
    for line in published.refused:
        echo(line, err=True)
    if not published.read:
        raise Failure(f"{folder} holds nothing that can be read as what the authors of {paper} published")
    tables = [table.as_json() for table in published.tables]
    found = {"paper": paper, "rows": published.read, "tables": tables, "refused": published.refused}
    parts = (shown for table in published.tables for shown in (*table.shown(), ""))
    # Rich breaks lines of text where the terminal ends.
    answer(found, (Text(part) if isinstance(part, str) else part for part in parts), as_json=as_json)
    return 1 if published.refused else 0
