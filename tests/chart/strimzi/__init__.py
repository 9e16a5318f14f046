"""Generates Strimzi's definitions of its custom resources, which no registry has, as its own build does."""

import subprocess
import tempfile
from pathlib import Path

from tests import maven
from tests.kafka.jars import KafkaUnavailable, java

POM = Path(__file__).with_name("pom.xml")
_GENERATOR = "io.strimzi.crdgenerator.CrdGenerator"
_MODEL = "io.strimzi.api.kafka.model"
_CLASSES = {
    "kafkas": "kafka.Kafka",
    "kafkanodepools": "nodepool.KafkaNodePool",
    "kafkatopics": "topic.KafkaTopic",
    "kafkausers": "user.KafkaUser",
}


def generate(to: Path) -> str | None:
    """Writes a file for each kind; returns why it cannot."""
    to.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as jars:
        if (failure := maven.jars(POM, Path(jars))) is not None:
            return failure
        files = {name: to / f"kafka.strimzi.io_{name}.yaml" for name in _CLASSES}
        wanted = [f"{_MODEL}.{name}={files[plural]}" for plural, name in _CLASSES.items()]
        try:
            command = [java(), "-cp", f"{jars}/*", _GENERATOR, "--yaml", *wanted]
        except KafkaUnavailable as error:
            return str(error)
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    return None if done.returncode == 0 else f"Strimzi's generator failed: {done.stderr.strip()[-500:]}"
