"""Reads the policies and tables that lie in TOML files beside the code."""

import tomllib
from pathlib import Path
from typing import Any


def table_beside(module: str, name: str) -> dict[str, Any]:
    """Returns the content of a file in the folder of a module, which is given by its `__file__`."""
    return tomllib.loads(Path(module).with_name(name).read_text("utf-8"))
