import json
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

import click

from soliloquy.cli.command import Command, setting
from soliloquy.cli.options import AS_JSON, EXISTING_FILE, NEW_FILE, SEEDS, writing_to
from soliloquy.cli.tables import table
from soliloquy.cli.terminal import echo, open_console
from soliloquy.runtime.failure import Failure
from soliloquy_papers.mathwell.commands.examination import Examination, examining_options
from soliloquy_papers.mathwell.commands.measuring import word_problems

if TYPE_CHECKING:
    from soliloquy_papers.mathwell.criteria.measured import Measured

# The share of the problems that people call good to keep.
_KEPT_SHARE = 0.85


@click.command(cls=Command)
@examining_options
def calibrate(
    *,
    source: Path = setting(
        "JSONL, CSV or Parquet: word problems, with true or false for solvable, accurate and appropriate.",
        "--labels",
        type=EXISTING_FILE,
    ),
    out: Path = setting("The file for the classifiers, .npz.", type=NEW_FILE),
    seed: int = setting("Seed of the split into fifths.", default=0, type=SEEDS),
    as_json: bool = AS_JSON,
    examination: Examination,
) -> None:
    """Calibrate the judges of word problems on what people say of them.

    Learns how much each rule and each word tells, and sets thresholds that keep 85 % of the good problems.
    Each fifth of the rows is judged by what the other four teach; the table compares that with the rules alone, by
    criterion and by the writer in the column `writer` or `model`. With --examine, programs, probes and opinions of a
    model are sources too: `all` weighs them with what text and program show. Use the file with --classifiers.
    """
    from soliloquy_papers.mathwell.criteria.classifiers import save
    from soliloquy_papers.mathwell.criteria.learning import calibrate as calibrated

    try:
        rows = list(word_problems(source))
        evidence = examination.of([row.problem for row in rows], quiet=as_json)
        classifiers, measured = calibrated(rows, _KEPT_SHARE, seed, evidence)
    except Failure as unusable:
        raise Failure(f"{source}: {unusable}; nothing was written") from unusable
    with writing_to(out):
        save(classifiers, out)
    if as_json:
        echo(json.dumps([one.as_json() for one in measured]))
        return
    made = table("criterion", "judge", "rows", "good", "balanced", "AUC", "kept", "precision")
    for _, group in groupby(measured, key=lambda one: one.subject):
        for one in group:
            made.add_row(*_cells(one))
        made.add_section()
    open_console().print(made)
    echo(f"classifiers in {out}")


def _cells(one: "Measured") -> tuple[str, ...]:
    auc = "" if one.roc_auc is None else f"{one.roc_auc:.2f}"
    shares = (f"{100 * share:.0f} %" if share == share else "" for share in (one.kept, one.precision))
    balanced = f"{100 * one.balanced_accuracy:.1f} ± {100 * one.interval:.1f}"
    return one.subject, one.judge, str(len(one.met)), str(int(one.met.sum())), balanced, auc, *shares
