"""Profiles the threads of a process, and shares their time out among the layers of the product."""

import atexit
import cProfile
import os
import pstats
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, NoReturn

# Names the folder for the profiles of every process that inherits it.
PROFILES = "SOLILOQUY_PROFILES"
_ROOT = f"{Path(__file__).parents[1]}/"
# A file belongs to the first layer that has the beginning of its path; a library works for whoever calls it.
LAYERS: Mapping[str, tuple[str, ...]] = {
    "stand-in": ("soliloquy/standin/", "soliloquy_services/model/", "soliloquy/recipes/scene", "benchmarks/"),
    "parse": (
        *("soliloquy/runtime/answers", "soliloquy/runtime/model_answer", "soliloquy/runtime/thoughts"),
        *("soliloquy/runtime/tolerant_json", "soliloquy/recipes/answers", "soliloquy/recipes/speech"),
        "soliloquy/recipes/soliloquy/answers",
    ),
    "ask": (
        "soliloquy/runtime/ask",
        "soliloquy/runtime/model/",
        "soliloquy/runtime/seeds",
        "soliloquy/recipes/playing",
    ),
    "log": ("soliloquy/runtime/transports/",),
    "events": ("soliloquy/runtime/",),
    "sandbox": ("soliloquy_services/executor/",),
    "rules": (
        *("soliloquy/truth/", "soliloquy/texts/", "soliloquy/programs/", "soliloquy/recipes/soliloquy/truth"),
        *("soliloquy/recipes/soliloquy/facts", "soliloquy/recipes/soliloquy/rules", "soliloquy/recipes/rules"),
        *("soliloquy/recipes/turn_faults", "soliloquy/recipes/settled", "soliloquy/recipes/manners"),
    ),
    "roles": ("soliloquy/recipes/", "soliloquy_services/"),
    "run": ("soliloquy/",),
}
_PROTOBUF, _START = "protobuf", "start"
_MESSAGES = ("google._upb", "FromString", "copy.py")

Function = tuple[str, int, str]


def profile_process(folder: Path) -> None:
    """Writes the CPU profile of each thread of this process into a folder when the process ends."""
    profiles: list[cProfile.Profile] = []

    def begin(*_: object) -> None:
        profiles.append(cProfile.Profile(time.thread_time))
        profiles[-1].enable()

    def end() -> None:
        for number, profile in enumerate(profiles):
            profile.dump_stats(folder / f"{os.getpid()}-{number}")

    def leave(status: int, exit_at_once: Callable[[int], NoReturn] = os._exit) -> NoReturn:
        end()
        exit_at_once(status)

    threading.setprofile(begin)
    atexit.register(end)
    # Workers, which are copies of their command, end by it.
    os._exit = leave
    begin()


def shares(profiles: Iterable[Path]) -> dict[str, float]:
    """Returns the share of each layer in the CPU time of these profiles, without what imports take."""
    seconds: defaultdict[str, float] = defaultdict(float)
    for path in profiles:
        stats: Mapping[Function, Any] = pstats.Stats(str(path)).stats  # type: ignore[attr-defined]
        layers: dict[Function, Mapping[str, float]] = {}
        for function, (_, _, own, _, _) in stats.items():
            for layer, share in _layers(function, stats, layers).items():
                seconds[layer] += own * share
    seconds.pop(_START, None)
    return _scaled(seconds)


def _layers(
    function: Function, stats: Mapping[Function, Any], known: dict[Function, Mapping[str, float]]
) -> Mapping[str, float]:
    """Returns the layers that a function works for, each with its share: its own, or those of its callers."""
    if function not in known:
        # A function that calls itself adds nothing.
        known[function] = {}
        known[function] = {own: 1.0} if (own := _layer(function)) else _of_callers(function, stats, known)
    return known[function]


def _of_callers(
    function: Function, stats: Mapping[Function, Any], known: dict[Function, Mapping[str, float]]
) -> Mapping[str, float]:
    found: defaultdict[str, float] = defaultdict(float)
    for caller, (_, _, own, _) in stats[function][4].items():
        for layer, share in _layers(caller, stats, known).items():
            found[layer] += (own or 1e-9) * share
    return _scaled(found or {"run": 1.0})


def _scaled(parts: Mapping[str, float]) -> dict[str, float]:
    total = sum(parts.values())
    return {layer: parts[layer] / total for layer in sorted(parts, key=parts.__getitem__, reverse=True)}


def _layer(function: Function) -> str:
    """Returns the layer of a function; empty if it works for whoever calls it."""
    file, _, name = function
    if name == "<module>" or file.startswith("<frozen importlib"):
        return _START
    if any(mark in f"{file} {name}" for mark in _MESSAGES):
        return _PROTOBUF
    path = file.removeprefix(_ROOT)
    return next((layer for layer, paths in LAYERS.items() if path.startswith(paths)), "")
