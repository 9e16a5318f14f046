"""The names that vetted code may use: two modules, and the builtins that reach only their own arguments."""

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

# Excluded on purpose: `type` makes classes, `bytes` reaches the codec registry through str(), `hash` and `id` reveal
# the process, `iter` is only good for endless loops, and `slice`, `object` and `callable` are not needed.
BUILTINS = frozenset(
    (
        *("abs", "divmod", "max", "min", "pow", "round", "sum", "bool", "complex", "float", "int", "str"),
        *("dict", "frozenset", "list", "set", "tuple", "all", "any", "enumerate", "filter", "len", "map", "next"),
        *("range", "reversed", "sorted", "zip", "bin", "chr", "format", "hex", "isinstance", "oct", "ord"),
        *("print", "repr"),
    )
)


_SAFE = {name: getattr(python, name) for name in BUILTINS}


def builtins(write: Callable[[str], object]) -> dict[str, object]:
    """Returns the builtins of one job, which imports its own copies of the modules."""

    def print(*values: object, sep: str | None = None, end: str | None = None, flush: object = False) -> None:
        for name, part in (("sep", sep), ("end", end)):
            if not isinstance(part, str | None):
                raise TypeError(f"{name} must be None or a string, not {type(part).__name__}")
        write((" " if sep is None else sep).join(map(str, values)) + ("\n" if end is None else end))

    print.__qualname__ = "print"
    return {**_SAFE, "print": print, "__import__": _import}


def _import(name: str, *_: object) -> ModuleType:
    if name not in MODULES:
        raise ImportError(f"{name} is not vetted")
    module = ModuleType(name)
    vars(module).update(PUBLIC[name])
    return module
