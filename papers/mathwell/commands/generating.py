import json
import logging
import time
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click
import pyarrow.compute as pc

from soliloquy.cli.command import Command, setting
from soliloquy.cli.generate import INCOMPLETE, exit_status
from soliloquy.cli.observing import observing
from soliloquy.cli.options import AS_JSON, ATTEMPTS, COUNT, NEW_FILE, PROBLEM_FILE_OUT, QUIET, WAIT, whole, writing_to
from soliloquy.cli.progress import display
from soliloquy.cli.service_options import KAFKA
from soliloquy.cli.terminal import echo
from soliloquy.dataset.columns import value_counts
from soliloquy.dataset.exports.exporting import export
from soliloquy.dataset.exports.format import ExportOptions
from soliloquy.dataset.reading import Dataset
from soliloquy.dataset.statistics import kinds_of_reasons
from soliloquy.dataset.storage import Storage
from soliloquy.problems.files.importing import import_problems
from soliloquy.problems.files.problem_file import read_problems
from soliloquy.problems.files.source_format import load_format
from soliloquy.problems.sifting.near_duplicates import DedupeCounts, dedupe
from soliloquy.runs.folder import RunFolder
from soliloquy.runs.generation import GenerationResult, generate_dataset
from soliloquy.runtime.failure import Broken
from soliloquy.runtime.traces.opening import TraceSettings
from soliloquy.runtime.transports.kafka import KafkaSettings
from soliloquy_papers.mathwell.commands.commissioning import COMMISSIONS, Commissions
from soliloquy_papers.mathwell.commands.sheet import write_sheet


@click.command(cls=Command)
def generate(
    *,
    count: int = setting("Number of problems.", "--n", type=COUNT),
    out: Path = PROBLEM_FILE_OUT,
    sheet: Path | None = setting("Also write a printable sheet: .html or .pdf.", type=NEW_FILE),
    as_json: bool = AS_JSON,
    max_attempts: int = setting("Attempts at each problem.", default=10, type=whole(1, ATTEMPTS)),
    wait: bool = WAIT,
    quiet: bool = QUIET,
    commissions: Commissions = COMMISSIONS,
    kafka: KafkaSettings | None = KAFKA,
    traces: TraceSettings = observing("generate", least=logging.WARNING),
) -> int:
    """Have a model write word problems, each with a program that solves it.

    The programs run in the sandbox. Problems that are solvable, accurate and appropriate go to OUT. The folder OUT
    without its suffix is a dataset of all problems, with the reasons why some were rejected. Use `soliloquy generate
    --problems OUT` to generate conversations about them. Run the same command again to resume an interrupted run.
    """
    if sheet and sheet.suffix not in (".html", ".pdf"):
        raise click.UsageError(f"invalid --sheet {sheet}: use a file with the suffix .html or .pdf")
    if not out.suffix:
        raise click.UsageError(f"invalid --out {out}: use a file with the suffix .jsonl; {out}/ is for the dataset")
    plan = commissions.plan(conversations=count, max_attempts=max_attempts, wait=wait)
    started = time.monotonic()
    folder = out.with_suffix("")
    show = display(plan.conversations, quiet=quiet or as_json)
    result = generate_dataset(plan, commissions.source, RunFolder(Storage(folder), plan, None), kafka, traces, show)
    if not result.counts["accepted"]:
        raise Broken(result.shortfall or f"{folder} holds no problems")
    with writing_to(out):
        sifted = _write_problems(folder, out)
        if sheet:
            write_sheet(read_problems(out), commissions.about, sheet)
    report = _report(result, sifted, _reasons(folder), started)
    if as_json:
        echo(json.dumps(report))
    elif not quiet:
        _print(report, out, sheet)
    if result.shortfall:
        echo(f"soliloquy: {result.shortfall}", err=True)
    return exit_status(result) or (INCOMPLETE if sifted.kept < count else 0)


def _write_problems(folder: Path, out: Path) -> DedupeCounts:
    """Writes the accepted problems to a problem file, without near-duplicates and the same story with other numbers."""
    with TemporaryDirectory() as scratch:
        rows, problems = Path(scratch) / "rows.jsonl", Path(scratch) / "problems.jsonl"
        export(Dataset(str(folder)), "sgsm", rows, choice=ExportOptions())
        # Imported the same way as any other file, so that `generate --problems` can read the result.
        import_problems(
            rows,
            problems,
            load_format("sgsm"),
            strict=False,
            keep_repeats=False,
            report=lambda refusal: echo(f"soliloquy: left out: {refusal.field}: {refusal.reason}", err=True),
            report_unread=lambda doubt: echo(f"soliloquy: {doubt}", err=True),
        )
        return dedupe(problems, out, other_numbers=True)


def _reasons(folder: Path) -> dict[str, int]:
    """Counts the rejected problems by reason; a problem may have several."""
    found: Counter[str] = Counter()
    for batch in Dataset(folder).batches(["reasons"], rejected=True):
        found += value_counts(kinds_of_reasons(pc.list_flatten(batch["reasons"])))
    return dict(found.most_common())


def _report(result: GenerationResult, sifted: DedupeCounts, reasons: dict[str, int], started: float) -> dict[str, Any]:
    told = result.report(seconds=time.monotonic() - started)
    ran = told["executions"]
    return {
        "requested": told["requested"],
        "written": sum(ran.values()),
        "ran": ran.get("ok", 0),
        "kept": told["accepted"],
        "near_duplicates": told["accepted"] - sifted.kept,
        "told_again": sifted.told_again,
        "rejected": told["rejected"],
        "reasons": reasons,
        **{name: told[name] for name in ("executions", "parse", "tokens", "cost", "seconds")},
    }


def _print(report: dict[str, Any], out: Path, sheet: Path | None) -> None:
    echo(
        f"{report['kept'] - report['near_duplicates']} problems in {out}; {report['written']} written, "
        f"{report['ran']} ran, {report['rejected']} rejected, {report['near_duplicates']} near-duplicates left out, "
        f"{report['told_again']} of them with other numbers"
    )
    if report["reasons"]:
        echo(f"rejected for: {', '.join(f'{why} {count}' for why, count in report['reasons'].items())}")
    if sheet:
        echo(f"sheet: {sheet}")
