"""Reads deploy/compose/compose.yaml as docker compose does."""

from pathlib import Path
from typing import Any

import yaml

FILE = Path(__file__).parents[2] / "deploy/compose/compose.yaml"
# Services that are ours; the other containers are of other projects.
OTHERS = ("kafka", "prometheus", "grafana")


def described() -> dict[str, Any]:
    told: dict[str, Any] = yaml.safe_load(FILE.read_text("utf-8"))
    return told


def own() -> dict[str, dict[str, Any]]:
    return {name: service for name, service in described()["services"].items() if name not in OTHERS}


def option(service: dict[str, Any], name: str) -> str | None:
    return next((word.removeprefix(f"{name}=") for word in service["command"] if word.startswith(f"{name}=")), None)
