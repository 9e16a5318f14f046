"""Compares the matrices of an adapter with those of the model that it is to change."""

from collections.abc import Iterator
from pathlib import Path

from safetensors import SafetensorError, safe_open

from soliloquy.runtime.weights import ADAPTER_WEIGHTS, lora_ranks
from soliloquy_services.model.engines.engine import MissingWeights, WrongBase

# How weights that are not quantized are stored.
_WHOLE = {"F64", "F32", "F16", "BF16"}


def check_matrices(folder: Path, model: Path, most: int) -> None:
    """Refuses an adapter whose files cannot be read, or whose matrices do not fit those of the model.

    Engines tell neither in a line, and vLLM takes what fits by chance.
    """
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
    for file in model.glob("*.safetensors"):
        with safe_open(file, framework="np") as tensors:
            names = tensors.keys()
            for name in names:
                stored = tensors.get_slice(name)
                yield name, tuple(stored.get_shape()) if stored.get_dtype() in _WHOLE else ()
