"""Kafka's jars, fetched once by Maven."""

import functools
import re
import shutil
import subprocess
from pathlib import Path

from tests import cache, maven

POM = Path(__file__).with_name("pom.xml")
_OLDEST_JAVA = 17


class KafkaUnavailable(Exception):
    """No broker can be started on this machine."""


@functools.cache
def java() -> str:
    path = shutil.which("java")
    if path is None:
        raise KafkaUnavailable(f"java is missing: install Java {_OLDEST_JAVA} or later, or set KAFKA_BOOTSTRAP")
    said = subprocess.run([path, "-version"], capture_output=True, text=True, check=False).stderr
    version = re.search(r'version "(\d+)', said)
    if version is None or int(version[1]) < _OLDEST_JAVA:
        first = (said.splitlines() or ["nothing"])[0]
        raise KafkaUnavailable(f"{path} is not Java {_OLDEST_JAVA} or later: it says {first!r}")
    return path


def class_path() -> str:
    folder = cache.place("kafka", POM)
    if (failure := cache.failure(folder, _fetch)) is not None:
        raise KafkaUnavailable(failure)
    return f"{folder}/*"


def _fetch(folder: Path) -> str | None:
    return maven.jars(POM, folder)


if __name__ == "__main__":
    try:
        class_path()
    except KafkaUnavailable as error:
        raise SystemExit(f"no Kafka: {error}") from error
