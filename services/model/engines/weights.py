"""Checks folders of weights, and identifies the weights by their digests."""

from collections.abc import Iterator
from pathlib import Path

from soliloquy.runtime.files import read_json
from soliloquy.runtime.weights import (
    ADAPTER_CONFIG,
    ADAPTER_WEIGHTS,
    MOST_JSON_BYTES,
    digest_of,
    flaw_of_base,
    lora_ranks,
    named_base,
)
from soliloquy.v1.model_pb2 import Adapter
from soliloquy_services.model.engines.engine import MissingWeights, WrongBase

# Weights have rows for some tokens more than their tokenizer has, so that their number divides well.
_LEAST_KNOWN = 0.9
# How weights that are not quantized are stored.
_WHOLE = {"F64", "F32", "F16", "BF16"}


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


def check_matrices(folder: Path, model: Path, most: int) -> None:
    """Refuses an adapter whose files cannot be read, or whose matrices do not fit those of the model.

    Engines tell neither in a line, and vLLM takes what fits by chance.
    """
    from safetensors import SafetensorError

    try:
        ranks = lora_ranks(folder)
        pairs, shapes = dict(_pairs(folder / ADAPTER_WEIGHTS)), dict(_shapes(model))
    except (OSError, ValueError, TypeError, AttributeError, SafetensorError) as error:
        raise MissingWeights(f"cannot load the adapter in {folder}: {error}") from error
    if max(ranks) > most:
        raise WrongBase(f"the adapter in {folder} has rank {max(ranks)}: at most {most} is served (adapter_rank)")
    unfit = f"the adapter in {folder} does not fit the model {model.name}"
    if not any(f"{module}.weight" in shapes for module in pairs):
        raise WrongBase(f"{unfit}: it changes {', '.join(sorted(pairs)[:3]) or 'nothing'}, which the model lacks")
    for module, ((rank, narrow), (wide, outer)) in pairs.items():
        if rank != outer or rank not in ranks:
            raise WrongBase(f"{unfit}: its matrices for {module} have rank {rank} and {outer}")
        own = shapes.get(f"{module}.weight")
        if own and own != (wide, narrow):
            raise WrongBase(f"{unfit}: its matrices for {module} make {wide} x {narrow}, and the model has {own}")


def _pairs(weights: Path) -> Iterator[tuple[str, tuple[tuple[int, int], tuple[int, int]]]]:
    """Yields the modules that an adapter changes, and the shapes of the two matrices for each."""
    from safetensors import safe_open

    with safe_open(weights, framework="np") as tensors:
        names = tensors.keys()
        for name in names:
            module, found, _ = name.removeprefix("base_model.model.").partition(".lora_A.weight")
            other = name.replace(".lora_A.weight", ".lora_B.weight")
            if found and other in names:
                first, second = (tuple(tensors.get_slice(one).get_shape()) for one in (name, other))
                yield module, (first, second)


def _shapes(model: Path) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Yields the shape of each tensor; quantized ones have none that tells."""
    from safetensors import safe_open

    for file in model.glob("*.safetensors"):
        with safe_open(file, framework="np") as tensors:
            names = tensors.keys()
            for name in names:
                stored = tensors.get_slice(name)
                yield name, tuple(stored.get_shape()) if stored.get_dtype() in _WHOLE else ()
