"""`soliloquy problems generate`: word problems written to order, run and judged, for a class or for a run."""

import json
import logging
import time
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click
import pyarrow.compute as pc

from soliloquy.cli.durations import DURATION
from soliloquy.cli.generate import INCOMPLETE, exit_status
from soliloquy.cli.kafka_options import kafka_options
from soliloquy.cli.model_options import model_options
from soliloquy.cli.observing import observing
from soliloquy.cli.problems.commissioning import commission_options, writing
from soliloquy.cli.problems.sheet import CannotPrint, write_sheet
from soliloquy.cli.progress import display
from soliloquy.cli.service_options import CLASSIFIERS
from soliloquy.dataset.columns import value_counts
from soliloquy.dataset.exports.exporting import export
from soliloquy.dataset.exports.format import ExportOptions
from soliloquy.dataset.reading import Dataset
from soliloquy.dataset.statistics import kinds_of_reasons
from soliloquy.dataset.storage import Storage
from soliloquy.problems.commission_source import CommissionSource
from soliloquy.problems.files.importing import NothingUsable, import_problems
from soliloquy.problems.files.problem_file import read_problems
from soliloquy.problems.files.reading.rows import RefusedRow
from soliloquy.problems.files.source_format import load_format
from soliloquy.problems.sifting.dedupe import DedupeCounts, dedupe
from soliloquy.problems.sifting.policy import DUPLICATES
from soliloquy.runs.failure import Failure
from soliloquy.runs.folder import RunFolder
from soliloquy.runs.generation import GenerationResult, generate_dataset
from soliloquy.runtime.traces.settings import TraceSettings
from soliloquy.runtime.transports.kafka import KafkaSettings

_FOLDER = "For the dataset of all that was written and judged.  [default: --out without its ending]"


@click.command()
@click.option("--n", "count", required=True, type=click.IntRange(min=1), help="How many problems.")
@commission_options
@click.option("--seed", default=0, show_default=True, type=click.IntRange(min=0), help="All draws follow from it.")
@click.option(
    "--out", required=True, type=click.Path(path_type=Path, dir_okay=False), help="The problem file, for `generate`."
)
@click.option(
    "--sheet", metavar="FILE", type=click.Path(path_type=Path, dir_okay=False), help="Also print them: .html or .pdf."
)
@click.option("--dataset", metavar="DIR", type=click.Path(path_type=Path, file_okay=False), help=_FOLDER)
@click.option("--workers", default=1, show_default=True, type=click.IntRange(min=1), help="Worker processes.")
@click.option("--in-flight", default=64, show_default=True, type=click.IntRange(min=1), help="Problems at once.")
@click.option("--latency", default="0ms", show_default=True, type=DURATION, help="Of each answer.")
@click.option(
    "--noise", default="none", show_default=True, type=click.Choice(["none", "real"]), help="Imitate real output."
)
@click.option("--max-attempts", default=10, show_default=True, type=click.IntRange(min=1), help="Tries at a problem.")
@CLASSIFIERS
@model_options
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object and nothing else.")
@click.option("--quiet", is_flag=True, help="Print nothing but errors.")
@kafka_options()
@observing("generate", least=logging.WARNING)
@click.pass_context
def generate(
    context: click.Context,
    /,
    *,
    count: int,
    source: CommissionSource,
    about: str,
    out: Path,
    sheet: Path | None,
    dataset: Path | None,
    as_json: bool,
    quiet: bool,
    kafka: KafkaSettings | None,
    traces: TraceSettings,
    **settings: Any,
) -> None:
    """Have word problems written, each with a program that solves it.

    Each is run in the sandbox and kept where it is solvable, accurate and appropriate; what was not kept is in the
    dataset's folder with the reasons. `soliloquy generate --problems OUT` grows tutoring about them. The same command
    resumes what was interrupted.
    """
    if sheet and sheet.suffix not in (".html", ".pdf"):
        raise click.UsageError(f"--sheet {sheet}: end it with .html or .pdf")
    plan = writing(source, conversations=count, **settings)
    started = time.monotonic()
    folder = dataset or out.with_suffix("")
    show = display(plan.conversations, quiet=quiet or as_json)
    result = generate_dataset(plan, source, RunFolder(Storage(folder), plan, None), kafka, traces, show)
    if not result.counts["accepted"]:
        raise Failure(result.shortfall or f"{folder} contains no problem")
    try:
        sifted = _take_over(folder, out)
        if sheet:
            write_sheet(read_problems(out), about, sheet)
    except (CannotPrint, NothingUsable) as cannot:
        raise Failure(str(cannot)) from cannot
    except OSError as error:
        raise Failure(f"{error.filename or out} cannot be written ({error.strerror}): choose another") from error
    report = _report(result, sifted.kept, _reasons(folder), started)
    if as_json:
        click.echo(json.dumps(report))
    elif not quiet:
        _print(report, out, sheet)
    if result.shortfall:
        click.echo(f"soliloquy: {result.shortfall}", err=True)
    context.exit(exit_status(result) or (INCOMPLETE if sifted.kept < count else 0))


def _take_over(folder: Path, out: Path) -> DedupeCounts:
    """What is kept, as a problem file; of questions that say nearly the same, the first."""
    with TemporaryDirectory() as scratch:
        rows, problems = Path(scratch) / "rows.jsonl", Path(scratch) / "problems.jsonl"
        export(Dataset(str(folder)), "sgsm", rows, choice=ExportOptions())
        # What reads as a problem here is what `generate --problems` reads.
        import_problems(rows, problems, load_format("sgsm"), strict=False, keep_repeats=False, report=_complain)
        return dedupe(problems, out, None, threshold=DUPLICATES.same, ignore_numbers=False)


def _complain(refusal: RefusedRow) -> None:
    click.echo(f"soliloquy: left out: {refusal.field}: {refusal.reason}", err=True)


def _reasons(folder: Path) -> dict[str, int]:
    """How many were not kept for what; one may have several reasons."""
    found: Counter[str] = Counter()
    for batch in Dataset(folder).batches(["reasons"], rejected=True):
        found += value_counts(kinds_of_reasons(pc.list_flatten(batch["reasons"])))
    return dict(found.most_common())


def _report(result: GenerationResult, unlike: int, reasons: dict[str, int], started: float) -> dict[str, Any]:
    told = result.report(seconds=time.monotonic() - started)
    ran = told["executions"]
    return {
        "requested": told["requested"],
        "written": sum(ran.values()),
        "ran": ran.get("ok", 0),
        "kept": told["accepted"],
        "near_duplicates": told["accepted"] - unlike,
        "rejected": told["rejected"],
        "reasons": reasons,
        **{name: told[name] for name in ("executions", "parse", "tokens", "cost", "seconds")},
    }


def _print(report: dict[str, Any], out: Path, sheet: Path | None) -> None:
    click.echo(
        f"{report['kept'] - report['near_duplicates']} problems in {out}; {report['written']} written, "
        f"{report['ran']} ran, {report['rejected']} rejected, {report['near_duplicates']} near-duplicates left out"
    )
    if report["reasons"]:
        click.echo(f"rejected for: {', '.join(f'{why} {count}' for why, count in report['reasons'].items())}")
    if sheet:
        click.echo(f"to print: {sheet}")
