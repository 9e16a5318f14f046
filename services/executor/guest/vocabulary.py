"""The words that vetted code may use: two modules and the builtins that can reach nothing but their own arguments."""

import builtins as python
import cmath
import math
from collections.abc import Callable
from types import ModuleType

MODULES = {"math": math, "cmath": cmath}
PUBLIC = {
    name: {key: value for key, value in vars(module).items() if not key.startswith("_")}
    for name, module in MODULES.items()
}

# Left out on purpose: `type` makes classes, `bytes` leads through str() into the codec registry, `hash` and `id` tell
# about the process, `iter` has no use but loops without end, and `slice`, `object`, `callable` have none.
BUILTINS = frozenset(
    (
        *("abs", "divmod", "max", "min", "pow", "round", "sum", "bool", "complex", "float", "int", "str"),
        *("dict", "frozenset", "list", "set", "tuple", "all", "any", "enumerate", "filter", "len", "map", "next"),
        *("range", "reversed", "sorted", "zip", "bin", "chr", "format", "hex", "isinstance", "oct", "ord"),
        *("print", "repr"),
    )
)


_GIVEN = {name: getattr(python, name) for name in BUILTINS}


def builtins(write: Callable[[str], object]) -> dict[str, object]:
    """What one job's code may call; its modules are its own copies."""

    def print(*values: object, sep: str | None = None, end: str | None = None, flush: object = False) -> None:
        for name, part in (("sep", sep), ("end", end)):
            if not isinstance(part, str | None):
                raise TypeError(f"{name} must be None or a string, not {type(part).__name__}")
        write((" " if sep is None else sep).join(map(str, values)) + ("\n" if end is None else end))

    print.__qualname__ = "print"
    return {**_GIVEN, "print": print, "__import__": _give}


def _give(name: str, *_: object) -> ModuleType:
    if name not in MODULES:
        raise ImportError(f"{name} is not vetted")
    module = ModuleType(name)
    vars(module).update(PUBLIC[name])
    return module
