"""Says what keeps a version from being released, and what its changelog says."""

import json
import re
import tomllib
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[2]
CHANGELOG = ROOT / "CHANGELOG.md"
_INSTALLING = """### Try it in a cluster

```text
helm install grow oci://{registry}/charts/soliloquy --version {version} --namespace soliloquy --create-namespace \\
  --set kafka.development.enabled=true --wait --timeout 15m
helm test grow --namespace soliloquy --logs
```"""


def version() -> str:
    return str(tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["version"])


def obstacles(wanted: str, versions: dict[str, str], changelog: str) -> list[str]:
    """Returns one line for each file that has another version, and for changes without a section."""
    found = [f"{file} has {told}" for file, told in versions.items() if told != wanted]
    if not changes(wanted, changelog):
        found.append(f"CHANGELOG.md has no section '## {wanted}'")
    if changes("Unreleased", changelog):
        found.append(f"CHANGELOG.md lists changes under '## Unreleased': they belong to '## {wanted}'")
    return found


def versions() -> dict[str, str]:
    """Returns the version in each file that has one."""
    chart = yaml.safe_load((ROOT / "deploy/helm/soliloquy/Chart.yaml").read_text("utf-8"))
    bake = json.loads((ROOT / "deploy/images/docker-bake.json").read_text("utf-8"))
    return {
        "pyproject.toml": version(),
        "Chart.yaml (version)": chart["version"],
        "Chart.yaml (appVersion)": chart["appVersion"],
        "docker-bake.json": bake["variable"]["VERSION"]["default"],
    }


def changes(wanted: str, changelog: str) -> str:
    """Returns the section of a version, without its heading."""
    sections = re.split(r"^## (.+)$", changelog, flags=re.MULTILINE)
    return dict(zip(sections[1::2], sections[2::2], strict=True)).get(wanted, "").strip()


def installing(version: str, registry: str) -> str:
    """Returns the section with the commands for a cluster that has nothing prepared."""
    return _INSTALLING.format(registry=registry, version=version)
