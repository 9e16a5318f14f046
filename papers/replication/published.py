"""Reads the folder that a paper's authors published, and lists what it lacks and what cannot be read."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from soliloquy.dataset.exports.dialogue import conversation_of
from soliloquy.dataset.exports.format import Row
from soliloquy.dataset.exports.importing import dialogue_of
from soliloquy.problems.files.reading.rows import RefusedRow, UnreadableSource
from soliloquy.problems.files.source_format import ANY_ROWS
from soliloquy.runtime.failure import Failure
from soliloquy.v1.conversation_pb2 import Conversation
from soliloquy.v1.sandbox_pb2 import Execution, Job
from soliloquy_papers.replication.tables import Counts, Table

Execute = Callable[[Sequence[Job]], list[Execution]]


class Published:
    """Rows that cannot be read are left out."""

    def __init__(self, folder: Path, execute: Execute) -> None:
        self._folder, self._execute = folder, execute
        # A line for each file that is missing, each row that was left out, and why no program ran.
        self.refused: list[str] = []
        self.read = 0
        self.tables: Sequence[Table | Counts] = ()

    def rows(self, name: str, needs: Sequence[str] = ()) -> Iterator[tuple[str, Row]]:
        """Yields the rows of a file, or of the files of a folder, with their places."""
        source = self._folder / name
        if not source.exists():
            self.refused.append(f"{source}: no such file or folder; what is computed from it is left out")
            return
        lacking = Counter[str]()
        try:
            for row in ANY_ROWS.rows(source):
                if isinstance(row, RefusedRow):
                    self.refused.append(str(row))
                elif column := next((column for column in needs if column not in row.cells), None):
                    lacking[column] += 1
                else:
                    self.read += 1
                    yield row.place, dict(row.cells)
        except UnreadableSource as unreadable:
            self.refused.append(str(unreadable))
        self.refused += [f"{source}: no column {column!r} in {count} rows" for column, count in lacking.items()]

    def conversations(
        self, name: str, form: str, needs: Sequence[str] = (), change: Callable[[Row], Row] = dict
    ) -> Iterator[tuple[str, Row, Conversation]]:
        """Yields each row with the conversation that `soliloquy import --format` reads it as."""
        for number, (place, published) in enumerate(self.rows(name, needs)):
            row = change(published)
            try:
                yield place, row, conversation_of(dialogue_of(row, form), name, number)
            except ValueError as unfit:
                self.read -= 1
                self.refused.append(f"{place}: {unfit}")

    def run(self, jobs: Sequence[Job]) -> list[Execution] | None:
        """Runs published programs in the sandbox; None where there is none."""
        try:
            return self._execute(jobs)
        except Failure as failure:
            self.refused.append(f"programs are not run: {failure}")
            return None


def replication(tables: Callable[[Published], Iterable[Table | Counts]]) -> Callable[[Path, Execute], Published]:
    """Makes what computes a paper's tables the `replicate` of its recipe's part `replicate.tables`."""

    def replicate(folder: Path, execute: Execute) -> Published:
        published = Published(folder, execute)
        published.tables = [*tables(published)]
        return published

    return replicate
