import asyncio
import json
import logging
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from soliloquy.cli.command import Command, setting
from soliloquy.cli.launching import Launch, check_libraries, configuration, train_observed
from soliloquy.cli.main import INTERRUPTED
from soliloquy.cli.observing import observing
from soliloquy.cli.options import AS_JSON, COUNT, NEW_RESOLVED_FOLDER, QUIET, RESOLVED_FOLDER
from soliloquy.cli.progress import display
from soliloquy.cli.terminal import echo
from soliloquy.dataset.manifest import MANIFEST
from soliloquy.dataset.storage import Storage
from soliloquy.problems.sources import ProblemSource
from soliloquy.runs.folder import RunFolder
from soliloquy.runs.generation import generate_dataset
from soliloquy.runs.plan import Plan
from soliloquy.runtime.failure import Failure
from soliloquy.runtime.model.settings import Endpoint, Models
from soliloquy.runtime.traces.opening import TraceSettings
from soliloquy.runtime.weights import ADAPTER_WEIGHTS, base_digest, digest_of
from soliloquy.v1.model_pb2 import Adapter
from soliloquy_papers.mathwell.commands.commissioning import COMMISSIONS, Commissions

if TYPE_CHECKING:
    from soliloquy_papers.mathwell.commands.rounds import WriterTraining

# The role that writes problems; another role judges them.
_WRITER = "codegen"
_WRITING = "mathwell/writing"
# Weights on a CPU are slow, and many problems are written at once.
_PATIENCE_SECONDS = 600.0


@click.command(cls=Command)
def improve(
    *,
    rounds: int = setting("Rounds of training and writing.", type=COUNT),
    per_round: int = setting("Problems to accept in each round; at most twice as many are requested.", type=COUNT),
    base: Path | None = setting(
        "The weights that write and are trained.  [default: no training]", type=RESOLVED_FOLDER
    ),
    config: str | None = setting(
        "Training settings: a YAML file, or a shipped one such as smoke.", metavar="FILE|NAME"
    ),
    start: str | None = setting("A dataset of problems to learn from as well.", metavar="DIR|URL"),
    out: Path = setting("The folder for all rounds.", type=NEW_RESOLVED_FOLDER),
    as_json: bool = AS_JSON,
    quiet: bool = QUIET,
    commissions: Commissions = COMMISSIONS,
    traces: TraceSettings = observing("improve", least=logging.WARNING),
) -> None:
    """Have a model write problems, train it on those that meet all criteria, and have it write again.

    The base writes the first round. Each further round trains an adapter on all problems accepted so far, and that
    adapter writes. --base answers in the role codegen, in this process or at a --model-address that serves it; the role
    composer judges. OUT/rounds.md has a line for each round, OUT/rounds.json the details. Run the same command again to
    resume, even after `kill -9`.
    """
    if (base is None) != (config is None):
        raise click.UsageError("--base and --config require each other")
    if start and base is None:
        raise click.UsageError("--start requires --base")
    quiet = quiet or as_json
    plan = commissions.plan(conversations=per_round, max_attempts=1)
    if base:
        check_libraries()
    if not quiet:
        echo(f"commissions: {commissions.about}", err=True)
    from soliloquy_papers.mathwell.commands.rounds import Improvement, ImprovementFolder

    try:
        school = _school(base, config, start, quiet=quiet)
        improving = Improvement(
            rounds=ImprovementFolder(out),
            school=school,
            write=_RoundWriter(plan=plan, source=commissions.source, base=base, traces=traces, quiet=quiet).write,
            tell=lambda number, step: None if quiet else echo(f"round {number}: {step}", err=True),
        )
        report = improving.run(rounds, _identity(plan, school))
    except OSError as error:
        raise Failure(str(error)) from error
    except KeyboardInterrupt:
        echo("soliloquy: stopped: run the same command to resume", err=True)
        raise click.exceptions.Exit(INTERRUPTED) from None
    if as_json:
        echo(json.dumps(report))
    elif not quiet:
        for one in report["rounds"]:
            echo(f"round {one['round']}: {one['remark']}")
        echo(f"the best writer: {report['adapter'] or 'the base, without an adapter'}")
        echo(f"the table: {out / 'rounds.md'}")
    if report["ended"]:
        echo(f"soliloquy: ended early: {report['ended']}", err=True)


