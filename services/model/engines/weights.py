"""Checks folders of weights, and identifies the weights by their digests."""

from pathlib import Path

from soliloquy.runtime.weights import ADAPTER_CONFIG, ADAPTER_WEIGHTS, digest_of, flaw_of_base, named_base
from soliloquy.v1.model_pb2 import Adapter
from soliloquy_services.model.engines.engine import MissingWeights, WrongBase


def check_base(folder: Path) -> None:
    if flaw := flaw_of_base(folder):
        raise MissingWeights(f"{folder} is not a model: {flaw}")


def read_adapter(requested: Adapter) -> Adapter:
    """Returns the adapter with its digests; raises MissingWeights if a requested digest does not match."""
    folder = Path(requested.path)
    missing = [name for name in (ADAPTER_WEIGHTS, ADAPTER_CONFIG) if not (folder / name).is_file()]
    if missing:
        raise MissingWeights(f"{folder} is not an adapter: missing {', '.join(missing)}")
    digest = digest_of([folder / ADAPTER_WEIGHTS])
    if requested.digest not in ("", digest):
        raise MissingWeights(
            f"the weights in {folder} are {digest}, not {requested.digest}: name the folder with that digest"
        )
    return Adapter(
        name=requested.name, path=requested.path, digest=digest, base_digest=requested.base_digest or named_base(folder)
    )


def check_fits(adapter: Adapter, base: str, model: Path) -> None:
    if adapter.base_digest not in ("", base):
        raise WrongBase(
            f"adapter {adapter.name!r} was trained on the base {adapter.base_digest[:12]}, but {model.name} is "
            f"{base[:12]}: serve that base, or train the adapter on this one"
        )
