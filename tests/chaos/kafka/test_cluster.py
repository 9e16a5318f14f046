"""Checks that the broker of `make kafka` and of the tests cleans up, and says why there is none."""

import itertools
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.runs import alive, wait_for_end
from tests.kafka.cluster import KafkaCluster
from tests.kafka.fixtures import required
from tests.kafka.jars import KafkaUnavailable, class_path
from tests.kafka.node import KafkaFailed

ROOT = Path(__file__).parents[3]


@pytest.fixture
def make_kafka() -> Iterator[subprocess.Popen[str]]:
    """Runs the command of `make kafka`; yields once its broker answers."""
    required()
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "tests.kafka", "--port", str(port)]
    with subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        said = list(itertools.takewhile(lambda line: "Kafka listens on" not in line, process.stderr))
        assert process.poll() is None, "".join(said)
        yield process
        process.kill()


def broker_of(process: subprocess.Popen[str]) -> int:
    (pid,) = (int(pid) for task in Path(f"/proc/{process.pid}/task").iterdir() for pid in children(task))
    return pid


def children(task: Path) -> list[str]:
    return (task / "children").read_text("utf-8").split()


def folder_of(broker: int) -> Path:
    return Path(Path(f"/proc/{broker}/cmdline").read_text("utf-8").split("\0")[-2]).parents[1]


def test_a_broker_ends_with_the_process_that_started_it_even_if_that_is_killed(
    make_kafka: subprocess.Popen[str],
) -> None:
    broker = broker_of(make_kafka)
    folder = folder_of(broker)
    make_kafka.kill()
    make_kafka.wait()
    wait_for_end([broker])
    shutil.rmtree(folder)


def test_ctrl_c_ends_the_broker_of_make_kafka_and_removes_its_data(make_kafka: subprocess.Popen[str]) -> None:
    broker = broker_of(make_kafka)
    folder = folder_of(broker)
    make_kafka.send_signal(signal.SIGINT)
    assert make_kafka.wait(20) == 0
    assert not alive(broker)
    assert not folder.exists()


def test_a_port_that_is_taken_is_named(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(KafkaFailed, match=f"port {port} is taken"):
            KafkaCluster(tmp_path, port=port).start()


def test_without_maven_nothing_is_cached_and_the_reason_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(KafkaUnavailable, match="mvn is missing"):
        class_path()
    assert [path.suffix for path in (tmp_path / "soliloquy").iterdir()] == [".lock"]


def test_tests_without_a_kafka_skip_but_fail_in_ci(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CI", raising=False)
    with pytest.raises(pytest.skip.Exception, match="is missing"):
        required()
    monkeypatch.setenv("CI", "true")
    with pytest.raises(pytest.fail.Exception, match="is missing"):
        required()
