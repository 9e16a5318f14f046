"""Arrow without pandas, which Arrow would load at its first conversion: that takes longer than most commands."""

import sys
from importlib.abc import MetaPathFinder
from typing import Any

import pyarrow as pa

__all__ = ["pa"]


class _WithoutPandas(MetaPathFinder):
    def find_spec(self, name: str, *_: Any) -> None:
        if name == "pandas":
            raise ModuleNotFoundError(name)


def _convert_without_pandas() -> None:
    """Arrow looks for pandas once, here; what asks for pandas later, such as `to_pandas`, still loads it."""
    finder = _WithoutPandas()
    sys.meta_path.insert(0, finder)
    try:
        pa.scalar(0)
    finally:
        sys.meta_path.remove(finder)


if "pandas" not in sys.modules:
    _convert_without_pandas()
