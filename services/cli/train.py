"""`soliloquy train`: a model tuned on a dataset."""

import json
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.table import Table

from services.cli.addresses import ADDRESS
from services.cli.failure import INTERRUPTED, Failure

_NEEDED = ("torch", "transformers", "peft", "yaml", "matplotlib", "tensorboard")
_FOLDER = click.Path(path_type=Path, exists=True, file_okay=False, resolve_path=True)


@click.command()
@click.option(
    "--config",
    required=True,
    metavar="FILE|NAME",
    help="The settings as YAML, or one that comes along: higgs, scaffold, smoke.",
)
@click.option("--base", required=True, type=_FOLDER, metavar="DIR", help="The model's weights and tokenizer.")
@click.option("--data", required=True, metavar="DIR|URL", help="A dataset, or what soliloquy freeze made.")
@click.option("--name", required=True, help="Of the training; its folder is OUT/NAME.")
@click.option(
    "--out",
    default="trained",
    show_default=True,
    type=click.Path(path_type=Path, file_okay=False),
    help="Where trainings are kept.",
)
@click.option("--from", "adapter", type=_FOLDER, metavar="DIR", help="An adapter to go on from.")
@click.option("--workers", default=1, show_default=True, type=click.IntRange(min=1), help="Processes, one a GPU.")
@click.option("--ray", "on_ray", is_flag=True, help="Have Ray Train start them.")
@click.option("--ray-address", metavar="HOST:PORT|auto", help="A Ray cluster's; without, one on this machine.")
@click.option("--metrics", metavar="HOST:PORT", type=ADDRESS, help="Serve Prometheus metrics there meanwhile.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object and nothing else.")
@click.option("--quiet", is_flag=True, help="Print nothing but errors.")
def train(
    *,
    config: str,
    base: Path,
    data: str,
    name: str,
    out: Path,
    adapter: Path | None,
    workers: int,
    on_ray: bool,
    ray_address: str | None,
    metrics: str | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Tune a model on a dataset's conversations.

    What is learned are the tutor's own words: decisions, programs and replies, each behind the very prompt that the
    recipe asks when the model is served. The same command goes on where it stopped, also after `kill -9`, and comes to
    the same end.
    """
    for library in (*_NEEDED, *(("ray",) if on_ray else ())):
        if find_spec(library) is None:
            raise Failure(f"{library} is not installed: pip install 'soliloquy[train]'")
    if ray_address and not on_ray:
        raise click.UsageError("--ray-address says nothing without --ray")
    if not name or "/" in name or name.startswith("."):
        raise click.UsageError(f"{name!r} names no folder: use letters, digits and dashes")
    from training.folder import Job
    from training.settings import CannotTrain, read_settings

    file = _config(config)
    try:
        folder = out.resolve() / name
        job = Job(settings=read_settings(file), base=base, data=data, folder=folder, adapter=adapter)
        with _showing(job, metrics, quiet=quiet or as_json) as tell:
            _run(job, file, tell, workers=workers, on_ray=on_ray, ray_address=ray_address)
    except CannotTrain as error:
        raise Failure(str(error)) from error
    except KeyboardInterrupt:
        click.echo("soliloquy: stopped; the same command goes on from the newest checkpoint", err=True)
        raise click.exceptions.Exit(INTERRUPTED) from None
    report = json.loads((job.folder / "report.json").read_bytes())
    if as_json:
        click.echo(json.dumps(report | {"folder": str(job.folder)}))
    elif not quiet:
        _print(report, job.folder)


def _run(job: Any, file: Path, tell: Any, *, workers: int, on_ray: bool, ray_address: str | None) -> None:
    from training.train import check
    from training.train import train as train_here

    check(job, workers, tell)
    # Asked to end, it ends as on Ctrl-C.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    if on_ray:
        from training.ray import run_on_ray

        run_on_ray(job, workers, address=ray_address or "local")
    elif workers > 1:
        from training.launch import run_in_workers

        run_in_workers(job, file, workers)
    else:
        train_here(job)


def _config(named: str) -> Path:
    if Path(named).is_file():
        return Path(named)
    import training

    shipped = Path(training.__file__).with_name("configs")
    if (shipped / f"{named}.yaml").is_file():
        return shipped / f"{named}.yaml"
    there = ", ".join(sorted(path.stem for path in shipped.glob("*.yaml")))
    raise Failure(f"there is no configuration {named!r}: name a YAML file, or one of {there}")


@contextmanager
def _showing(job: Any, metrics: str | None, *, quiet: bool) -> Iterator[Any]:
    """Follows what the training writes down, wherever it runs."""
    from services.cli.training_view import Bar, Exported, Silent, follow

    shown = Silent() if quiet else Bar(Console(stderr=True))
    try:
        exported = Exported(metrics, job.folder.name) if metrics else None
    except OSError as error:
        raise Failure(f"no metrics can be served on {metrics} ({error.strerror}): choose another --metrics") from error
    ended = threading.Event()
    following = threading.Thread(target=follow, args=(job.folder / "metrics.jsonl", [shown, exported], ended))
    with shown:
        following.start()
        try:
            yield shown.reading
        finally:
            ended.set()
            following.join()
            if exported:
                exported.close()


def _print(report: dict[str, Any], folder: Path) -> None:
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="dim")
    table.add_column()
    for name, value in report.items():
        shown = ", ".join(f"{key} {each}" for key, each in value.items()) if isinstance(value, dict) else str(value)
        table.add_row(name.replace("_", " "), shown)
    table.add_row("folder", str(folder))
    Console().print(table)
