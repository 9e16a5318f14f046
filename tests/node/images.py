"""Puts the chart's images, a Kafka and Kubernetes' pause program into the registry from which the node pulls."""

import json
import shutil
import subprocess
import tempfile
from pathlib import Path

import yaml

from tests.chart.render import CHART
from tests.cluster import binaries
from tests.images import built, registry
from tests.kafka import jars
from tests.node import released_images

PAUSE = f"{registry.HOST}/pause:1"
KAFKA = f"{registry.HOST}/kafka"
# Laid out as apache/kafka is, with this machine's Java and the jars of tests/kafka. Scripts take the same variables.
_START = """#!/bin/sh
exec /opt/java/bin/java $KAFKA_HEAP_OPTS $KAFKA_LOG4J_OPTS -cp '/opt/kafka/libs/*' {main} "$@"
"""
_PROGRAMS = {"kafka-storage.sh": "kafka.tools.StorageTool", "kafka-server-start.sh": "kafka.Kafka"}
_LOGGING = """
Configuration:
  Appenders: {Console: {name: out, target: SYSTEM_ERR}}
  Loggers: {Root: {level: WARN, AppenderRef: {ref: out}}}
"""


def build(*, anew: bool = False) -> None:
    """Builds what is not kept, or all of it `anew` and nothing of the last release."""
    built.install()
    with registry.serving():
        built.build(anew=anew)
        _push_pause()
        _push_kafka()
        if not anew:
            released_images.push()


def digests() -> dict[str, str]:
    """Returns the digest of each image that build() has pushed."""
    return built.known()


def _push_pause() -> None:
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder, "pause")
        command = ["gcc", "-Os", "-static", "-DVERSION=1", "-o", str(program), str(_source())]
        subprocess.run(command, check=True)
        container = _said("buildah", "from", "scratch")
        _said("buildah", "add", "--quiet", container, str(program), "/pause")
        _said("buildah", "config", '--entrypoint=["/pause"]', container)
        _said("buildah", "commit", "--quiet", "--timestamp=0", "--rm", container, "localhost/pause")
    _said("buildah", "push", "--tls-verify=false", "localhost/pause", f"docker://{PAUSE}")


def _push_kafka() -> None:
    with tempfile.TemporaryDirectory() as place:
        root = Path(place)
        java_home = Path(jars.java()).resolve().parents[1]
        shutil.copytree(java_home, root / "java", ignore_dangling_symlinks=True)
        (root / "kafka/bin").mkdir(parents=True)
        (root / "kafka/config").mkdir()
        shutil.copytree(Path(jars.class_path()).parent, root / "kafka/libs")
        (root / "kafka/config/tools-log4j2.yaml").write_text(_LOGGING, "utf-8")
        for script, main in _PROGRAMS.items():
            file = root / "kafka/bin" / script
            file.write_text(_START.format(main=main), "utf-8")
            file.chmod(0o755)
        container = _said("buildah", "from", "--pull-never", "localhost/bases/python")
        _said("buildah", "add", "--quiet", container, place, "/opt")
        _said("buildah", "commit", "--quiet", "--timestamp=0", "--rm", container, "localhost/kafka")
    version = yaml.safe_load((CHART / "values.yaml").read_text("utf-8"))["images"]["kafka"]["tag"]
    _said("buildah", "push", "--tls-verify=false", "localhost/kafka", f"docker://{KAFKA}:{version}")


def _source() -> Path:
    asked = ["go", "mod", "download", "-json", "k8s.io/kubernetes"]
    module = Path(binaries.__file__).parent
    found = subprocess.run(asked, cwd=module, capture_output=True, text=True, check=True).stdout
    return Path(json.loads(found)["Dir"], "build/pause/linux/pause.c")


def _said(*words: str) -> str:
    return subprocess.run(words, stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
