"""ScaffoldEval; `protocol.toml` holds its passes, the student's wordings and the signs that the rules look for."""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

PROTOCOL: Mapping[str, Any] = tomllib.loads(Path(__file__).with_name("protocol.toml").read_text("utf-8"))
