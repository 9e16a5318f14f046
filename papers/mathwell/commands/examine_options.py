"""The options of commands that have a model examine word problems, and the examination."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from soliloquy.cli.attended import attended_results
from soliloquy.cli.command import setting
from soliloquy.cli.model_options import model_options
from soliloquy.cli.options import IN_FLIGHT, WAIT
from soliloquy.cli.parameters import whole
from soliloquy.cli.service_options import Command, gathered
from soliloquy.runs.model import ModelSettings, scripted_model
from soliloquy.runtime.model.checking import require_endpoints
from soliloquy.runtime.model.opening import open_models
from soliloquy.runtime.model.settings import Models
from soliloquy_papers.mathwell.commands.examination import examine
from soliloquy_papers.mathwell.criteria.evidence import Evidence
from soliloquy_papers.mathwell.criteria.verdicts import WordProblem


@dataclass(frozen=True, kw_only=True, slots=True)
class Examination:
    wanted: bool
    in_flight: int
    models: Models
    cache: Path | None
    wait: bool

    def of(self, problems: Sequence[WordProblem], *, quiet: bool) -> Sequence[Evidence]:
        """Returns the evidence of each problem; empty if none is wanted. Raises Failure."""
        return asyncio.run(self._examined(problems, quiet=quiet)) if self.wanted else ()

    async def _examined(self, problems: Sequence[WordProblem], *, quiet: bool) -> Sequence[Evidence]:
        from soliloquy_services.executor.pool import SandboxPool
        from soliloquy_services.executor.settings import SandboxSettings

        await require_endpoints(self.models, self.cache)
        room = asyncio.Semaphore(self.in_flight)
        async with (
            open_models(self.models, lambda: scripted_model(ModelSettings()), self.cache) as model,
            SandboxPool(SandboxSettings()) as pool,
        ):

            async def examined(number: int, problem: WordProblem) -> tuple[int, Evidence]:
                async with room:
                    return number, await examine(problem, model, pool.execute)

            work = [examined(number, problem) for number, problem in enumerate(problems)]
            found = await attended_results(work, model, unit="problems", wait=self.wait, quiet=quiet)
        return [evidence for _, evidence in sorted(found, key=lambda each: each[0])]


_EXAMINE = "Have a model examine each problem: three programs from its question alone, other readings, an opinion."


def _examination(
    models: Models,
    model_cache: Path | None,
    wanted: bool = setting(_EXAMINE, "--examine"),
    in_flight: int = setting("Problems to examine at once.", default=16, type=whole(1, IN_FLIGHT)),
    wait: bool = WAIT,
) -> Examination:
    context = click.get_current_context()
    for name in ("model", "model_settings", "model_cache", "in_flight", "wait"):
        if not wanted and context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            raise click.UsageError(f"--{name.replace('_', '-')} requires --examine")
    return Examination(wanted=wanted, in_flight=in_flight, models=models, cache=model_cache, wait=wait)


def examining_options(command: Command) -> Callable[..., Any]:
    """Hands the command its `examination`."""
    return model_options(gathered("examination", _examination)(command))
