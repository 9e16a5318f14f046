"""Runs the cases of an evaluation in parallel, with a progress bar."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Self, TypeVar

from soliloquy.cli.progress import bar
from soliloquy.runtime.model.opening import ModelByRole

C = TypeVar("C")
R = TypeVar("R")


class CaseProgress:
    """A bar with the finished cases and how many of them count, or why the tutor's model does not answer."""

    def __init__(self, model: ModelByRole, *, cases: int, counted: str, at_once: int, quiet: bool) -> None:
        self._model = model
        self._counted, self._count = counted, 0
        self._at_once = at_once
        self._progress = bar(quiet=quiet)
        self._task = self._progress.add_task("cases", total=cases, figures="")

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    async def run(
        self, cases: Sequence[C], run: Callable[[C], Awaitable[R]], counts: Callable[[R], bool] = lambda _: False
    ) -> list[R]:
        """Runs the cases and returns their results in order."""
        from training.evaluation.cases import run_bounded

        def advance(result: R) -> None:
            self._count += counts(result)
            figures = self._model.fault or f"{self._counted} {self._count}"
            self._progress.update(self._task, advance=1, figures=figures)

        return await run_bounded(cases, run, at_once=self._at_once, on_result=advance)
