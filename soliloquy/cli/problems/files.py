"""`soliloquy problems import`, `check`, `dedupe` and `split`: problem files and those of others."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import click

from soliloquy.cli.command import Command, setting
from soliloquy.cli.options import (
    ANY_PATH,
    AS_JSON,
    COUNT,
    NEW_FOLDER,
    PROBLEM_FILE_OUT,
    SEED,
    Choice,
    real,
    writing_to,
)
from soliloquy.cli.service_options import LANGUAGE
from soliloquy.cli.terminal import answer, echo
from soliloquy.problems.bank.bank import FAMILIES, bank_names
from soliloquy.problems.files.importing import NothingUsable, import_problems
from soliloquy.problems.files.problem_file import problem_faults, read_problems
from soliloquy.problems.files.reading.rows import RefusedRow
from soliloquy.problems.files.source_format import NAMES, format_names, format_of, load_format
from soliloquy.problems.sifting import split as sifting
from soliloquy.problems.sifting.sampling import TRAIN_SHARE
from soliloquy.problems.sifting.split import SplitShares
from soliloquy.problems.use import Use, use_of
from soliloquy.recipes.packages import known_recipes
from soliloquy.recipes.recipe import find
from soliloquy.runtime.failure import Failure
from soliloquy.runtime.files import refuse_foreign
from soliloquy.standin.speakers import FORESEEN, why_unusable

# Their column may have a comma in its name.
_NEXT_COLUMN = re.compile(rf",(?=\s*(?:{'|'.join(NAMES)})\s*=)")


@click.command("import", cls=Command)
@click.argument("source", metavar="FILE|FOLDER", type=ANY_PATH)
def import_(
    *,
    format_name: str | None = setting(
        "The format of the source.  [default: csv, jsonl or parquet by its suffix, or datasets]",
        "--as",
        type=Choice(format_names()),
    ),
    out: Path = PROBLEM_FILE_OUT,
    columns: tuple[str, ...] = setting(
        f"Map our columns to theirs; ours: {', '.join(NAMES)}.", metavar="OURS=THEIRS,.."
    ),
    strict: bool = setting("Fail if any row cannot be used."),
    keep_repeats: bool = setting("Keep further rows of the same problem, for `problems split`."),
    language: str | None = LANGUAGE,
    as_json: bool = AS_JSON,
    source: Path,
) -> int:
    """Convert problems into a problem file.

    Rows that cannot be used, or that repeat an earlier question or id, are left out and reported with line, field and
    reason; the exit status is 1 if any cannot be used. A row is unverified if a part of its solution cannot be read,
    which is reported. An answer that cannot be read as a number is reported and kept as text. Columns that the problem
    file has no field for are kept under `extra`.
    """
    source_format = load_format(format_name or format_of(source)).with_columns(_column_map(columns))
    options: dict[str, Any] = {"strict": strict, "keep_repeats": keep_repeats, "language": language or ""}
    try:
        with writing_to(out):
            counts = import_problems(source, out, source_format, **options, report=_report, report_unread=_report)
    except NothingUsable as nothing:
        counts = nothing.counts
        echo(f"soliloquy: {source}: {nothing}; nothing was written", err=True)
    lines = []
    if counts.written:
        repeats = "repeats kept" if keep_repeats else "repeats left out"
        unread = f", unverified: {counts.unread}" if counts.unread else ""
        worded = f", answers kept as text: {counts.text_answers}" if counts.text_answers else ""
        rows = f"rows refused: {counts.refused}, {repeats}: {counts.repeated}{unread}{worded}"
        lines.append(f"{counts.written} problems in {out}; {rows}")
    answer(asdict(counts), lines, as_json=as_json)
    return 1 if counts.refused or not counts.written else 0


def _column_map(given: tuple[str, ...]) -> dict[str, str]:
    columns: dict[str, str] = {}
    for pair in (pair for text in given for pair in _NEXT_COLUMN.split(text)):
        ours, _, theirs = pair.partition("=")
        if ours.strip() not in NAMES or not theirs.strip():
            raise click.UsageError(
                f"invalid --columns {pair!r}: use OURS=THEIRS, with one of our columns: {', '.join(NAMES)}"
            )
        columns[ours.strip()] = theirs.strip()
    return columns


def _report(complaint: RefusedRow | str) -> None:
    echo(complaint, err=True)


# Problems to draw from each family.
_DRAWS = 200


@click.command(cls=Command)
@click.argument("source", metavar="BANK|FILE|FOLDER")
def check(*, language: str | None = LANGUAGE, as_json: bool = AS_JSON, source: str) -> int:
    """Check the families of a bank or folder, or the problems of a file.

    A family is a TOML file, in a folder named for its topic. Checks its laws, units, numbers, mistakes and texts with
    many drawn problems, and at both ends of its ranges. In a file each number of a solution needs a source: the
    question, an earlier result, or a constant with its role. One that contradicts its source is a fault; how many
    others are open is said with the first of them. Of a file it also says how many problems each recipe cannot use,
    and why; with --json each of them by its place.
    """
    path = FAMILIES / source if source in bank_names() else Path(source)
    if not path.exists():
        raise Failure(
            f"{source!r} is neither a file, nor a folder, nor a bank: the banks are {', '.join(bank_names())}"
        )
    families = _families(path)
    if not families and path.is_dir():
        raise Failure(f"{source} holds no families: they are TOML files, in a folder for each topic")
    doubts: list[str] = []
    spoken = language or ""
    found = [*_family_faults(families, path)] if families else [*problem_faults(path, doubts.append, spoken)]
    uses = {} if families or found else dict(_uses(path, spoken))
    lines = [*found, *doubts]
    if not found:
        unread = f" that could be read; problems whose answer is open: {len(doubts)}" if doubts else ""
        checked = f"{len(families)} families, no faults" if families else "no faults in the arithmetic"
        lines.append(f"{source}: {checked}{unread}")
        if not families:
            lines.append(
                f"not checked: whether the steps are the right ones; soliloquy problems verify {source} asks programs"
            )
    lines += [f"{name}: {use}" for name, use in uses.items()]
    refused = {name: use.refused for name, use in uses.items()}
    answer({"faults": found, "open": doubts, "refused": refused}, lines, as_json=as_json)
    return 1 if found else 0


def _uses(path: Path, language: str) -> Iterator[tuple[str, Use]]:
    """Yields what each recipe that works through given problems can use, and what only the scripted model cannot."""
    problems = [*read_problems(path, language)]
    for name in known_recipes():
        recipe = find(name)
        if recipe.topics is not None:
            continue
        use = use_of(problems, recipe.refuses)
        yield name, use
        if not language and (scripted := use_of(use.usable[:FORESEEN], partial(why_unusable, name))).refused:
            yield f"{name}, scripted model", scripted


def _families(path: Path) -> Sequence[Path]:
    if path.is_dir():
        return sorted(path.rglob("*.toml"))
    return [path] if path.suffix == ".toml" else []


def _family_faults(families: Sequence[Path], path: Path) -> Iterator[str]:
    # Loads libraries for units and algebra, which takes seconds.
    from soliloquy.problems.bank.checks import faults

    for family in families:
        name = family.relative_to(path) if path.is_dir() else family
        yield from (f"{name}: {fault}" for fault in faults(family, draws=_DRAWS))


@click.command(cls=Command)
@click.argument("source", metavar="FILE", type=ANY_PATH)
def dedupe(*, out: Path = PROBLEM_FILE_OUT, as_json: bool = AS_JSON, source: Path) -> None:
    """Remove problems whose question is nearly the same as an earlier one.

    The first of them stays. Questions with different numbers are different.
    """
    with writing_to(out):
        # It loads numpy, which checks and imports do without.
        from soliloquy.problems.sifting.near_duplicates import dedupe as write_distinct

        counts = write_distinct(source, out)
    line = f"{counts.kept} of {counts.read} problems in {out}; {counts.dropped} near-duplicates left out"
    answer(asdict(counts), [line], as_json=as_json)


@click.command(cls=Command)
@click.argument("source", metavar="FILE", type=ANY_PATH)
def split(
    *,
    out: Path = setting("The folder for the parts.", type=NEW_FOLDER),
    unseen: float | None = setting(
        "The share of the test whose problems do not occur in train, if problems have several rows.", type=real(0, 1)
    ),
    seed: int = SEED,
    stratify: str | None = setting(
        "Keep the shares within each difficulty or topic.", type=Choice(["difficulty", "topic"])
    ),
    sample: int | None = setting("Take N problems, spread evenly with --stratify.", type=COUNT, metavar="N"),
    by_solve_rate: bool = setting("Sample mostly hard problems, spread evenly over the solve rates."),
    as_json: bool = AS_JSON,
    source: Path,
) -> int:
    """Split a problem file into train and test, four rows to one.

    The hash of its id decides where a problem goes, so that adding problems moves no others. No problem of the test
    occurs in train. With --unseen, for files with several dialogues about a problem, the rest of the test is further
    dialogues about problems of train.
    """
    if by_solve_rate and (sample is None or stratify):
        raise click.UsageError("--by-solve-rate requires --sample, and cannot be used with --stratify")
    shares = SplitShares(train=TRAIN_SHARE, unseen=1.0 if unseen is None else unseen, seed=seed)
    plan = sifting.SplitPlan(shares=shares, stratify=stratify, sample=sample, by_solve_rate=by_solve_rate)
    refuse_foreign(out, sifting.DESCRIPTION)
    with writing_to(out):
        made: dict[str, Any] = sifting.split(source, out, plan)
    parts = ", ".join(f"{name} {part['rows']}" for name, part in made["parts"].items())
    answer(made, [f"{made['sampled']} of {made['problems']} problems in {out}; rows: {parts}"], as_json=as_json)
    for bin_, taken in made.get("short_bins", {}).items():
        echo(f"soliloquy: only {taken} problems have solve rates of {bin_}", err=True)
    if sample is not None and made["sampled"] < sample:
        echo(f"soliloquy: only {made['sampled']} of {sample} problems match", err=True)
        return 1
    return 0
