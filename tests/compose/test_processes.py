"""Runs what compose.yaml says with the programs of this machine: the same commands, addresses and environment."""

import json
import shlex
import subprocess
import sys
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from soliloquy.cli.observe import shipped_rules
from soliloquy.dataset.storage import Storage
from soliloquy.dataset.verify import findings
from tests.compose.description import FILE, described, option, own
from tests.kafka.cluster import KafkaCluster
from tests.unit.collector.collecting import conversations_in

pytestmark = pytest.mark.timeout(900)
SOLILOQUY = (sys.executable, "-c", "from soliloquy.cli.main import main; main()")
CONVERSATIONS = 20
READY_SECONDS = 180.0


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Yields the folder of the volume once every service is ready."""
    folder = tmp_path_factory.mktemp("compose")
    port = int(own()["student"]["environment"]["SOLILOQUY_KAFKA"].rpartition(":")[2])
    for name in ("kafka", "data"):
        (folder / name).mkdir()
    data = folder / "data"
    with KafkaCluster(folder / "kafka", port=port), ExitStack() as stack:
        subprocess.run(_command("topics", data), env=_environment("topics"), stdout=subprocess.DEVNULL, check=True)
        for name, service in own().items():
            if option(service, "--http"):
                stack.enter_context(_started(_command(name, data), _environment(name), folder / f"{name}.log"))
        stack.enter_context(_started(_prometheus(folder), {}, folder / "prometheus.log"))
        for name, service in own().items():
            if address := option(service, "--http"):
                _wait(f"http://{address}/readyz", f"{name} is not ready: {folder / name}.log")
        yield data


def test_a_run_through_the_gateway_ends_with_all_conversations_on_the_volume(data: Path) -> None:
    words = f"runs start --problems physics --conversations {CONVERSATIONS} --seed 3 --watch"
    subprocess.run([*SOLILOQUY, *shlex.split(words)], stdout=subprocess.DEVNULL, check=True)
    [run] = (folder for folder in data.iterdir() if (folder / "manifest.json").exists())
    ends = time.monotonic() + READY_SECONDS
    while len(conversations_in(Storage(run))) < CONVERSATIONS:
        assert time.monotonic() < ends, "the last shard is missing"
        time.sleep(0.5)
    assert list(findings(Storage(run))) == []


def test_the_console_is_where_the_file_says(data: Path) -> None:
    with urllib.request.urlopen(f"http://{option(own()['gateway'], '--listen')}/") as page:
        assert b"<html" in page.read()


def test_prometheus_sees_every_process(data: Path) -> None:
    scraped = {name for name, service in own().items() if option(service, "--http")}
    ends = time.monotonic() + READY_SECONDS
    while (seen := _asked('up{job="soliloquy"} == 1')) != scraped:
        assert time.monotonic() < ends, f"Prometheus sees {sorted(seen)}"
        time.sleep(0.5)


def _command(name: str, data: Path) -> list[str]:
    words = [word.replace("/data", str(data)) for word in own()[name]["command"]]
    return [*SOLILOQUY, *words]


def _environment(name: str) -> dict[str, str]:
    return dict(own()[name]["environment"])


def _prometheus(folder: Path) -> list[str]:
    told = FILE.with_name("prometheus.yaml").read_text("utf-8")
    (folder / "prometheus.yaml").write_text(told.replace("/etc/prometheus/rules", str(shipped_rules())), "utf-8")
    command = described()["services"]["prometheus"]["command"]
    words = [word.replace("/etc/prometheus", str(folder)) for word in command]
    return ["prometheus", *words, f"--storage.tsdb.path={folder / 'prometheus'}"]


@contextmanager
def _started(command: list[str], environment: dict[str, str], log: Path) -> Iterator[None]:
    path = {"PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin"}
    with log.open("w") as out, subprocess.Popen(command, env=path | environment, stdout=out, stderr=out) as process:
        try:
            yield
        finally:
            process.terminate()


def _wait(address: str, otherwise: str) -> None:
    ends = time.monotonic() + READY_SECONDS
    while True:
        try:
            urllib.request.urlopen(address, timeout=2).close()
        except OSError:
            assert time.monotonic() < ends, otherwise
            time.sleep(0.2)
        else:
            return


def _asked(query: str) -> set[str]:
    address = option(described()["services"]["prometheus"], "--web.listen-address")
    try:
        with urllib.request.urlopen(f"http://{address}/api/v1/query?query={urllib.parse.quote(query)}") as answer:
            return {each["metric"]["pod"] for each in json.load(answer)["data"]["result"]}
    except OSError:
        return set()
