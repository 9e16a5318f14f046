from pathlib import Path

import click

from soliloquy.cli.command import Command, setting
from soliloquy.cli.options import ANY_PATH, AS_JSON, writing_to
from soliloquy.cli.parameters import Choice
from soliloquy.cli.terminal import answer, echo
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
def export(
    *,
    name: str = setting("The format to write.", "--format", type=Choice(NAMES)),
    out: Path = setting("The file to write, or a folder for --splits, hf and preferences.", type=ANY_PATH),
    splits: str | None = setting(
        "Write several files, e.g. train=0.9,test=0.1, split by problem.", metavar="NAME=SHARE,.."
    ),
    leave_out: tuple[str, ...] = setting("A part to leave out; may be repeated.", type=Choice(list(PARTS))),
    uncertain: bool = setting("Also export preferences of rules that read, and may be wrong."),
    rejected: bool = setting("Export the rejected conversations instead."),
    as_json: bool = AS_JSON,
    folder: str,
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
    written = ", ".join(f"{part} {rows}" for part, rows in counts.written.items())
    line = f"{counts.written.total()} rows in {out}" + (f": {written}" if len(counts.written) > 1 else "")
    found = {"written": counts.written, "left_out": counts.left_out, "empty": list(form.empty)}
    answer(found, [line], as_json=as_json)
    if counts.left_out and not as_json:
        echo(f"{counts.left_out} left out: {name} requires {form.wants}", err=True)
    if form.empty and not as_json:
        echo(f"empty fields: {', '.join(form.empty)}", err=True)
