"""Checks folders of weights, and identifies the weights by their digests."""

from pathlib import Path

from soliloquy.runtime.files import read_json
from soliloquy.runtime.weights import (
    ADAPTER_CONFIG,
    ADAPTER_WEIGHTS,
    MOST_JSON_BYTES,
    digest_of,
    flaw_of_base,
    named_base,
)
from soliloquy.v1.model_pb2 import Adapter
from soliloquy_services.model.engines.engine import MissingWeights, WrongBase

# Weights have rows for some tokens more than their tokenizer has, so that their number divides well.
_LEAST_KNOWN = 0.9


def check_base(folder: Path) -> None:
    if flaw := flaw_of_base(folder) or _flaw_of_weights(folder):
        raise MissingWeights(f"{folder} is not a model: {flaw}")


def _flaw_of_weights(folder: Path) -> str:
    """Returns why weights cannot be read to their end, or are not those of the tokenizer beside them; empty if none."""
    # The engine, which is imported later, names the extra that a machine without these lacks.
    from safetensors import SafetensorError, safe_open
    from tokenizers import Tokenizer

    for file in sorted(folder.glob("*.safetensors")):
        try:
            with safe_open(file, "numpy"):
                pass
        except (OSError, SafetensorError) as error:
            return f"{file.name} cannot be read ({error}): copy it again"
    config = read_json(folder / "config.json", MOST_JSON_BYTES)
    wanted = config.get("vocab_size") or (config.get("text_config") or {}).get("vocab_size")
    known = Tokenizer.from_file(str(folder / "tokenizer.json")).get_vocab_size()
    if isinstance(wanted, int) and not _LEAST_KNOWN * wanted <= known <= wanted:
        return (
            f"its tokenizer.json has {known:,} tokens and its weights {wanted:,}: use the tokenizer that came with "
            "these weights"
        )
    return ""


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
