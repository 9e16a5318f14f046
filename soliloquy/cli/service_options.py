"""Options of the commands that run services. Each can also come from the environment, as in a container."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import click

from soliloquy.cli.command import gathered, option, setting
from soliloquy.cli.options import (
    ADDRESS,
    COUNT,
    DURATION,
    EXISTING_FILE,
    EXISTING_FOLDER,
    NEW_FOLDER,
    SIZE,
    WORKERS,
    Choice,
    whole,
)
from soliloquy.dataset.layout import ShardLimits
from soliloquy.recipes.prompts import BrokenPrompt, changed_texts
from soliloquy.recipes.recipe import checked_prompts, load_judges
from soliloquy.runs.assignment import GatewayAssignment
from soliloquy.runtime.failure import Failure
from soliloquy.runtime.files import refuse_foreign
from soliloquy.runtime.model.settings import Models
from soliloquy.runtime.model.settings_file import checked_endpoint
from soliloquy.runtime.tls import ServerTls, Tls
from soliloquy.standin.faults import LEVELS

T = TypeVar("T")


def from_environment(variable: str, kind: click.ParamType[T]) -> T | None:
    """Returns a setting that only the environment holds, or None; raises UsageError."""
    given = os.environ.get(variable)
    try:
        return kind.convert(given, None, None) if given else None
    except click.BadParameter as bad:
        raise click.UsageError(f"{variable}: {bad.message}") from bad


def _checked(_: click.Context, __: click.Parameter, classifiers: Path | None) -> Path | None:
    load_judges(classifiers)
    return classifiers


GRACE = option("Time for unfinished work when it is stopped.", "--grace", default="20s", type=DURATION)
LATENCY = option("Latency of the scripted model's answers.", "--latency", default="0ms", type=DURATION)
NOISE = option(
    "Imitate real models: the length of their messages alone, or also their faults, at the rates that were counted or "
    "at twice those.",
    "--noise",
    default="none",
    type=Choice(list(LEVELS)),
)
CLASSIFIERS = option(
    "From `problems calibrate`: judges of word problems that weigh what the rules find.",
    "--classifiers",
    type=click.Path(path_type=Path, exists=True, dir_okay=False, resolve_path=True),
    callback=_checked,
)
PROMPTS = setting(
    "Changed prompts of the recipe, as `soliloquy recipes prompts` writes them.", "--prompts", type=EXISTING_FOLDER
)


def chosen_prompts(recipe: str, place: Path | None) -> Mapping[str, str]:
    """Returns the files of the folder that differ from the recipe's own; raises BrokenPrompt."""
    if place is None:
        return {}
    changed = changed_texts(recipe, place)
    try:
        checked_prompts(recipe, changed)
    except BrokenPrompt as error:
        raise BrokenPrompt(f"{place}/{error}") from None
    return changed


def collector_options() -> Any:
    """Returns the options of the collector, which make its settings."""
    from soliloquy_services.collector.settings import LiveSettings

    usual = LiveSettings()
    rows_text = "Conversations in a shard, the unit that readers open."
    seconds_text = "The longest that a conversation waits for its shard, and its readers for it."
    seconds = f"{usual.shard_seconds:g}s"

    def settings(
        data: Path = option("Where the collector keeps finished conversations.", type=NEW_FOLDER),
        store: str = option("An object store for datasets: s3://bucket/folder.", default="", metavar="URL"),
        shard_rows: int = option(rows_text, default=usual.limits.rows, type=COUNT),
        shard_seconds: float = option(seconds_text, default=seconds, type=DURATION),
    ) -> LiveSettings:
        # The collector's lock tells its folder from others.
        refuse_foreign(data, "lock", option="--data")
        limits = ShardLimits(rows=shard_rows)
        return LiveSettings(data=data, store=store, shard_seconds=shard_seconds, limits=limits)

    return gathered(settings)


def sandbox_options() -> Any:
    """Returns the options of the executor, which make its settings."""
    from soliloquy_services.executor.policy import SandboxSettings

    usual = SandboxSettings()
    jobs_text = "Warm sandboxes of each lane: the jobs that run at once."
    wall, memory_size = f"{usual.wall_seconds:g}s", f"{usual.memory_bytes // 1024**2}MiB"

    def settings(
        sandboxes: int = option(jobs_text, default=os.cpu_count(), type=whole(1, WORKERS)),
        wall: float = option("The longest that a program may run.", default=wall, type=DURATION),
        memory: int = option("The address space that a program may use.", default=memory_size, type=SIZE),
        audit: bool = option("Run each job in a sandbox of its own, for models that nobody trusts."),
    ) -> SandboxSettings:
        return SandboxSettings(sandboxes=sandboxes, wall_seconds=wall, memory_bytes=memory, audit=audit)

    return gathered(settings)


