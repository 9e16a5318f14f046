"""Copies KEDA's sources with few of its scalers: the libraries of the others are half of what would be compiled."""

import re
import shutil
from pathlib import Path

# Triggers by the names of ScaledObjects.
_TRIGGERS = {"cpu", "memory", "kafka", "prometheus"}
_SCALERS = "pkg/scalers"
_FILES = {
    *("scaler.go", "cpu_memory_scaler.go", "kafka_scaler.go", "prometheus_scaler.go"),
    # Declares a constant that all scalers use.
    "azure_queue_scaler.go",
}
_BUILDER = "pkg/scaling/scalers_builder.go"
# A case of the switch over triggers, with the lines that it runs.
_CASE = re.compile(r'\tcase ("[^\n]*"):\n(?:\t\t[^\n]*\n)+')


def copy(sources: Path, to: Path) -> None:
    """What is left is as it was: only files of scalers and cases of the switch are left out."""
    shutil.copytree(sources, to, copy_function=shutil.copyfile)
    for folder in (to, *(path for path in to.rglob("*") if path.is_dir())):
        folder.chmod(0o755)
    for file in (to / _SCALERS).glob("*.go"):
        if file.name not in _FILES:
            file.unlink()
    builder = to / _BUILDER
    builder.write_text(_CASE.sub(_wanted, builder.read_text("utf-8")), "utf-8")


def _wanted(case: re.Match[str]) -> str:
    return case[0] if _TRIGGERS & set(re.findall(r'"([^"]+)"', case[1])) else ""
