"""A version of an adapter: its files with their digests, its card and the report of its training."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar

from pydantic import ConfigDict, StringConstraints, TypeAdapter

from soliloquy.runtime.failure import Failure, one_line
from soliloquy.runtime.files import read_json
from soliloquy.runtime.weights import ADAPTER_CONFIG, ADAPTER_WEIGHTS, CARD, card_entry, digest_of, named_base

PICTURE = "loss.png"
# The digits of the digest in a version's id.
_DIGITS = 12
_NAME = re.compile(r"[A-Za-z0-9][\w.-]*", re.ASCII)
Digest = Annotated[str, StringConstraints(pattern="^[0-9a-f]{64}$")]
_FILES = {ADAPTER_WEIGHTS, ADAPTER_CONFIG, CARD, PICTURE}
# Training makes some dozens.
_MOST_RANK = 4_096
_PIECE_BYTES = 2**24
# The type of numpy that holds numbers of each type, and the bits of an exponent that no finite one has.
_NUMBERS = {"F16": ("<u2", 0x7C00), "BF16": ("<u2", 0x7F80), "F32": ("<u4", 0x7F800000), "F64": ("<u8", 0x7FF << 52)}


@dataclass(frozen=True, kw_only=True, slots=True)
class Version:
    __pydantic_config__: ClassVar = ConfigDict(extra="forbid")

    # The name in requests, the same for all versions.
    name: str
    digest: Digest
    base_digest: Digest
    data_digest: str
    # Each file with its digest.
    files: Mapping[str, Digest]
    config: Mapping[str, Any]
    metrics: Mapping[str, Any]
    # A remark, such as why the version did not go into service.
    note: str = ""

    @property
    def id(self) -> str:
        return f"{self.name}@{self.digest[:_DIGITS]}"


def stored_version(content: bytes, place: str) -> Version:
    """Parses a stored version; raises Failure for one that names files or digests as no adapter has them."""
    try:
        version = TypeAdapter(Version).validate_json(content)
    except ValueError as error:
        raise Failure(
            f"{place} describes no version of an adapter ({one_line(error)}): remove it, and push again"
        ) from error
    is_named = _NAME.fullmatch(version.name) and place.endswith(f"/{version.id}.json")
    if not is_named or not version.files.keys() <= _FILES:
        raise Failure(f"{place} describes no version that was pushed: remove it, and push again")
    return version


def read_version(folder: Path, name: str) -> tuple[Version, Path]:
    """Reads the folder of an adapter, or of the training that made it; also returns the folder of the files."""
    if not _NAME.fullmatch(name):
        raise Failure(f"{name!r} is not a valid adapter name: use letters, digits, dots, dashes and underscores")
    adapter = folder / "adapter" if (folder / "adapter" / ADAPTER_WEIGHTS).is_file() else folder
    if missing := [file for file in (ADAPTER_WEIGHTS, ADAPTER_CONFIG, CARD) if not (adapter / file).is_file()]:
        raise Failure(f"{folder} is not an adapter with a card: it lacks {', '.join(missing)}")
    config = _json(adapter / ADAPTER_CONFIG)
    files = {file: digest_of([adapter / file]) for file in (ADAPTER_WEIGHTS, ADAPTER_CONFIG, CARD)}
    if (adapter / PICTURE).is_file():
        files[PICTURE] = digest_of([adapter / PICTURE])
    version = Version(
        name=name,
        digest=files[ADAPTER_WEIGHTS],
        base_digest=named_base(adapter),
        data_digest=card_entry(adapter, "data_digest", r"\w+"),
        files=files,
        config=config,
        metrics=_metrics(adapter),
    )
    _check(version, adapter)
    return version, adapter


def _check(version: Version, adapter: Path) -> None:
    card = adapter / CARD
    for entry, value in (("base_model_digest", version.base_digest), ("data_digest", version.data_digest)):
        if not value:
            raise Failure(f"{card} has no {entry} in its front matter: it must say what the adapter was trained on")
    trained = str(version.metrics.get("adapter_digest", version.digest))
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
    rank, modules = config.get("r"), config.get("target_modules") or []
    if not isinstance(rank, int) or not 1 <= rank <= _MOST_RANK:
        raise Failure(f"{ADAPTER_CONFIG} says the rank {str(rank)[:80]}: it must be a number up to {_MOST_RANK:,}")
    if not isinstance(modules, list) or not all(isinstance(each, str) for each in modules):
        raise Failure(f"{ADAPTER_CONFIG} has no list of target_modules: name each layer that the adapter changes")
    ranks = {shape[0] if shape else 0 for name, shape in shapes.items() if "lora_A" in name}
    if ranks != {rank}:
        found = ", ".join(map(str, sorted(ranks))) or "none at all"
        raise Failure(f"{weights} holds matrices of rank {found}, and {ADAPTER_CONFIG} says {rank}")
    if name := _not_finite(weights):
        raise Failure(f"{weights} holds numbers that are not finite, in {name[:200]}: its training failed")
    lacking = [each for each in modules if not any(f".{each}." in name for name in shapes)]
    if lacking:
        raise Failure(f"{weights} has no weights for {', '.join(sorted(lacking))}, which {ADAPTER_CONFIG} names")


def _not_finite(weights: Path) -> str:
    """Returns the name of a tensor with an infinite number, or with none; the file must have been opened before."""
    import numpy as np

    with weights.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        tensors: dict[str, Any] = json.loads(file.read(length))
        for name, tensor in tensors.items():
            if name == "__metadata__" or tensor["dtype"] not in _NUMBERS:
                continue
            dtype, exponent = _NUMBERS[tensor["dtype"]]
            begin, end = tensor["data_offsets"]
            file.seek(8 + length + begin)
            for start in range(begin, end, _PIECE_BYTES):
                numbers = np.frombuffer(file.read(min(_PIECE_BYTES, end - start)), dtype)
                if bool(((numbers & exponent) == exponent).any()):
                    return name
    return ""


def _metrics(adapter: Path) -> Mapping[str, Any]:
    """Returns the report of its training; empty if there is none."""
    report = adapter.parent / "report.json"
    return _json(report) if adapter.name == "adapter" and report.is_file() else {}


def _json(path: Path) -> dict[str, Any]:
    try:
        return dict(read_json(path))
    except (OSError, ValueError, TypeError) as error:
        raise Failure(f"{path} is not readable ({error})") from error
