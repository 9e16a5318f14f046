"""The files of an improvement: a file that exists marks a finished step, and the next start continues after it."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from training.evaluation.report import table
from training.rounds.outcome import HEAD, RoundResult, best
from training.state import Workflow, lock_folder, read, write

TABLE, REPORT = "rounds.md", "rounds.json"
_OUTCOME = "outcome.json"
_WORKFLOW = Workflow(name="improvement", option="--out")
_LEGEND = """\
Executable of what was asked for; the criteria as in the paper's table: solvable of what ran, accurate and appropriate
of what is solvable, all three of what ran. Kept is what met all that was asked, of what was asked for, without what
says nearly the same as a problem kept before; by that share, with its 95 % interval, writers are compared. Alike are
the words that two questions of what ran have in common, in the mean; operations are how many a problem takes."""


class ImprovementRound:
    """The folder of one round."""

    def __init__(self, folder: Path, number: int) -> None:
        self.number = number
        self.folder = folder / f"round-{number:04d}"
        # The problems that the writer learned from, its training, and the problems that it wrote.
        self.data = self.folder / "data"
        self.training = self.folder / "training"
        self.adapter = self.training / "adapter"
        self.written = self.folder / "written"

    def outcome(self) -> RoundResult | None:
        found = read(self.folder / _OUTCOME)
        return RoundResult(**found) if found else None


class ImprovementFolder:
    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @contextmanager
    def opened(self, identity: Mapping[str, Any]) -> Iterator[None]:
        """Raises CannotTrain if the folder belongs to another improvement or is in use."""
        with lock_folder(self.folder, _WORKFLOW, identity):
            yield

    def done(self) -> list[RoundResult]:
        found: list[RoundResult] = []
        while outcome := self.round(len(found)).outcome():
            found.append(outcome)
        return found

    def round(self, number: int) -> ImprovementRound:
        return ImprovementRound(self.folder, number)

    def finish(self, outcome: RoundResult) -> None:
        folder = self.round(outcome.round).folder
        folder.mkdir(exist_ok=True)
        write(folder / _OUTCOME, json.dumps(asdict(outcome), indent=2))

    def report(self, outcomes: Sequence[RoundResult], ended: str) -> dict[str, Any]:
        """Writes the table and the report; returns the report. `ended` says why there are too few rounds."""
        trained = any(outcome.adapter_digest for outcome in outcomes)
        chosen = best(outcomes) if trained else outcomes[0]
        adapter = self.round(chosen.round).adapter if chosen.adapter_digest else None
        report = {
            "best": chosen.round,
            "adapter": str(adapter) if adapter else "",
            "ended": ended,
            "rounds": [asdict(outcome) for outcome in outcomes],
        }
        write(self.folder / REPORT, json.dumps(report, indent=2))
        rows = [[cell.replace("|", "\\|") for cell in outcome.row()] for outcome in outcomes]
        writer = f"The best writer is that of round {chosen.round}{f': `{adapter}`' if adapter else ''}."
        if not trained:
            writer = "One writer wrote all problems: the rounds differ by chance only."
        ending = [f"Ended early: {ended}.", ""] if ended else []
        lines = ["# Rounds", "", *table(HEAD, rows), "", writer, "", *ending, _LEGEND]
        write(self.folder / TABLE, "\n".join(lines))
        return report
