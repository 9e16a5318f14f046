"""A version of an adapter: its files with their digests, its card and the report of its training."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from soliloquy.runtime.failure import Failure
from soliloquy.runtime.weights import ADAPTER_CONFIG, ADAPTER_WEIGHTS, CARD, card_entry, digest_of, named_base

PICTURE = "loss.png"
# The digits of the digest in a version's id.
_DIGITS = 12
_NAME = re.compile(r"[A-Za-z0-9][\w.-]*")


@dataclass(frozen=True, kw_only=True, slots=True)
class Version:
    # The name in requests, the same for all versions.
    name: str
    digest: str
    base_digest: str
    data_digest: str
    # Each file with its digest.
    files: Mapping[str, str]
    config: Mapping[str, Any]
    metrics: Mapping[str, Any]
    # A remark, such as why the version did not go into service.
    note: str = ""

    @property
    def id(self) -> str:
        return f"{self.name}@{self.digest[:_DIGITS]}"


def read_version(folder: Path, name: str) -> tuple[Version, Path]:
    """Reads the folder of an adapter, or of the training that made it; also returns the folder of the files."""
    if not _NAME.fullmatch(name):
        raise Failure(f"{name!r} is not a valid adapter name: use letters, digits, dots, dashes and underscores")
    adapter = folder / "adapter" if (folder / "adapter" / ADAPTER_WEIGHTS).is_file() else folder
    if missing := [file for file in (ADAPTER_WEIGHTS, ADAPTER_CONFIG, CARD) if not (adapter / file).is_file()]:
        raise Failure(f"{folder} is not an adapter with a card: it lacks {', '.join(missing)}")
    files = {file: digest_of([adapter / file]) for file in (ADAPTER_WEIGHTS, ADAPTER_CONFIG, CARD)}
    if (adapter / PICTURE).is_file():
        files[PICTURE] = digest_of([adapter / PICTURE])
    version = Version(
        name=name,
        digest=files[ADAPTER_WEIGHTS],
        base_digest=named_base(adapter),
        data_digest=card_entry(adapter, "data_digest", r"\w+"),
        files=files,
        config=_json(adapter / ADAPTER_CONFIG),
        metrics=_metrics(adapter),
    )
    _check(version, adapter)
    return version, adapter


def _check(version: Version, adapter: Path) -> None:
    card = adapter / CARD
    for entry, value in (("base_model_digest", version.base_digest), ("data_digest", version.data_digest)):
        if not value:
            raise Failure(f"{card} has no {entry} in its front matter: it must say what the adapter was trained on")
    trained = version.metrics.get("adapter_digest", version.digest)
    if trained != version.digest:
        raise Failure(
            f"the weights in {adapter} are {version.digest[:_DIGITS]}, but its training made {trained[:_DIGITS]}: "
            "one of them is from another training"
        )
    _check_weights(adapter / ADAPTER_WEIGHTS, version.config)


def _check_weights(weights: Path, config: Mapping[str, Any]) -> None:
    """Checks that the matrices are those of the config."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(weights, framework="numpy") as opened:
            shapes = {name: opened.get_slice(name).get_shape() for name in opened.keys()}  # noqa: SIM118 - no mapping
    except (SafetensorError, OSError) as error:
        raise Failure(f"{weights} cannot be read ({error}): was it copied whole?") from error
    ranks = {shape[0] for name, shape in shapes.items() if "lora_A" in name}
    if ranks != {config.get("r")}:
        found = ", ".join(map(str, sorted(ranks))) or "none at all"
        raise Failure(f"{weights} holds matrices of rank {found}, and {ADAPTER_CONFIG} says {config.get('r')}")
    lacking = [each for each in config.get("target_modules") or () if not any(f".{each}." in name for name in shapes)]
    if lacking:
        raise Failure(f"{weights} has no weights for {', '.join(sorted(lacking))}, which {ADAPTER_CONFIG} names")


def _metrics(adapter: Path) -> Mapping[str, Any]:
    """Returns the report of its training; empty if there is none."""
    report = adapter.parent / "report.json"
    return _json(report) if adapter.name == "adapter" and report.is_file() else {}


def _json(path: Path) -> dict[str, Any]:
    try:
        return dict(json.loads(path.read_bytes()))
    except (ValueError, TypeError) as error:
        raise Failure(f"{path} is not readable ({error})") from error
