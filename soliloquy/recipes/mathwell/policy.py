"""The recipe's limits, as `rules.toml` has them."""

import tomllib
from pathlib import Path
from typing import Any

POLICY: dict[str, Any] = tomllib.loads(Path(__file__).with_name("rules.toml").read_text("utf-8"))
