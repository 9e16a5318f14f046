"""`soliloquy doctor`: checks what runs need on this machine, and says what to type where something is missing."""

import os
import platform
import shutil
from collections.abc import Callable
from pathlib import Path

import click
import uvloop

from soliloquy.cli.command import Command
from soliloquy.cli.model_options import MODELS
from soliloquy.cli.sandbox import run_here
from soliloquy.cli.service_options import KAFKA
from soliloquy.cli.terminal import echo
from soliloquy.runtime.extensions import EXTRAS, check_installed
from soliloquy.runtime.failure import Failure
from soliloquy.runtime.model.checking import check_endpoints
from soliloquy.runtime.model.settings import Models
from soliloquy.runtime.topics import shapes
from soliloquy.runtime.transports.kafka import KafkaSettings
from soliloquy.v1.sandbox_pb2 import STATUS_OK, Job

_GIB = 1024**3
# A run of a thousand conversations, with its log.
_LEAST_BYTES = _GIB


@click.command(cls=Command)
def doctor(*, models: Models = MODELS, kafka: KafkaSettings | None = KAFKA) -> int:
    """Check what runs need on this machine.

    Each line says that a part is fine, or what to do about it. It asks a model only if one is named, by --model or in
    --model-settings, and a Kafka only with --kafka. The exit status is 1 if anything is missing.
    """
    checks: dict[str, Callable[[], str]] = {
        "machine": _machine,
        "gVisor": _gvisor,
        "libraries": _libraries,
        "disk": _disk,
        "endpoint": lambda: _endpoint(models),
        "Kafka": lambda: _kafka(kafka),
    }
    status = 0
    for name, check in checks.items():
        try:
            told = check()
        except Failure as failure:
            told, status = str(failure), 1
        echo(f"{name}: {told}")
    return status


def _machine() -> str:
    system, machine = platform.system(), platform.machine()
    if (system, machine) != ("Linux", "x86_64"):
        raise Failure(f"{system} on {machine}: sandboxes require Linux on x86-64; use such a machine")
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / _GIB
    return f"fine: Python {platform.python_version()}, {os.cpu_count()} cores, {memory:.0f} GiB of memory"


def _gvisor() -> str:
    [done] = run_here([Job(id="doctor", code="answer = 6 * 7", result_variables=["answer"])])
    if done.status != STATUS_OK:
        raise Failure(f"a program failed ({done.error}): soliloquy sandbox selftest says more")
    return f"fine: runsc {done.runsc_version} runs programs, {done.isolation}"


def _libraries() -> str:
    check_installed("run", *EXTRAS["run"])
    return "fine: datasets, services and sandboxed packages"


def _disk() -> str:
    free = shutil.disk_usage(folder := Path.cwd()).free
    if free < _LEAST_BYTES:
        raise Failure(f"{free / _GIB:.1f} GiB free in {folder}: make room, or run in another folder")
    return f"fine: {free / _GIB:.0f} GiB free in {folder}"


def _endpoint(models: Models) -> str:
    if models.is_scripted:
        return "none named: the stand-in plays; --model openai --base-url URL checks one"
    if faults := uvloop.run(check_endpoints(models)):
        raise Failure("; ".join(faults))
    return f"fine: {', '.join(models.used)} answered"


def _kafka(kafka: KafkaSettings | None) -> str:
    if kafka is None:
        return "none named: runs of this machine need none; --kafka HOST:PORT checks one"
    # Most machines have no Kafka, and then load no client.
    from soliloquy.runtime.transports.kafka.layout import check

    uvloop.run(check(kafka, [shape.topic for shape in shapes()]))
    return "fine: it answers and has all topics"
