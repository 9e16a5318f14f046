"""`soliloquy observe`: a Prometheus with our rules and temporary storage, for the processes of `soliloquy up`."""

import contextlib
import json
import shutil
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from soliloquy.cli.command import Command, gathered, option
from soliloquy.cli.options import ADDRESS, BROKERS, whole
from soliloquy.cli.terminal import echo, end_when_asked
from soliloquy.runs import supervision
from soliloquy.runs.assignment import SERVICES
from soliloquy.runtime.failure import Failure

CONSOLE = "127.0.0.1:8080"
PORTS = whole(1, 65_000)
_AS_UP = "As given to `soliloquy up`."


def _scales(context: click.Context, parameter: click.Parameter, given: tuple[str, ...]) -> dict[str, int]:
    scales = dict.fromkeys(SERVICES, 1)
    for text in given:
        name, _, number = text.partition("=")
        if name not in scales or not number.isdecimal() or not 1 <= int(number) <= 99:
            raise click.BadParameter(
                f"invalid scale {text!r}: use SERVICE=N, e.g. student=2, with {', '.join(SERVICES)}"
            )
        scales[name] = int(number)
    return scales


SCALE = option("Processes of a service.", "--scale", "scales", multiple=True, callback=_scales, metavar="SERVICE=N")
CONSOLE_OF_UP = option(_AS_UP, "--console", type=ADDRESS)


def console_address(given: str | None, *, on_kafka: bool) -> str | None:
    """Returns where `soliloquy up` serves the console; None if it does not."""
    return given or (None if on_kafka else CONSOLE)


def processes(scales: Mapping[str, int], *, on_kafka: bool, console: str | None) -> dict[str, Sequence[str]]:
    """Returns the services of each process of `soliloquy up` by its name, in the order of their metrics ports."""
    if not on_kafka and any(scale > 1 for scale in scales.values()):
        raise click.UsageError("--scale requires --kafka")
    gateway = console_address(console, on_kafka=on_kafka) is not None
    return supervision.processes(scales, on_kafka=on_kafka, gateway=gateway)


def metrics_addresses(names: Iterable[str], http_from: int) -> dict[str, str]:
    """Returns where each process serves its metrics."""
    return {name: f"127.0.0.1:{http_from + place}" for place, name in enumerate(names)}


def processes_of_up(http_from: int | None = None) -> Any:
    """Returns options that say where the processes of `soliloquy up` serve their metrics, by name."""

    def served(
        http_from: int | None = option(_AS_UP, default=http_from, required=False, type=PORTS, metavar="PORT"),
        kafka: str | None = option(_AS_UP, metavar="HOST:PORT", type=BROKERS),
        scales: Mapping[str, int] = SCALE,
        console: str | None = CONSOLE_OF_UP,
    ) -> dict[str, str]:
        names = processes(scales, on_kafka=kafka is not None, console=console)
        return metrics_addresses(names, http_from) if http_from else {}

    return gathered(served)


# The job label that the alerts expect.
JOB = "soliloquy"
START_SECONDS = 60.0
END_SECONDS = 10.0
_LOOK_SECONDS = 0.1
# An installed package has the rules beside this module, a checkout in the chart.
_INSTALLED = Path(__file__).with_name("rules")
_CHECKOUT = Path(__file__).parents[2] / "deploy" / "helm" / "soliloquy" / "files" / "rules"


def shipped_rules() -> Path:
    return _CHECKOUT if _CHECKOUT.exists() else _INSTALLED


def configuration(targets: Mapping[str, str], rules: Path, interval: str) -> str:
    """Returns the configuration as JSON, which is also YAML."""
    labelled = [{"targets": [address], "labels": {"pod": name}} for address, name in targets.items()]
    settings = {
        "global": dict.fromkeys(("scrape_interval", "scrape_timeout", "evaluation_interval"), interval),
        "rule_files": [f"{rules}/*.yaml"],
        "scrape_configs": [{"job_name": JOB, "static_configs": labelled}],
    }
    return json.dumps(settings)