def _school(base: Path | None, config: str | None, start: str | None, *, quiet: bool) -> "WriterTraining | None":
    if base is None or config is None:
        return None
    from soliloquy_papers.mathwell.commands.rounds import WriterTraining
    from soliloquy_training.settings import read_settings

    file = configuration(config)
    launch = Launch(file=file, workers=1, on_ray=False)
    train = partial(train_observed, launch, quiet=quiet)
    return WriterTraining(base=base, settings=read_settings(file), train=train, start=start or "")


def _identity(plan: Plan, school: "WriterTraining | None") -> dict[str, Any]:
    if school is None:
        return plan.identity()
    from soliloquy_training.source import digest_of as data_digest

    start = data_digest(school.start) if school.start else ""
    return {**plan.identity(), "base": base_digest(school.base), "training": school.settings.digest, "start": start}


@dataclass(frozen=True, kw_only=True, slots=True)
class _RoundWriter:
    """Has the problems of a round written; each round has commissions of its own."""

    plan: Plan
    source: ProblemSource
    base: Path | None
    traces: TraceSettings
    quiet: bool

    def write(self, number: int, adapter: Path | None, folder: Path) -> None:
        with self._writer(adapter) as models:
            plan = replace(self.plan, models=models, seed=self.plan.seed + number)
            run_folder = RunFolder(Storage(folder), plan, None)
            show = display(plan.conversations, quiet=self.quiet)
            result = generate_dataset(plan, self.source, run_folder, None, self.traces, show)
        if result.interrupted:
            raise KeyboardInterrupt
        if not (folder / MANIFEST).exists():
            raise Failure(result.shortfall)

    @contextmanager
    def _writer(self, adapter: Path | None) -> Iterator[Models]:
        """Yields models in which the base or the adapter writes; starts a service if none runs."""
        models = self.plan.models
        if self.base is None:
            yield models
            return
        with ExitStack() as resources:
            written_by = models.asked(_WRITER, _WRITING)
            if len(written_by) > 1:
                raise Failure(f"a mixture cannot be trained: give the role {_WRITER} one endpoint")
            [endpoint] = written_by
            if endpoint.engine == "openai":
                raise Failure(
                    f"{endpoint.base_url} cannot load adapters: serve {self.base} with `soliloquy model serve`"
                )
            if endpoint.engine == "scripted":
                from soliloquy_services.model.in_process import serve_weights

                address = resources.enter_context(serve_weights(self.base))
                endpoint = Endpoint(engine="ray", address=address, model=self.base.name, timeout=_PATIENCE_SECONDS)
            name = f"mathwell-{digest_of([adapter / ADAPTER_WEIGHTS])[:12]}" if adapter else ""
            asyncio.run(_load(endpoint, self.base, name, adapter))
            moved = models.changed(lambda role: replace(role, endpoint="writer", adapter=name), [_WRITER])
            prompts = dict(models.prompts)
            if own := prompts.get(_WRITING):
                prompts[_WRITING] = replace(own, endpoint=None, adapter=None)
            yield replace(moved, endpoints={**models.endpoints, "writer": endpoint}, prompts=prompts)
            asyncio.run(_unload(endpoint, name))


async def _load(endpoint: Endpoint, base: Path, name: str, adapter: Path | None) -> None:
    from soliloquy_training.adapters.serving import ModelService

    async with ModelService(endpoint.address, tls=endpoint.tls) as service:
        await service.check_base(base, base_digest(base))
        if adapter:
            await service.load(Adapter(name=name, path=str(adapter)))


async def _unload(endpoint: Endpoint, name: str) -> None:
    """Frees the place of the adapter, since a service has few."""
    from soliloquy_training.adapters.serving import ModelService

    if name:
        async with ModelService(endpoint.address, tls=endpoint.tls) as service:
            await service.unload(name)
