"""The folder of an improvement, with its table and its report."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from soliloquy.recipes.mathwell.commands.rounds.outcome import HEAD, RoundResult, best
from training.state import RoundsFolder, Workflow, write_json

REPORT = "rounds.json"
_WORKFLOW = Workflow(name="improvement", file="improvement.json", option="--out")
_LEGEND = """\
Executable of what was asked for; the criteria as in the paper's table: solvable of what ran, accurate and appropriate
of what is solvable, all three of what ran. Kept is what met all that was asked, of what was asked for, without what
says nearly the same as a problem kept before; by that share, with its 95 % interval, writers are compared. Alike are
the words that two questions of what ran have in common, in the mean; operations are how many a problem takes."""


class ImprovementFolder(RoundsFolder[RoundResult]):
    def __init__(self, folder: Path) -> None:
        super().__init__(folder, _WORKFLOW, RoundResult, first=0)

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
        write_json(self.folder / REPORT, report)
        writer = f"The best writer is that of round {chosen.round}{f': `{adapter}`' if adapter else ''}."
        if not trained:
            writer = "One writer wrote all problems: the rounds differ by chance only."
        ending = [f"Ended early: {ended}.", ""] if ended else []
        self.write_table(HEAD, [outcome.row() for outcome in outcomes], "", writer, "", *ending, _LEGEND)
        return report