class Prometheus:
    def __init__(self, process: subprocess.Popen[bytes], log: Path, address: str) -> None:
        self._process = process
        self._log = log
        self.address = address

    @property
    def runs(self) -> bool:
        return self._process.poll() is None

    @property
    def last_words(self) -> str:
        lines = self._log.read_text("utf-8", "replace").strip().splitlines()
        return lines[-1] if lines else "no output"

    def wait(self) -> None:
        """Waits until it ends by itself."""
        self._process.wait()

    def wait_until_ready(self) -> None:
        deadline = time.monotonic() + START_SECONDS
        while not self._is_ready():
            if not self.runs:
                raise Failure(f"Prometheus does not start: {self.last_words}")
            if time.monotonic() > deadline:
                raise Failure(f"Prometheus was not ready within {START_SECONDS:g} s: {self.last_words}")
            time.sleep(_LOOK_SECONDS)

    def _is_ready(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.address}/-/ready", timeout=1) as answer:
                return bool(answer.status == 200)
        except OSError:
            return False


@contextmanager
def prometheus(
    targets: Mapping[str, str], port: int, *, rules: Path | None = None, interval: str = "15s"
) -> Iterator[Prometheus]:
    """Yields a running Prometheus; raises Failure if it is not installed or does not start.

    `targets` maps the addresses of processes to their names in alerts. Rules are those that we ship, unless others are
    given, and are evaluated as often as processes are scraped.
    """
    path = shutil.which("prometheus")
    if path is None:
        raise Failure("Prometheus is not installed: install it (Debian, Ubuntu: sudo apt-get install prometheus)")
    with tempfile.TemporaryDirectory(prefix="soliloquy-prometheus-") as name:
        folder = Path(name)
        (folder / "prometheus.yaml").write_text(configuration(targets, rules or shipped_rules(), interval), "utf-8")
        listen = f"127.0.0.1:{port}"
        command = [
            path,
            f"--config.file={folder / 'prometheus.yaml'}",
            f"--storage.tsdb.path={folder / 'data'}",
            f"--web.listen-address={listen}",
            # Histograms name traces; without this they would be dropped.
            "--enable-feature=exemplar-storage",
            "--log.level=warn",
        ]
        log = folder / "log"
        with log.open("wb") as output:
            # In a session of its own, Ctrl-C reaches it only through this process.
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True
            )
        try:
            running = Prometheus(process, log, f"http://{listen}")
            running.wait_until_ready()
            yield running
        finally:
            process.terminate()
            try:
                process.wait(END_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


@click.command(cls=Command)
def observe(
    *,
    port: int = option("The port of Prometheus; Debian's own is on 9090.", default=9190, type=PORTS),
    processes: Mapping[str, str] = processes_of_up(http_from=9100),
) -> None:
    """Run Prometheus with our rules against the services of `soliloquy up`, until Ctrl-C.

    The measurements are lost when it stops.
    """
    end_when_asked()
    targets = {address: name for name, address in processes.items()}
    with contextlib.suppress(KeyboardInterrupt), prometheus(targets, port) as running:
        _tell(running, len(targets))
        running.wait()
        raise Failure(f"Prometheus stopped: {running.last_words}")


def _tell(running: Prometheus, targets: int) -> None:
    echo(f"Prometheus on {running.address} scrapes {targets} processes; press Ctrl-C to stop")
    for page, what in (
        ("alerts", "alerts; see deploy/RUNBOOK.md"),
        ("targets", "processes and whether they answer"),
        ("graph?g0.expr=soliloquy%3Alag_events%3Asum&g0.tab=0", "backlog of each stage"),
        ("graph?g0.expr=soliloquy%3Aconversations_finished%3Arate5m&g0.tab=0", "finished conversations"),
    ):
        echo(f"  {running.address}/{page}  {what}")