# For the options that name a server.
TLS_HELP = "docs/operating.md names the variables for TLS."

TLS_CERT = option("PEM: the server's certificate; requires --tls-key.", type=EXISTING_FILE)
TLS_KEY = option("PEM: the key of --tls-cert.", type=EXISTING_FILE)
CLIENT_CA = option("PEM: the authority that signs the certificates of callers.", type=EXISTING_FILE)


def server_tls(
    tls_cert: Path | None = TLS_CERT, tls_key: Path | None = TLS_KEY, client_ca: Path | None = CLIENT_CA
) -> ServerTls | None:
    """Raises UsageError for options that contradict each other, and Failure for files that cannot be used."""
    if (tls_cert is None) != (tls_key is None):
        raise click.UsageError("--tls-cert requires --tls-key" if tls_cert else "--tls-key requires --tls-cert")
    if tls_cert is None or tls_key is None:
        if client_ca:
            raise click.UsageError("--client-ca requires --tls-cert")
        return None
    tls = ServerTls(certificate=tls_cert, key=tls_key, client_ca=client_ca)
    # Bad files end the command before it starts a process.
    tls.for_http()
    return tls


SERVER_TLS = gathered(server_tls)


def client_tls() -> Tls | None:
    """Reads how this process knows the servers of ours that it calls, and is known to them."""
    ca, certificate, key = map(_file, ("SOLILOQUY_CA_FILE", "SOLILOQUY_CERTIFICATE_FILE", "SOLILOQUY_KEY_FILE"))
    if key and not certificate:
        raise click.UsageError("SOLILOQUY_KEY_FILE requires SOLILOQUY_CERTIFICATE_FILE")
    encrypted = ca or certificate or from_environment("SOLILOQUY_TLS", click.BOOL)
    return Tls(ca=ca, certificate=certificate, key=key) if encrypted else None


def _file(variable: str) -> Path | None:
    path = os.environ.get(variable)
    if path and not Path(path).is_file():
        raise Failure(f"{variable} is {path!r}, which is not a file")
    return Path(path) if path else None


@dataclass(frozen=True, kw_only=True, slots=True)
class GatewayOptions:
    grpc: str | None = option("Serve gRPC there.  [default: the next port]", type=ADDRESS)
    tokens: Path | None = option("Callers and their roles, as TOML; otherwise only this machine.", type=EXISTING_FILE)
    problem_files: Path | None = option("The folder of problem files that a run may name.", type=EXISTING_FOLDER)
    chat_endpoints: tuple[str, ...] = option(
        "An OpenAI-compatible API that a chat may ask; without --tokens, also any on this machine. Repeatable.",
        "--chat-endpoint",
        metavar="URL",
    )
    adapters: str | None = option("The registry of adapters to show.", metavar="DIR|URL")
    evaluations: Path | None = option("The folder of evaluations to show.", type=EXISTING_FOLDER)
    tls_cert: Path | None = TLS_CERT
    tls_key: Path | None = TLS_KEY
    client_ca: Path | None = CLIENT_CA

    def assignment(self, *, listen: str, datasets: str | None, models: Models, sandbox: str) -> GatewayAssignment:
        from soliloquy_services.gateway.access.tokens import read_tokens
        from soliloquy_services.gateway.settings import GatewaySettings

        for url in self.chat_endpoints:
            checked_endpoint({"engine": "openai", "base_url": url}, "--chat-endpoint")
        # Bad files end the command before it starts a process.
        if self.tokens:
            read_tokens(self.tokens)
        settings = GatewaySettings(
            listen=listen,
            grpc=self.grpc or _next_port(listen),
            tokens=self.tokens,
            tls=server_tls(self.tls_cert, self.tls_key, self.client_ca),
            models=models,
            datasets=datasets,
            adapters=self.adapters,
            evaluations=self.evaluations,
            chat_endpoints=self.chat_endpoints,
        )
        return GatewayAssignment(settings=settings, problem_files=self.problem_files, sandbox=sandbox)


GATEWAY = gathered(GatewayOptions)


def _next_port(address: str) -> str:
    host, _, port = address.rpartition(":")
    return f"{host}:{int(port) + 1 if int(port) else 0}"
