"""The recipe's limits and shares, from `rules.toml`."""

import tomllib
from pathlib import Path
from typing import Any

POLICY: dict[str, Any] = tomllib.loads(Path(__file__).with_name("rules.toml").read_text("utf-8"))
