"""`soliloquy export`."""

import json
from pathlib import Path

import click

from soliloquy.cli.command import Command
from soliloquy.cli.errors import writing_to
from soliloquy.cli.options import AS_JSON
from soliloquy.cli.parameters import Choice
from soliloquy.cli.terminal import echo
from soliloquy.dataset.exports.exporting import ExportCounts
from soliloquy.dataset.exports.exporting import export as export_dataset
from soliloquy.dataset.exports.format import NAMES, PARTS, ExportOptions, find
from soliloquy.dataset.exports.splitting import InvalidSplits, Splits
from soliloquy.dataset.reading import Dataset
from soliloquy.runtime.extensions import BadPackage


class CommandOfFormats(Command):
    """Lists the formats in its help; only the help imports them all."""

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        super().format_help_text(ctx, formatter)
        with formatter.section("Formats"):
            formatter.write_dl([(name, _description(name)) for name in NAMES])


def _description(name: str) -> str:
    try:
        form = find(name)
    except BadPackage as bad:
        return str(bad)
    return f"{form.title} ({', '.join(form.suffixes)})" if form.suffixes else form.title


@click.command(cls=CommandOfFormats)
@click.argument("folder", metavar="DIR|URL")
@click.option("--format", "name", required=True, type=Choice(NAMES), help="The format to write.")
@click.option(
    "--out",
    required=True,
    type=click.Path(path_type=Path),
    help="The file to write, or a folder for --splits, hf and preferences.",
)
@click.option(
    "--splits", metavar="NAME=SHARE,..", help="Write several files, e.g. train=0.9,test=0.1, split by problem."
)
@click.option(
    "--leave-out",
    "leave_out",
    multiple=True,
    type=Choice(list(PARTS)),
    help="A part to leave out; may be repeated.",
)
@click.option("--uncertain", is_flag=True, help="Also export preferences of rules that read, and may be wrong.")
@click.option("--rejected", is_flag=True, help="Export the rejected conversations instead.")
@AS_JSON
def export(
    *,
    folder: str,
    name: str,
    out: Path,
    splits: str | None,
    leave_out: tuple[str, ...],
    uncertain: bool,
    rejected: bool,
    as_json: bool,
) -> None:
    """Write a dataset in another format.

    All conversations about a problem go to the same split. The parts for --leave-out are prompts (the system message),
    solutions, thoughts (of the tutor, with its codes), labels (drawn for the student), raw (the models' answers) and
    hidden (all but the problem and what is said).
    """
    form = find(name)
    if uncertain and not getattr(form, "has_evidence", False):
        raise click.UsageError("--uncertain requires --format preferences")
    parts = {*leave_out} - (set() if form.holds_hidden else {"hidden"})
    choice = ExportOptions(parts, uncertain=uncertain)
    try:
        shares = Splits.read(splits) if splits else None
    except InvalidSplits as bad:
        raise click.UsageError(f"--splits: {bad}") from bad
    with writing_to(out):
        counts = export_dataset(Dataset(folder), name, out, choice=choice, shares=shares, rejected=rejected)
    if as_json:
        echo(json.dumps({"written": counts.written, "left_out": counts.left_out, "empty": list(form.empty)}))
        return
    _print(counts, name, out)


def _print(counts: ExportCounts, name: str, out: Path) -> None:
    parts = ", ".join(f"{part} {rows}" for part, rows in counts.written.items())
    echo(f"{counts.written.total()} rows in {out}" + (f": {parts}" if len(counts.written) > 1 else ""))
    if counts.left_out:
        echo(f"{counts.left_out} left out: {name} requires {find(name).wants}", err=True)
    if find(name).empty:
        echo(f"empty fields: {', '.join(find(name).empty)}", err=True)
